package machine

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// members is more than any group that ergoflow has trained with.
const members = 1000

// BenchmarkThousandMembers reports the processor time of the longest decision while a
// thousand workers connect, train and report their steps, one is lost and one joins.
// There are as many shards as workers, or four times as many.
//
//	go test ./coordinator/machine -run '^$' -bench Thousand
func BenchmarkThousandMembers(b *testing.B) {
	for _, shards := range []int{members, 4 * members} {
		b.Run(fmt.Sprintf("shards=%d", shards), func(b *testing.B) {
			longest := map[string]time.Duration{}
			for b.Loop() {
				for what, d := range thousand(b, shards) {
					longest[what] = max(longest[what], d)
				}
			}
			for what, d := range longest {
				b.ReportMetric(float64(d.Microseconds())/1e3, what+"-ms")
			}
		})
	}
}

// thousand returns the longest decision of each kind of event.
func thousand(b *testing.B, shards int) map[string]time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	m := New(Config{}, Ledger{})
	now := time.Unix(1_000_000, 0)
	longest := map[string]time.Duration{}
	step := func(what string, e Event) []Effect {
		now = now.Add(time.Millisecond)
		begin := used(b)
		effects, _ := m.Step(now, e)
		longest[what] = max(longest[what], used(b)-begin)
		return effects
	}
	hello := func(s Session) {
		step("hello", Opened{Session: s, Hello: message.Hello{Worker: message.Worker{ID: ergoflow.WorkerID(fmt.Sprintf("host-%d", s)),
			DataAddress: fmt.Sprintf("10.0.%d.%d:7080", s/256, s%256)}}})
	}
	all := func(f func(s Session)) {
		for s := Session(1); s <= members; s++ {
			if m.worker(s) != nil {
				f(s)
			}
		}
	}
	form := func() {
		g := m.current
		if g == nil {
			b.Fatal("no generation forms")
		}
		for _, id := range g.members {
			step("report", Received{m.byID(id).session, message.Report{Generation: g.number, HasState: true, State: ergoflow.Mark{Step: 1}, Hash: "h"}})
		}
		for _, id := range g.members {
			step("ready", Received{m.byID(id).session, message.Ready{Generation: g.number}})
		}
		if m.state() != StateTraining {
			b.Fatalf("the machine is %s", m.state())
		}
	}
	step("start", Start{})
	step("submit", submitted(shards))
	step("scanned", scanned(shards))
	for s := Session(1); s < members; s++ {
		hello(s)
	}
	all(func(s Session) { step("prepared", Received{s, message.Prepared{Run: "r", Number: m.worker(s).order}}) })
	form()
	all(func(s Session) {
		step("progress", Received{s, message.Progress{Generation: m.current.number, Step: 2, Loss: 1, Samples: 1}})
	})
	all(func(s Session) { step("heartbeat", Received{s, message.Heartbeat{}}) })
	step("tick", Tick{})
	step("lost", Closed{Session: 500, Reason: "the stream broke"})
	form()
	step("progress", Received{1, message.Progress{Generation: m.current.number, Step: 3, Loss: 1, Samples: 1}})
	hello(members)
	step("joined", Received{members, message.Prepared{Run: "r", Number: m.worker(members).order}})
	form()
	begin := used(b)
	if n := len(m.Status().Workers); n != members-1 {
		b.Fatalf("%d workers", n)
	}
	longest["status"] = used(b) - begin
	return longest
}

// used is the processor time of this thread: a busy machine does not add to it.
func used(b *testing.B) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return time.Duration(t.Nano())
}

// opened is the session of a worker on a host of its own.
func opened(s Session) Opened {
	return Opened{Session: s, Hello: message.Hello{Worker: message.Worker{ID: ergoflow.WorkerID(fmt.Sprint("w", s)), DataAddress: fmt.Sprint("h", s, ":1")}}}
}

