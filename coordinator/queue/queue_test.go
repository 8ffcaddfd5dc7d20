package queue

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/schedule"
)

// bench is a machine with a clock, whose effects a test reads.
type bench struct {
	t       *testing.T
	m       *Machine
	now     time.Time
	effects []Effect // of the last step
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newBench(t *testing.T) *bench {
	b := &bench{t: t, now: noon}
	b.start(Ledger{})
	return b
}

func (b *bench) start(l Ledger) {
	m, err := New(Config{}, l)
	if err != nil {
		b.t.Fatal(err)
	}
	b.m = m
	b.step(Start{})
}

// step hands over an event, and returns the answer's refusal.
func (b *bench) step(e Event) string {
	b.effects, _ = b.m.Step(b.now, e)
	for _, effect := range b.effects {
		if a, ok := effect.(Answer); ok {
			return a.Refusal
		}
	}
	return ""
}

func (b *bench) accept(e Event) {
	b.t.Helper()
	if refusal := b.step(e); refusal != "" {
		b.t.Fatalf("%T is refused: %s", e, refusal)
	}
}

// pass lets time pass, with a tick each second for the first minutes.
func (b *bench) pass(d time.Duration) {
	end := b.now.Add(d)
	for b.now.Before(end) {
		b.now = b.now.Add(time.Second)
		b.step(Tick{})
	}
}

// jump sets the clock.
func (b *bench) jump(d time.Duration) {
	b.now = b.now.Add(d)
	b.step(Tick{})
}

func (b *bench) want(id ID, state State, outcome Outcome) Run {
	b.t.Helper()
	r, ok := b.m.Run(id)
	if !ok || r.State != state || r.Outcome != outcome {
		b.t.Fatalf("run %d: known %t, %s %s (%s), want %s %s", id, ok, r.State, r.Outcome, r.Reason, state, outcome)
	}
	return r
}

// end reports the end of a run's present attempt.
func (b *bench) end(id ID, outcome Outcome, killed bool) {
	r, _ := b.m.Run(id)
	b.step(Finished{ID: id, Attempt: r.Attempt, Outcome: outcome, Reason: "as the test says", Killed: killed})
}

// scheduled describes the runs of a schedule, the oldest first.
func (b *bench) scheduled() []string {
	var list []string
	for id := ID(1); id < b.m.next; id++ {
		r, _ := b.m.Run(id)
		text := r.Scheduled.Format("2 15:04 ")
		if r.Times > 1 {
			text += fmt.Sprintf("to %s: %d ", r.Through.Format("2 15:04"), r.Times)
		}
		if r.State == Ended {
			list = append(list, text+string(r.Outcome))
		} else {
			list = append(list, text+string(r.State))
		}
	}
	return list
}

func (b *bench) wantScheduled(want ...string) {
	b.t.Helper()
	if have := b.scheduled(); !slices.Equal(have, want) {
		b.t.Fatalf("runs\n%s\nwant\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
}

func submission(hash string) Submit {
	plan := testPlan(hash)
	return Submit{Kind: Train, Plan: &plan, Queue: true}
}

func nightly() Schedule {
	return Schedule{Name: "nightly", Spec: "@daily", Config: "/etc/retrain.yaml"}
}

func TestOrder(t *testing.T) {
	b := newBench(t)
	for i, priority := range []int{0, 0, 0, 1, -1} {
		e := submission(fmt.Sprint("hash", i))
		e.Priority = priority
		b.accept(e)
	}
	b.accept(Move{ID: 3, First: true})
	var order []ID
	for range 5 {
		r := b.m.Runs(0)[0]
		if r.State != Running {
			t.Fatalf("%s is %s", &r, r.State)
		}
		order = append(order, r.ID)
		b.end(r.ID, []Outcome{Done, Failed}[r.ID%2], false) // a failure does not stop the queue
	}
	if want := []ID{1, 3, 4, 2, 5}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
}

// A level of priority passes 100 runs, and no more.
func TestNoRunStarves(t *testing.T) {
	b := newBench(t)
	b.accept(submission("running"))
	b.accept(submission("low")) // run 2
	for i := 0; ; i++ {
		e := submission(fmt.Sprint("high", i))
		e.Priority = 1
		b.accept(e)
		b.end(b.m.Runs(0)[0].ID, Done, false)
		if r, _ := b.m.Run(2); r.State == Running {
			if i < 90 || i > 110 {
				t.Errorf("%d runs passed it", i)
			}
			return
		}
		if i > 1000 {
			t.Fatal("it never begins")
		}
	}
}

// Without Queue and Replace the coordinator refuses a second run.
func TestForeground(t *testing.T) {
	b := newBench(t)
	b.accept(submission("first"))
	second := submission("second")
	second.Queue = false
	if refusal := b.step(second); !strings.Contains(refusal, "is not finished") {
		t.Errorf("refusal %q", refusal)
	}
	b.accept(submission("waits"))
	second.Replace = true
	b.accept(second)
	b.want(1, Ended, Replaced)
	b.want(2, Waiting, "")
	b.want(3, Running, "")
	again := submission("second")
	again.Queue = false
	b.accept(again) // it attaches
	if len(b.m.Runs(9)) != 3 {
		t.Errorf("%d runs", len(b.m.Runs(9)))
	}
}

// Cancelling a retraining ends its process, and then its training.
func TestCancelRetraining(t *testing.T) {
	b := newBench(t)
	b.accept(Submit{Kind: Retrain, Config: "/c.yaml"})
	e := submission("child")
	e.Parent = 1
	b.accept(e)
	b.accept(Cancel{1})
	b.want(1, Stopping, Cancelled)
	b.want(2, Running, "")
	b.end(1, Failed, true)
	b.want(1, Ended, Cancelled)
	b.want(2, Ended, Cancelled)
	if refusal := b.step(Cancel{1}); !strings.Contains(refusal, "has ended") {
		t.Errorf("refusal %q", refusal)
	}
}

// A process that is killed is started again, a bounded number of times.
func TestCrashes(t *testing.T) {
	b := newBench(t)
	b.accept(Submit{Kind: Retrain, Config: "/c.yaml"})
	b.end(1, Failed, true)
	b.want(1, Waiting, "")
	b.jump(9 * time.Second)
	b.want(1, Waiting, "")
	b.jump(time.Second)
	if r := b.want(1, Running, ""); r.Attempt != 2 {
		t.Errorf("attempt %d", r.Attempt)
	}
	b.step(Finished{ID: 1, Attempt: 1, Outcome: Done}) // of the first attempt
	b.end(1, Failed, true)
	b.jump(-365 * 24 * time.Hour) // no delay is longer for it
	b.want(1, Running, "")
	b.end(1, Failed, true)
	b.want(1, Ended, Failed)
}

func TestMissed(t *testing.T) {
	for policy, want := range map[schedule.Missed][]string{
		schedule.MissedLast: {"2 00:00 to 4 00:00: 3 skipped", "5 00:00 running"},
		schedule.MissedSkip: {"2 00:00 to 5 00:00: 4 skipped"},
		schedule.MissedAll:  {"2 00:00 running", "3 00:00 waiting", "4 00:00 waiting", "5 00:00 waiting"},
	} {
		t.Run(string(policy), func(t *testing.T) {
			b := newBench(t)
			s := nightly()
			s.Missed = policy
			b.accept(AddSchedule{s})
			b.jump(4 * 24 * time.Hour) // the coordinator was away
			b.wantScheduled(want...)
			b.jump(time.Second)
			b.wantScheduled(want...)
		})
	}
}

// A time is in time within a minute.
func TestInTime(t *testing.T) {
	b := newBench(t)
	s := nightly()
	s.Missed = schedule.MissedSkip
	b.accept(AddSchedule{s})
	b.jump(12*time.Hour + 50*time.Second)
	b.wantScheduled("2 00:00 running")
}

func TestStartDeadline(t *testing.T) {
	b := newBench(t)
	s := nightly()
	s.DeadlineSeconds = 3600
	b.accept(AddSchedule{s})
	b.jump(14 * time.Hour) // missed, and too late
	b.wantScheduled("2 00:00 skipped")
	b.accept(Submit{Kind: Retrain, Config: "/other.yaml"})
	b.jump(22 * time.Hour)
	b.wantScheduled("2 00:00 skipped", "1 00:00 running", "3 00:00 waiting")
	b.jump(time.Hour + time.Second)
	b.wantScheduled("2 00:00 skipped", "1 00:00 running", "3 00:00 skipped")
}

func TestOverlap(t *testing.T) {
	for policy, want := range map[schedule.Overlap][]string{
		schedule.OverlapQueue:   {"1 12:01 running", "1 12:02 waiting", "1 12:03 to 1 12:05: 3 skipped"},
		schedule.OverlapSkip:    {"1 12:01 running", "1 12:02 to 1 12:05: 4 skipped"},
		schedule.OverlapReplace: {"1 12:01 stopping", "1 12:02 replaced", "1 12:03 replaced", "1 12:04 replaced", "1 12:05 waiting"},
	} {
		t.Run(string(policy), func(t *testing.T) {
			b := newBench(t)
			b.accept(AddSchedule{Schedule{Name: "often", Spec: "* * * * *", Config: "/c.yaml", Policy: schedule.Policy{Overlap: policy}}})
			b.pass(5*time.Minute + 10*time.Second)
			b.wantScheduled(want...)
		})
	}
}

// The clock goes back an hour: nothing is started again, and nothing waits an hour.
func TestClockBack(t *testing.T) {
	b := newBench(t)
	b.accept(AddSchedule{Schedule{Name: "often", Spec: "*/20 * * * *", Config: "/c.yaml"}})
	finish := func(minutes int) {
		for range minutes {
			b.pass(time.Minute)
			if r := b.m.Runs(0); len(r) > 0 {
				b.end(r[0].ID, Done, false)
			}
		}
	}
	finish(61)
	b.jump(-time.Hour)
	finish(81)
	b.wantScheduled("1 12:20 done", "1 12:40 done", "1 13:00 done", "1 13:20 done")
}

// The clock is a year ahead for a minute. Afterwards the schedule goes on as before.
func TestClockAhead(t *testing.T) {
	b := newBench(t)
	b.accept(AddSchedule{nightly()})
	b.jump(365 * 24 * time.Hour)
	b.wantScheduled("2 00:00 to 28 00:00: 364 skipped", "1 00:00 running")
	b.end(2, Done, false)
	b.jump(-365 * 24 * time.Hour)
	b.jump(12 * time.Hour)
	b.wantScheduled("2 00:00 to 28 00:00: 364 skipped", "1 00:00 done", "2 00:00 running")
}

// A schedule of every minute that was away for a year is counted up to a bound.
func TestUncounted(t *testing.T) {
	b := newBench(t)
	b.accept(AddSchedule{Schedule{Name: "often", Spec: "* * * * *", Config: "/c.yaml"}})
	b.jump(365*24*time.Hour + 90*time.Second)
	b.wantScheduled("1 12:01 to 1 12:00: 1000 skipped", "1 12:01 running")
	if r, _ := b.m.Run(1); !r.Uncounted || r.Through.Year() != 2027 {
		t.Errorf("skipped until %s, uncounted %t", r.Through, r.Uncounted)
	}
}

func TestPause(t *testing.T) {
	b := newBench(t)
	b.accept(AddSchedule{nightly()})
	b.accept(PauseSchedule{"nightly"})
	b.jump(3 * 24 * time.Hour)
	b.wantScheduled()
	b.accept(RunSchedule{Name: "nightly"}) // a person may
	b.end(1, Done, false)
	b.accept(ResumeSchedule{"nightly"})
	b.wantScheduled("1 00:00 done", "2 00:00 to 4 00:00: 3 skipped")
	b.jump(24 * time.Hour)
	b.wantScheduled("1 00:00 done", "2 00:00 to 4 00:00: 3 skipped", "5 00:00 running")
}

// Failures in a row pause a schedule, and a success ends the row.
func TestPausesItself(t *testing.T) {
	b := newBench(t)
	s := nightly()
	s.PauseAfter = 2
	b.accept(AddSchedule{s})
	for i, outcome := range []Outcome{Failed, Done, Failed, Failed} {
		b.jump(24 * time.Hour)
		b.end(ID(i+1), outcome, false)
	}
	st, _ := b.m.Schedule("nightly", 5)
	if !st.Paused || st.Failures != 2 || !strings.Contains(st.Why, "as the test says") || len(st.Next) != 0 || st.LastDone.Day() != 3 {
		t.Errorf("schedule %+v", st)
	}
	if !slices.ContainsFunc(b.effects, func(e Effect) bool { w, ok := e.(Warn); return ok && strings.Contains(w.Text, "paused itself") }) {
		t.Errorf("effects %v", b.effects)
	}
}

// Jitter is a fixed part of it for each schedule.
func TestJitter(t *testing.T) {
	b := newBench(t)
	for i := range 50 {
		b.accept(AddSchedule{Schedule{Name: fmt.Sprint("s", i), Spec: "@daily", Config: "/c.yaml", Policy: schedule.Policy{JitterSeconds: 600}}})
	}
	midnight := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	seen := map[time.Time]bool{}
	for _, s := range b.m.Schedules(1) {
		if d := s.Next[0].Sub(midnight); d < 0 || d >= 10*time.Minute {
			t.Errorf("%s is %v late", s.Name, d)
		}
		seen[s.Next[0]] = true
	}
	if len(seen) < 40 {
		t.Errorf("%d different times of 50", len(seen))
	}
	b.jump(12 * time.Hour)
	b.pass(10 * time.Minute)
	for id := ID(1); id <= 50; id++ {
		if r, ok := b.m.Run(id); !ok || !r.Scheduled.Equal(midnight) {
			t.Fatalf("run %d: %+v", id, r)
		}
	}
}

func TestSchedulesRefused(t *testing.T) {
	b := newBench(t)
	b.accept(AddSchedule{nightly()})
	b.accept(AddSchedule{nightly()}) // as a set-up script does
	other := nightly()
	other.Spec = "@hourly"
	relative := nightly()
	relative.Config = "retrain.yaml"
	for want, e := range map[string]Event{
		"with other settings":  AddSchedule{other},
		"not an absolute path": AddSchedule{relative},
		"never":                AddSchedule{Schedule{Name: "x", Spec: "0 0 30 2 *", Config: "/c"}},
		"the name":             AddSchedule{Schedule{Name: "../x", Spec: "@hourly", Config: "/c"}},
		"there is no":          RemoveSchedule{"unknown"},
	} {
		if refusal := b.step(e); !strings.Contains(refusal, want) {
			t.Errorf("%+v: %q, want %q", e, refusal, want)
		}
	}
}

// A run that a coordinator without a queue has begun is adopted.
func TestAdopt(t *testing.T) {
	b := newBench(t)
	b.m, _ = New(Config{}, Ledger{})
	b.step(Start{Conducting: []Conducted{{Kind: Train, Plan: testPlan("old")}}})
	if r := b.want(1, Running, ""); r.Run != "old" {
		t.Errorf("run %+v", r)
	}
	if !slices.ContainsFunc(b.effects, func(e Effect) bool { begin, ok := e.(Begin); return ok && begin.Run.ID == 1 }) {
		t.Errorf("effects %v", b.effects)
	}
}

// A scheduled time is not started again after its run was pruned, whatever the clock does.
func TestForgotten(t *testing.T) {
	b := newBench(t)
	b.m, _ = New(Config{KeepRuns: 1}, Ledger{})
	b.step(Start{})
	b.accept(AddSchedule{nightly()})
	for i := range 3 {
		b.jump(24 * time.Hour)
		b.end(ID(i+1), Done, false)
	}
	b.jump(-3 * 24 * time.Hour)
	for range 6 {
		b.jump(12 * time.Hour)
	}
	if r := b.m.Runs(9); len(r) != 1 || r[0].ID != 3 {
		t.Errorf("runs %+v", r)
	}
}

// The fleet knew that a run had ended, and the queue had not heard of it. It does not begin
// again, and the next begins.
func TestEndedWhileAway(t *testing.T) {
	b := newBench(t)
	one, two := testPlan("one"), testPlan("two")
	b.accept(Submit{Kind: Train, Plan: &one, Queue: true})
	b.accept(Submit{Kind: Train, Plan: &two, Queue: true})
	r := b.want(1, Running, "")
	b.m, _ = New(Config{}, Ledger{Runs: b.m.Runs(0)})
	b.step(Start{Finished: []Finished{{ID: 1, Attempt: r.Attempt, Outcome: Failed, Reason: "no disk"}}})
	if got := b.want(1, Ended, Failed); got.Reason != "no disk" {
		t.Errorf("run %+v", got)
	}
	b.want(2, Running, "")
	for _, e := range b.effects {
		if begin, ok := e.(Begin); ok && begin.Run.ID != 2 {
			t.Errorf("%s", e)
		}
	}
}

// A run waits for no more workers than it can use.
func TestLeastBeyondTheData(t *testing.T) {
	b := newBench(t)
	plan := testPlan("one")
	b.step(Workers{plan.Shards - 1})
	b.accept(Submit{Kind: Train, Plan: &plan, Queue: true, Workers: &ergoflow.WorkerBounds{Min: 100}})
	b.want(1, Waiting, "")
	b.step(Workers{plan.Shards})
	b.want(1, Running, "")
}

func TestRunsRefused(t *testing.T) {
	b := newBench(t)
	one, two, invalid := testPlan("one"), testPlan("two"), testPlan("three")
	invalid.Steps = 0
	b.step(Workers{3})
	b.accept(Submit{Kind: Train, Plan: &one})
	for want, e := range map[string]Submit{
		"2 workers, not 0 to":  {Kind: Train, Plan: &two, Queue: true, Workers: &ergoflow.WorkerBounds{Min: -1, Max: 2}},
		"at least 3":           {Kind: Train, Plan: &two, Queue: true, Workers: &ergoflow.WorkerBounds{Min: 3, Max: 2}},
		"needs 4 workers":      {Kind: Train, Plan: &two, Replace: true, Workers: &ergoflow.WorkerBounds{Min: 4}},
		"0 steps":              {Kind: Train, Plan: &invalid, Queue: true},
		"not an absolute path": {Kind: Retrain, Config: "c.yaml"},
		"replaces no run":      {Kind: Retrain, Config: "/c.yaml", Replace: true},
	} {
		if refusal := b.step(e); !strings.Contains(refusal, want) {
			t.Errorf("refused: %q, want %q", refusal, want)
		}
	}
	b.want(1, Running, "")
	b.accept(Submit{Kind: Train, Plan: &two, Replace: true, Workers: &ergoflow.WorkerBounds{Min: 3}})
	b.want(1, Ended, Replaced)
	b.want(2, Running, "")
}
