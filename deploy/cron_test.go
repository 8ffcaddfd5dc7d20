package deploy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/coordinator/schedule"
)

// Debian's cron passes over a file in /etc/cron.d with a dot in its name or without a newline
// at its end, and says so only in the system's log.
func TestCron(t *testing.T) {
	path := filepath.Join("cron", "ergoflow-retrain")
	if strings.Contains(filepath.Base(path), ".") {
		t.Error("cron passes over a file with a dot in its name")
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm()&0o133 != 0 {
		t.Errorf("mode %o: cron wants at most 644", info.Mode().Perm())
	}
	text := read(t, path)
	if !strings.HasSuffix(text, "\n") {
		t.Error("cron passes over a last line without a newline")
	}
	jobs := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name, _, assigned := strings.Cut(line, "=")
		if line == "" || strings.HasPrefix(line, "#") || assigned && !strings.Contains(name, " ") {
			continue
		}
		jobs++
		fields := strings.Fields(line)
		if len(fields) < 8 {
			t.Errorf("%q is not five times, a user and a command", line)
			continue
		}
		if _, err := schedule.Parse(strings.Join(fields[:5], " "), "UTC"); err != nil {
			t.Error(err)
		}
		if fields[5] != "ergoflow" || fields[6] != "ergoflow" {
			t.Errorf("%q: user %q, program %q", line, fields[5], fields[6])
		}
		if strings.Contains(line, "%") {
			t.Error("cron makes a newline of %")
		}
		checkRetrain(t, fields[7:])
	}
	if jobs != 1 {
		t.Errorf("%d jobs, want 1", jobs)
	}
}