// submitted is a run of so many shards, and scanned finds them all.
func submitted(shards int) Submit {
	return Submit{Plan: ergoflow.Plan{Run: "r", Experiment: "e", Dataset: "d", Shards: shards, Steps: 100, CheckpointEvery: 10}, Until: StageTrain}
}

func scanned(shards int) Scanned {
	e := Scanned{Run: "r"}
	for k := range shards + 1 {
		e.Present = append(e.Present, k)
	}
	return e
}

// A generation has no more members than a ring can have, whatever the shards.
func TestMoreWorkersThanARing(t *testing.T) {
	m := New(Config{}, Ledger{})
	now := time.Unix(1_000_000, 0)
	step := func(e Event) {
		now = now.Add(time.Millisecond)
		m.Step(now, e)
	}
	const shards, workers = 2 * ergoflow.MaxWorld, ergoflow.MaxWorld + 1
	step(Start{})
	step(submitted(shards))
	step(scanned(shards))
	for s := Session(1); s <= workers; s++ {
		step(opened(s))
	}
	for s := Session(1); s <= workers; s++ {
		step(Received{s, message.Prepared{Run: "r", Number: m.worker(s).order}})
	}
	if m.current == nil || len(m.current.members) != ergoflow.MaxWorld {
		t.Fatalf("generation %+v of %d workers", m.current, workers)
	}
}

// Where there are many workers, those outside the generation take turns to be pinged. A member is
// pinged as often as in a small cluster, and one that falls silent is found as soon. The others
// may be silent for six times as long.
func TestPingsTakeTurns(t *testing.T) {
	const outside = 60
	config := Config{PingedAtOnce: 10} // so six turns of 250 ms
	m := New(config, Ledger{})
	now := time.Unix(1_000_000, 0)
	pings, closed, formed := map[Session]int{}, map[Session]time.Time{}, false
	step := func(e Event) {
		effects, _ := m.Step(now, e)
		for _, e := range effects {
			switch e := e.(type) {
			case Send:
				if p, ok := e.Message.(message.Ping); ok {
					pings[e.Session]++
					if patient := p.Patience > 10*time.Second; formed && patient != (e.Session > 2) { // in turns of 1.5 s
						t.Fatalf("session %d is told to wait for %v", e.Session, p.Patience)
					}
				}
			case Close:
				closed[e.Session] = now
			}
		}
	}
	silent := map[Session]bool{}
	pass := func(d time.Duration) {
		for end := now.Add(d); now.Before(end); {
			now = now.Add(50 * time.Millisecond)
			step(Tick{})
			for s := range m.sessions {
				if !silent[s] {
					step(Received{s, message.Heartbeat{}})
				}
			}
		}
	}
	step(Start{})
	step(submitted(2))
	step(scanned(2))
	for s := Session(1); s <= outside+2; s++ {
		step(opened(s))
	}
	for s := Session(1); s <= 2; s++ {
		step(Received{s, message.Prepared{Run: "r", Number: m.worker(s).order}})
	}
	pass(3 * time.Second)
	if m.current == nil || len(m.current.members) != 2 {
		t.Fatalf("the generation is %+v", m.current)
	}
	number := m.current.number
	for _, received := range []message.FromWorker{
		message.Report{Generation: number}, message.Ready{Generation: number}, message.Progress{Generation: number, Step: 1},
	} {
		for s := Session(1); s <= 2; s++ {
			step(Received{s, received})
		}
	}
	clear(pings)
	formed = true
	pass(15 * time.Second)
	for s := Session(1); s <= outside+2; s++ {
		want := 10 // 15 s in turns of 1.5 s
		if s <= 2 {
			want = 60
		}
		if pings[s] < want-1 || pings[s] > want+1 {
			t.Errorf("session %d was pinged %d times in 15 s, not %d", s, pings[s], want)
		}
	}
	formed = false
	begin := now
	silent[1], silent[7] = true, true
	pass(12 * time.Second)
	for s, want := range map[Session]time.Duration{1: 1500 * time.Millisecond, 7: 9 * time.Second} {
		if took := closed[s].Sub(begin); closed[s].IsZero() || took < want-500*time.Millisecond || took > want+1750*time.Millisecond {
			t.Errorf("session %d ends %v after its last message, want about %v", s, took, want)
		}
	}
	if len(closed) != 2 {
		t.Errorf("sessions %v have ended", closed)
	}
	// When a generation ends, its members hear at once how long the next ping may take.
	before := pings[2]
	step(Withdraw{Reason: "cancelled"})
	pass(50 * time.Millisecond)
	if m.current != nil || pings[2] != before+1 {
		t.Errorf("the generation is %+v, and its member was pinged %d times since it ended", m.current, pings[2]-before)
	}
}

