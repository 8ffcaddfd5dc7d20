package memory

import (
	"errors"
	"io/fs"
	"runtime/debug"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

func provides(bytes uint64, err error) memlimit.Provider {
	return func() (uint64, error) { return bytes, err }
}

func TestFind(t *testing.T) {
	const machine = "the machine's memory"
	for name, c := range map[string]struct {
		machine, cgroup memlimit.Provider
		want            Limit
		err             error
	}{
		"no limit":          {provides(8<<30, nil), provides(0, memlimit.ErrNoLimit), Limit{8 << 30, machine}, nil},
		"no cgroups":        {provides(8<<30, nil), provides(0, memlimit.ErrCgroupsNotSupported), Limit{8 << 30, machine}, nil},
		"a limit":           {provides(8<<30, nil), provides(512<<20, nil), Limit{512 << 20, "the limit of the cgroup"}, nil},
		"above the machine": {provides(8<<30, nil), provides(1<<40, nil), Limit{8 << 30, machine}, nil},
		"unreadable":        {provides(8<<30, nil), provides(0, fs.ErrPermission), Limit{8 << 30, machine}, fs.ErrPermission},
		"no machine":        {provides(0, fs.ErrNotExist), provides(1<<30, nil), Limit{}, fs.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := find(c.machine, c.cgroup)
			if got != c.want || !errors.Is(err, c.err) {
				t.Errorf("%v, %v; want %v, %v", got, err, c.want, c.err)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	l := Limit{512 << 20, "the limit of the cgroup"}
	if err := l.check("a worker", 512<<20); err != nil {
		t.Error(err)
	}
	err := l.check("a worker", 600<<20)
	if !errors.Is(err, ErrShort) {
		t.Fatalf("error %v", err)
	}
	if want := "too little memory: a worker needs about 600 MiB, and may use 512 MiB, the limit of the cgroup"; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

// The environment's GOGC wins.
func TestCollectEarly(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	for environment, want := range map[string]int{"": 50, "100": 100} {
		debug.SetGCPercent(100)
		t.Setenv("GOGC", environment)
		CollectEarly()
		if got := debug.SetGCPercent(100); got != want {
			t.Errorf("GOGC=%s: %d %%, want %d", environment, got, want)
		}
	}
}
