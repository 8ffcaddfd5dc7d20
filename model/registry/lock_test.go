package registry

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/bbolt"
)

func TestJudge(t *testing.T) {
	here := Holder{Host: "a", Machine: "m", Boot: "1", Space: "s", PID: 1}
	elsewhere := Holder{Host: "b", Machine: "n", Boot: "7", Space: "s", PID: 1}
	before := here
	before.Boot = "0"
	clone := before
	clone.Machine = ""
	const now = 1000 * time.Second
	for name, test := range map[string]struct {
		holder  Holder
		policy  Policy
		clock   time.Duration // of the holder's last sign of life, on its machine
		watch   watch
		gone    bool
		want    verdict
		because string
	}{
		"a process that ended":               {here, Wait, now, watch{first: now}, true, take, "process 1 on a has ended"},
		"a process that runs":                {here, Wait, now, watch{first: now}, false, stay, ""},
		"skip it at once":                    {here, Skip, now, watch{first: now}, false, fail, ""},
		"a process that hangs":               {here, Skip, now - leaseTime, watch{first: now}, false, take, "no sign of life for 1m0s"},
		"before a restart":                   {before, Skip, 0, watch{first: now}, false, take, "a was started again"},
		"a clone, or a container":            {clone, Wait, 0, watch{first: now}, false, stay, ""},
		"another machine":                    {elsewhere, Wait, 0, watch{first: now - leaseTime + 1}, false, stay, ""},
		"another machine, silent":            {elsewhere, Wait, 0, watch{first: now - leaseTime}, false, take, "no sign of life"},
		"another machine, silent, skip":      {elsewhere, Skip, 0, watch{first: now - leaseTime, seen: true}, false, take, "no sign of life"},
		"another machine, unknown yet, skip": {elsewhere, Skip, 0, watch{first: now}, false, stay, ""},
		"another machine, alive, skip":       {elsewhere, Skip, 0, watch{first: now, seen: true}, false, fail, ""},
		"replace":                            {elsewhere, Replace, 0, watch{first: now}, false, ask, ""},
		"replace one that was asked":         {elsewhere, Replace, 0, watch{first: now, asked: now - 1}, false, stay, ""},
		"replace one that does not end":      {here, Replace, now, watch{first: now, asked: now - leaseTime}, false, take, "was asked to end"},
	} {
		got, because := judge(here, test.policy, lock{Holder: test.holder, Clock: test.clock}, test.watch, test.gone, now)
		if got != test.want || !strings.Contains(because, test.because) {
			t.Errorf("%s: %d %q, want %d %q", name, got, because, test.want, test.because)
		}
	}
}

// machines are registries in one directory, as machines of their own see it: each has a
// clock since its own start, which the bubble's clock drives.
func machines(dir string, names ...string) (all []*Registry, holders []Holder) {
	begin := time.Now()
	for i, name := range names {
		ahead := time.Duration(i) * time.Hour
		all = append(all, &Registry{dir: dir, clock: func() time.Duration { return ahead + time.Since(begin) }})
		holders = append(holders, Holder{Host: name, Machine: name, Boot: name, PID: 1, ID: name})
	}
	return all, holders
}