// A worker that becomes a member has not been pinged for long. It is not silent for that.
func TestMemberThatWasRarelyPinged(t *testing.T) {
	m := New(Config{PingedAtOnce: 1}, Ledger{})
	now := time.Unix(1_000_000, 0)
	step := func(e Event) (ended string) {
		effects, _ := m.Step(now, e)
		for _, e := range effects {
			if c, ok := e.(Close); ok {
				ended = c.Reason
			}
		}
		return ended
	}
	step(Start{})
	for s := Session(1); s <= 20; s++ { // 20 turns, 5 s
		step(opened(s))
	}
	tick := func(d time.Duration) {
		for end := now.Add(d); now.Before(end); {
			now = now.Add(50 * time.Millisecond)
			if ended := step(Tick{}); ended != "" {
				t.Fatalf("%v after the beginning: %s", now.Sub(time.Unix(1_000_000, 0)), ended)
			}
		}
	}
	tick(4900 * time.Millisecond) // just before the pings
	step(submitted(20))
	step(scanned(20))
	for _, w := range m.snapshot() {
		m.enter(w, prepared)
	}
	m.form(m.snapshot(), "all may train")
	tick(time.Second)
	if m.current == nil || len(m.current.members) != 20 {
		t.Fatalf("the generation is %+v", m.current)
	}
}

// Where there are thousands of workers not all of them make shards, or prepare. Others take the
// places of those that are lost.
func TestIdleWorkersFillPlaces(t *testing.T) {
	m := New(Config{}, Ledger{})
	now := time.Unix(1_000_000, 0)
	told := map[phase]map[Session]bool{generating: {}, preparing: {}}
	step := func(e Event) {
		effects, _ := m.Step(now, e)
		for _, e := range effects {
			if s, ok := e.(Send); ok {
				switch s.Message.(type) {
				case message.Generate:
					told[generating][s.Session] = true
				case message.Prepare:
					told[preparing][s.Session] = true
				}
			}
		}
	}
	join := func(first, last Session) {
		for s := first; s <= last; s++ {
			step(opened(s))
		}
	}
	check := func(what string, p phase, n, working int) {
		t.Helper()
		if len(told[p]) != n || m.phases[p] != working {
			t.Errorf("%s: %d workers were told to work, and %d do, want %d and %d", what, len(told[p]), m.phases[p], n, working)
		}
	}
	lose := func(first, last Session) {
		for s := first; s <= last; s++ {
			step(Closed{Session: s, Reason: "killed"})
		}
		step(Tick{})
	}
	const shards, most = 2 * ergoflow.MaxWorld, ergoflow.MaxWorld
	join(1, most/2)
	step(Start{})
	step(submitted(shards))
	step(Scanned{Run: "r"})
	join(most/2+1, maxPrepared+10)
	check("shards are missing", generating, most, most)
	lose(1, 2)
	check("two have gone", generating, most+2, most)
	step(scanned(shards))
	check("all shards exist", generating, most+2, 0)
	check("all shards exist", preparing, maxPrepared, maxPrepared)
	lose(3, 5)
	check("three have gone", preparing, maxPrepared+3, maxPrepared)
}
