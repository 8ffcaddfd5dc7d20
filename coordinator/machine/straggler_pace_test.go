package machine

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow"
)

// A host returns how long work takes that begins at a time, in seconds.
type host func(now, work float64) float64

func healthy(_, work float64) float64 { return work }

// quota is a host with the CPU quota of a cgroup: one thread may run for the budget in
// every period, and is stopped for the rest of it.
func quota(budget, period float64) host {
	var current, used float64
	return func(now, work float64) float64 {
		end := now
		for {
			if k := math.Floor(end/period + 1e-9); k != current {
				current, used = k, 0
			}
			next := (current + 1) * period
			run := min(work, budget-used, next-end)
			work, used, end = work-run, used+run, end+run
			if work <= 1e-12 {
				return end - now
			}
			if used >= budget-1e-12 {
				end = next
			}
		}
	}
}

// noisy varies every step by half, and one step in a hundred by a tenth of a second.
func noisy(seed uint64) host {
	random := rand.New(rand.NewPCG(seed, 0))
	return func(_, work float64) float64 {
		took := work * math.Exp(0.5*random.NormFloat64())
		if random.IntN(100) == 0 {
			took += 0.1
		}
		return took
	}
}

// pausing is stopped once, for a pause that begins after some time.
func pausing(after, pause float64) host {
	begin := 0.0
	return func(now, work float64) float64 {
		if begin == 0 {
			begin = now
		}
		if begin > 0 && now > begin+after {
			begin = -1
			return work + pause
		}
		return work
	}
}

// newRing is a player with a generation of a, b and c that trains on twelve shards, of
// which each takes three milliseconds.
func newRing(t *testing.T) *player {
	p := newPlayer(t)
	p.play("auto a b c\nsubmit r shards=12 steps=100000000\nscanned\nhello a\nhello b\nhello c\nafter 3s\nsteps n=3\n")
	if n := len(p.members()); n != 3 {
		t.Fatalf("%d of three train", n)
	}
	return p
}

// ring lets the workers step on their hosts for a while; hosts are healthy by default.
func (p *player) ring(d time.Duration, hosts map[string]host) {
	p.t.Helper()
	for end := p.now.Add(d); p.now.Before(end); {
		now := p.now.Sub(time.Unix(1_000_000, 0)).Seconds()
		own, longest := make(map[string]float64), 0.0
		for _, w := range p.members() {
			on := hosts[string(w.ID)]
			if on == nil {
				on = healthy
			}
			own[string(w.ID)] = on(now, 3e-3*float64(len(w.Shards)))
			longest = max(longest, own[string(w.ID)])
		}
		if len(own) != 3 {
			p.t.Fatalf("%d of three train", len(own))
		}
		p.pass(time.Duration(1e9*(longest+1e-3)), false)
		p.everyoneSteps(func(id string, _ int) float64 { return own[id] })
	}
}

// of is a worker's status.
func (p *player) of(id string) WorkerStatus {
	for _, w := range p.machine.Status().Workers {
		if string(w.ID) == id {
			return w
		}
	}
	p.t.Fatalf("no worker %s", id)
	panic("unreachable")
}

func (p *player) moves() int { return strings.Count(p.out.String(), " ends: shards move") }

// A worker that may compute for 30 ms in 100 makes two steps in three as fast as the
// others, and is a straggler all the same.
func TestPaceUnderQuota(t *testing.T) {
	p := newRing(t)
	throttled := map[string]host{"c": quota(0.03, 0.1)}
	p.ring(5*time.Second, throttled)
	if p.of("c").Slow || p.moves() != 0 {
		t.Fatalf("a decision after 5 s:\n%s", p.out.String())
	}
	if f := p.machine.Status().WaitsFor; f == nil || f.Worker != "c" {
		t.Errorf("waits for %+v", f)
	}
	p.ring(5*time.Second, throttled)
	if w := p.of("c"); !w.Slow || len(w.Shards) >= 4 {
		t.Errorf("after 10 s: slow %t, %d shards, %.3g s per shard", w.Slow, len(w.Shards), w.Pace)
	}
	p.ring(30*time.Second, throttled)
	for _, id := range []string{"a", "b"} {
		if p.of(id).Slow {
			t.Errorf("%s is slow", id)
		}
	}
	p.ring(2*time.Minute, nil) // the quota is gone
	if w := p.of("c"); w.Slow || len(w.Shards) != 4 {
		t.Errorf("recovered: slow %t, %d shards", w.Slow, len(w.Shards))
	}
}

// With few shards a worker stays below its quota, with more it does not: shards do not
// move back and forth for ever.
func TestPaceSwings(t *testing.T) {
	p := newRing(t)
	p.ring(30*time.Minute, map[string]host{"c": quota(0.02, 0.1)})
	if n := p.moves(); n < 2 || n > 6 {
		t.Errorf("shards have moved %d times in half an hour", n)
	}
}

// Times that vary on all workers alike make none a straggler.
func TestPaceOfNoise(t *testing.T) {
	p := newRing(t)
	p.ring(10*time.Minute, map[string]host{"a": noisy(1), "b": noisy(2), "c": noisy(3)})
	if said := p.out.String(); strings.Contains(said, " is slow") || p.moves() != 0 {
		t.Errorf("said\n%s", said)
	}
}

// Nor does one pause, at any time. A pause of two seconds would make the mean over ten
// seconds slow.
func TestPaceOfPause(t *testing.T) {
	for _, pause := range []float64{1, 2} {
		for _, after := range []float64{1, 5, 11.5, 30} {
			p := newRing(t)
			p.ring(time.Minute, map[string]host{"c": pausing(after, pause)})
			if said := p.out.String(); strings.Contains(said, " is slow") || p.moves() != 0 {
				t.Errorf("%g s after %g s: said\n%s", pause, after, said)
			}
		}
	}
}

// One fast second in five does not end a slow phase, and one slow second does not begin
// one.
func TestPaceOfMostWindows(t *testing.T) {
	during := func(from, until float64) host {
		return func(now, work float64) float64 {
			if s := math.Mod(now, 5); s >= from && s < until {
				return 3 * work
			}
			return work
		}
	}
	p := newRing(t)
	p.ring(time.Minute, map[string]host{"b": during(0, 1), "c": during(1, 5)})
	if p.of("b").Slow || !p.of("c").Slow {
		t.Errorf("b is slow: %t, c: %t", p.of("b").Slow, p.of("c").Slow)
	}
}

// Of two workers that are last in turn, WaitsFor names the one with the longer waits.
func TestWaitsForByTime(t *testing.T) {
	l := newWindows([]ergoflow.WorkerID{"a", "b"})
	if l.waitsFor() != nil {
		t.Error("waits before the first step")
	}
	for range 9 {
		l.add(make([]Timing, 2), 0, 0.001)
	}
	l.close(time.Unix(1, 0))
	l.add(make([]Timing, 2), 1, 0.08)
	if got, want := *l.waitsFor(), (WaitsFor{"b", 1, 10, 0.008}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	alone := newWindows([]ergoflow.WorkerID{"a"})
	alone.add(make([]Timing, 1), 0, 0)
	if alone.waitsFor() != nil {
		t.Error("one waits for itself")
	}
}
