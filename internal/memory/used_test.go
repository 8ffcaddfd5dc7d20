package memory

import (
	"os"
	"path/filepath"
	"testing"
)

// What is used is more than nothing and at most the limit, or nearly.
func TestUsed(t *testing.T) {
	u, err := Used()
	if err != nil {
		t.Fatal(err)
	}
	if u.Bytes == 0 || u.Bytes > 2*u.Limit.Bytes || u.Limit.Source == "" {
		t.Errorf("%+v", u)
	}
}

// Files of both versions of cgroups: pages of files do not count.
func TestCgroupUsed(t *testing.T) {
	for _, c := range []struct {
		v2                   bool
		usage, stat, events  string
		wantUsed, wantKilled uint64
	}{
		{false, "1000\n", "cache 7\ntotal_inactive_file 100\ntotal_active_file 50\n", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", 850, 3},
		{true, "1000\n", "anon 1\ninactive_file 100\nactive_file 50\n", "low 0\nhigh 0\nmax 9\noom 4\noom_kill 2\n", 850, 2},
		{true, "100\n", "inactive_file 300\n", "", 0, 0}, // they are read one after the other
	} {
		dir := t.TempDir()
		names := map[string]string{usageFile(c.v2): c.usage, "memory.stat": c.stat, "memory.oom_control": c.events}
		if c.v2 {
			names = map[string]string{usageFile(c.v2): c.usage, "memory.stat": c.stat, "memory.events": c.events}
		}
		for name, text := range names {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		used, err := cgroupUsed(dir, c.v2)
		if err != nil || used != c.wantUsed || killed(dir, c.v2) != c.wantKilled {
			t.Errorf("version 2: %t: %d used, %d killed, %v; want %d, %d", c.v2, used, killed(dir, c.v2), err, c.wantUsed, c.wantKilled)
		}
	}
	if _, err := cgroupUsed(t.TempDir(), true); err == nil {
		t.Error("a cgroup without files has a use")
	}
}

func BenchmarkUsed(b *testing.B) {
	for b.Loop() {
		if _, err := Used(); err != nil {
			b.Fatal(err)
		}
	}
}