// A holder on another machine that stops (its context ends without a release) loses the
// lock after a minute, one that lives does not. The one that lost it cannot promote.
func TestLockBetweenMachines(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r, holder := machines(dir, "a", "b")
		add(t, r[0], "vn1d", 1)
		add(t, r[0], "vn1d", 2)
		living, sleep := context.WithCancel(t.Context())
		first, err := r[0].Lock(living, "vn1d", holder[0], Skip)
		if err != nil || first.Took != "" {
			t.Fatal(err)
		}
		begin := time.Now()
		_, err = r[1].Lock(t.Context(), "vn1d", holder[1], Skip)
		var held *LockedError
		if !errors.As(err, &held) || held.Holder != holder[0] || time.Since(begin) > 2*beatTime {
			t.Errorf("while the first lives, after %v: %v", time.Since(begin), err)
		}
		waiting, end := context.WithTimeout(t.Context(), 10*leaseTime)
		defer end()
		if _, err := r[1].Lock(waiting, "vn1d", holder[1], Wait); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waiting for one that lives: %v", err)
		}
		if err := r[0].Promote(t.Context(), Promotion{Model: "vn1d", Number: 1, Fence: first.Fence}); err != nil {
			t.Error(err)
		}
		sleep()
		begin = time.Now()
		second, err := r[1].Lock(t.Context(), "vn1d", holder[1], Skip)
		if err != nil || !strings.Contains(second.Took, "no sign of life") || second.Fence <= first.Fence || time.Since(begin) < leaseTime || time.Since(begin) > leaseTime+2*pollTime {
			t.Fatalf("after %v: error %v, lease %+v", time.Since(begin), err, second)
		}
		if err := r[0].Promote(t.Context(), Promotion{Model: "vn1d", Number: 2, Fence: first.Fence}); !errors.Is(err, ErrFenced) || champion(t, r[0], "vn1d") != 1 {
			t.Errorf("the first promotes: %v", err)
		}
		if err := first.Release(t.Context()); err != nil { // of what it no longer has
			t.Error(err)
		}
		if held, err := r[0].Locked(t.Context(), "vn1d"); err != nil || held == nil || held.Fence != second.Fence {
			t.Errorf("%+v, %v", held, err)
		}
		if err := second.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if held, err := r[0].Locked(t.Context(), "vn1d"); err != nil || held != nil {
			t.Errorf("%+v, %v", held, err)
		}
	})
}

// A holder that wakes up after its lock has passed on learns of it at its next sign of life.
func TestLeaseLost(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r, holder := machines(dir, "a", "b")
		first, err := r[0].Lock(t.Context(), "vn1d", holder[0], Wait)
		if err != nil {
			t.Fatal(err)
		}
		l := &Lease{registry: r[1], model: "vn1d", holder: holder[1]}
		if err := r[1].update(t.Context(), "take over", func(models *bbolt.Bucket) error {
			s, err := find(models, "vn1d")
			if err != nil {
				return err
			}
			return l.grant(s, 0)
		}); err != nil {
			t.Fatal(err)
		}
		<-first.Lost()
		if !errors.Is(first.Err(), ErrFenced) || !strings.Contains(first.Err().Error(), "process 1 on b") {
			t.Errorf("%v", first.Err())
		}
		if err := first.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Who replaces a retraining asks it to end, and starts when it has; or after a minute, if it
// does not.
func TestReplace(t *testing.T) {
	for _, ends := range []bool{true, false} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			r, holder := machines(dir, "a", "b")
			first, err := r[0].Lock(t.Context(), "vn1d", holder[0], Wait)
			if err != nil {
				t.Fatal(err)
			}
			released := make(chan time.Time, 1)
			go func() {
				<-first.Lost()
				if !errors.Is(first.Err(), ErrReplaced) {
					t.Errorf("%v", first.Err())
				}
				if ends {
					time.Sleep(20 * time.Second) // on the bubble's clock: it saves a checkpoint
					released <- time.Now()
				} else {
					time.Sleep(2 * leaseTime) // on the bubble's clock: it does not end in time
				}
				if err := first.Release(t.Context()); err != nil {
					t.Error(err)
				}
			}()
			begin := time.Now()
			second, err := r[1].Lock(t.Context(), "vn1d", holder[1], Replace)
			if err != nil || second.Fence <= first.Fence {
				t.Fatal(err)
			}
			if ends && (time.Since(<-released) > 2*pollTime || second.Took != "") || !ends && (time.Since(begin) < leaseTime || !strings.Contains(second.Took, "asked to end")) {
				t.Errorf("after %v: %q", time.Since(begin), second.Took)
			}
			if !ends {
				time.Sleep(3 * leaseTime) // on the bubble's clock: the first one releases what it lost
			}
			if second.Err() != nil {
				t.Error(second.Err())
			}
			if err := second.Release(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestLockRefuses(t *testing.T) {
	r := open(t, filepath.Join(t.TempDir(), "r"))
	if _, err := r.Lock(t.Context(), "vn1d", Self(""), "later"); !errors.Is(err, ErrInvalid) || Exists(r.Dir()) {
		t.Errorf("%v", err)
	}
	if _, err := r.Lock(t.Context(), "a/b", Self(""), Wait); !errors.Is(err, ErrInvalid) {
		t.Errorf("%v", err)
	}
}
