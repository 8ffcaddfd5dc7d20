package protocol

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// driver feeds a session events and names its effects.
type driver struct {
	t   *testing.T
	now time.Time
	s   *Session
}

func open(t *testing.T) *driver {
	d := &driver{t: t, now: time.Unix(1000, 0), s: NewSession(message.Hello{Worker: message.Worker{ID: "w"}})}
	d.expect(Opened{}, "hello")
	d.expect(welcome(10*time.Second, 4*time.Second), "")
	return d
}

func welcome(patience, lease time.Duration) Event {
	return Received{message.Welcome{Patience: patience, Lease: lease}}
}

func ping(heard uint64) Event {
	return Received{message.Ping{Heard: heard}}
}

func prepare(steps, every ergoflow.Step) Event {
	return Received{message.Prepare{Plan: ergoflow.Plan{Run: "r", Steps: steps, CheckpointEvery: every}}}
}

func form(g ergoflow.Generation) Event {
	return Received{message.Form{Generation: g}}
}

func assign(g ergoflow.Generation) Event {
	return Received{message.Assign{Generation: g, Saves: true}}
}

func goes(g ergoflow.Generation) Event {
	return Received{message.Go{Generation: g}}
}

func abort(g ergoflow.Generation) Event {
	return Received{message.Abort{Generation: g}}
}

func save() Event {
	return Received{message.Save{}}
}

func leave() Event {
	return Received{message.Leave{Reason: "drained"}}
}

func applied(step ergoflow.Step) Event { return Applied{message.Progress{Step: step}} }

// expect feeds an event and compares the names of the effects.
func (d *driver) expect(e Event, want string) {
	d.t.Helper()
	var got []string
	for _, effect := range d.s.Step(d.now, e) {
		got = append(got, words(effect))
	}
	if s := strings.Join(got, ", "); s != want {
		d.t.Fatalf("%T: %q, want %q", e, s, want)
	}
}

func words(e Effect) string {
	switch e := e.(type) {
	case CheckLink:
		return "check link to " + string(e.Peer.ID)
	case Send:
		return strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", e.Message), "message."))
	case Save:
		if e.Final {
			return "save finally"
		}
	case End:
		return "end: " + e.Err.Error()
	}
	return strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", e), "protocol."))
}

// A worker that is to leave waits for a silent coordinator only where it has a state that
// would be lost with it.
func TestDrainWithoutCoordinator(t *testing.T) {
	generating := open(t)
	generating.expect(Received{message.Generate{}}, "generate")
	generating.expect(Drain{}, "drain")
	generating.now = generating.now.Add(drainPatience)
	generating.expect(Tick{}, "")
	generating.now = generating.now.Add(time.Millisecond)
	got := generating.s.Step(generating.now, Tick{})
	if end, ok := got[len(got)-1].(End); len(got) != 2 || !ok || !errors.Is(end.Err, ErrLeft) || words(got[0]) != "cancel" {
		t.Errorf("a worker that generates: %v", got)
	}
	for name, d := range map[string]*driver{
		"prepared":     prepared(t, 3, 1),
		"with a state": {t: t, now: time.Unix(1000, 0), s: NewSession(message.Hello{HasState: true})},
	} {
		d.s.Step(d.now, Opened{})
		d.s.Step(d.now, welcome(10*time.Second, 4*time.Second))
		d.expect(Drain{}, "drain")
		d.now = d.now.Add(10 * time.Second)
		if got := d.s.Step(d.now, Tick{}); len(got) > 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// rank brings the session to generation g, at a step, before Go.
func (d *driver) rank(g ergoflow.Generation, step ergoflow.Step) {
	d.t.Helper()
	d.expect(form(g), "describe")
	d.expect(Described{message.Report{Generation: g}}, "report")
	d.expect(Ended{}, "")
	d.expect(assign(g), "join")
	d.expect(Joined{Step: step}, "ready")
}

// prepared returns a session that may become a member, with a lease.
func prepared(t *testing.T, steps, every ergoflow.Step) *driver {
	d := open(t)
	d.expect(prepare(steps, every), "prepare")
	d.expect(Ended{}, "prepared")
	d.expect(ping(0), "heartbeat")
	d.expect(ping(1), "heartbeat")
	return d
}

func TestSteps(t *testing.T) {
	d := prepared(t, 3, 2)
	d.rank(1, 0)
	d.expect(goes(1), "compute")
	d.expect(Summed{}, "apply")
	d.expect(applied(1), "progress, compute")
	d.expect(Summed{}, "apply")
	d.expect(applied(2), "progress, save, compute")
	d.expect(Summed{}, "apply")
	d.expect(applied(3), "progress, save finally")
	d.expect(ping(2), "heartbeat") // and nothing more
	lost := NotSaved{errors.New("no room")}
	for n := range uint64(maxUnsaved - 1) {
		d.expect(lost, "")
		d.expect(ping(3+n), "heartbeat, save finally") // it tries again
	}
	d.expect(lost, "complaint") // the coordinator hears why
	d.expect(ping(9), "heartbeat, save finally")
}

// Cancelled work applies no step. While it ends, the session answers pings. The next work
// begins when it has ended.
func TestCancelledWork(t *testing.T) {
	d := prepared(t, 10, 5)
	d.rank(1, 0)
	d.expect(goes(1), "compute")
	d.expect(abort(1), "cancel")
	d.expect(form(2), "")
	d.expect(Summed{}, "")
	d.expect(ping(2), "heartbeat")
	d.expect(Ended{Err: errors.New("cancelled")}, "describe")
	d.expect(abort(2), "cancel")
	d.expect(Described{message.Report{}}, "")
	d.expect(Ended{}, "")
	d.expect(assign(2), "")
}

// The session executes no order of a generation that is not the latest, and none twice.
func TestStaleOrders(t *testing.T) {
	d := prepared(t, 10, 5)
	d.rank(3, 0)
	for _, e := range []Event{form(3), form(2), assign(3), assign(2), goes(2), abort(2)} {
		d.expect(e, "")
	}
	d.expect(goes(3), "compute")
	d.expect(goes(3), "")
}

// The rank applies a step only while the coordinator has heard this worker recently, as
// far as the worker knows.
func TestLease(t *testing.T) {
	d := prepared(t, 10, 5) // heartbeat 1 was heard at the beginning
	d.rank(1, 0)
	d.expect(goes(1), "compute")
	d.now = d.now.Add(3900 * time.Millisecond)
	d.expect(Summed{}, "apply")
	d.expect(applied(1), "progress, compute")
	d.now = d.now.Add(200 * time.Millisecond)
	d.expect(Summed{}, "")          // heartbeat 1 is 4.1 s old
	d.expect(ping(1), "heartbeat")  // number 3; nothing new was heard
	d.expect(ping(99), "heartbeat") // never sent
	d.expect(ping(2), "heartbeat")  // heard, but as old as the first
	d.expect(ping(3), "heartbeat, apply")
}

// A worker that was asked for its state makes no step after it in this session, in any
// generation.
func TestSaveBeforeLeaving(t *testing.T) {
	d := prepared(t, 10, 5)
	d.rank(1, 0)
	d.expect(goes(1), "compute")
	d.expect(save(), "")
	d.expect(Summed{}, "apply")
	d.expect(applied(1), "progress, save finally")
	d.expect(NotSaved{errors.New("no room")}, "")
	d.expect(ping(2), "heartbeat, save finally")
	d.expect(abort(1), "cancel")
	d.expect(Ended{Err: errors.New("cancelled")}, "")
	d.rank(2, 1)
	d.expect(goes(2), "")
	d.expect(leave(), "cancel")
	d.expect(Ended{Err: errors.New("cancelled")}, "end: left the cluster: drained")
	d.expect(Tick{}, "")
}

// A dismissed worker leaves, even if the stream ends before its work does, because the
// coordinator ends.
func TestDismissedWhileTheStreamEnds(t *testing.T) {
	d := prepared(t, 10, 5)
	d.rank(1, 0)
	d.expect(goes(1), "compute")
	d.expect(leave(), "cancel")
	d.expect(Broken{errors.New("the coordinator ends")}, "end: left the cluster: drained")
}

// A checkpoint waits for the present step, but not for long: then the state before that
// step is saved. A step whose ring has ended is applied.
func TestSaveInALongStep(t *testing.T) {
	d := prepared(t, 100, 50)
	d.rank(1, 7)
	d.expect(goes(1), "compute")
	d.expect(save(), "")
	d.now = d.now.Add(boundaryPatience)
	d.expect(Tick{}, "")
	d.now = d.now.Add(time.Millisecond)
	d.expect(Tick{}, "cancel")
	d.expect(Tick{}, "")
	d.expect(Ended{errors.New("cancelled")}, "save finally")
	d.expect(leave(), "end: left the cluster: drained")

	d = prepared(t, 100, 50)
	d.rank(1, 7)
	d.expect(goes(1), "compute")
	d.now = d.now.Add(5 * time.Second) // the lease is over
	d.expect(Summed{}, "")
	d.expect(save(), "")
	d.now = d.now.Add(2 * boundaryPatience)
	d.expect(Tick{}, "")
	d.expect(ping(2), "heartbeat")
	d.expect(ping(3), "heartbeat, apply")
	d.expect(applied(8), "progress, save finally")
}

// A requested state is saved even if the step fails.
func TestSaveOfAnInterruptedStep(t *testing.T) {
	d := prepared(t, 10, 5)
	d.rank(1, 0)
	d.expect(goes(1), "compute")
	d.expect(save(), "")
	d.expect(Ended{Err: errors.New("the ring broke")}, "save finally, complaint")
}

// A complaint names the member that the error blames, and none if the error is its own.
func TestComplaintsNameThePeer(t *testing.T) {
	for peer, err := range map[ergoflow.WorkerID]error{
		"b": fmt.Errorf("step 3: %w", &Blame{Peer: "b", Err: errors.New("connection refused")}),
		"":  errors.New("the device is lost"),
	} {
		d := prepared(t, 10, 5)
		d.rank(1, 0)
		d.expect(goes(1), "compute")
		var got message.Complaint
		for _, e := range d.s.Step(d.now, Ended{Err: err}) {
			if send, ok := e.(Send); ok {
				got, _ = send.Message.(message.Complaint)
			}
		}
		if got.Peer != peer || got.Reason != err.Error() {
			t.Errorf("%v became %+v", err, got)
		}
	}
}

// A rank that was cancelled tells which members were silent, and nothing else. The next
// work begins after that.
func TestSilenceIsToldAfterTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"silent":    {&Blame{Peer: "b", Silent: []ergoflow.WorkerID{"b", "c"}, Err: context.Canceled}, "complaint, describe"},
		"cancelled": {&Blame{Peer: "b", Err: context.Canceled}, "describe"},
	} {
		t.Run(name, func(t *testing.T) {
			d := prepared(t, 10, 5)
			d.rank(1, 0)
			d.expect(goes(1), "compute")
			d.expect(form(2), "cancel")
			d.expect(Ended{Err: c.err}, c.want)
		})
	}
}

// A link is checked beside the work.
func TestCheckLink(t *testing.T) {
	d := prepared(t, 10, 5)
	d.rank(1, 0)
	d.expect(goes(1), "compute")
	d.expect(Received{message.CheckLink{Peer: message.Member{ID: "b", DataAddress: "b:1"}}}, "check link to b")
	for err, failure := range map[error]string{nil: "", errors.New("no route"): "no route"} {
		effects := d.s.Step(d.now, LinkChecked{Peer: "b", Err: err})
		if want := []Effect{Send{message.LinkChecked{Peer: "b", Failure: failure}}}; !reflect.DeepEqual(effects, want) {
			t.Errorf("%v became %+v", err, effects)
		}
	}
}

func TestFailures(t *testing.T) {
	d := open(t)
	d.expect(prepare(10, 5), "prepare")
	d.expect(Ended{Err: errors.New("it does not compile")}, "failed")
	d.expect(form(1), "describe")
	d.expect(Ended{Err: errors.New("the device is lost")}, "end: the device is lost")
}

// The session ends after the coordinator has been silent for longer than its patience.
func TestPatience(t *testing.T) {
	d := open(t)
	d.now = d.now.Add(9 * time.Second)
	d.expect(ping(0), "heartbeat")
	d.now = d.now.Add(10 * time.Second)
	d.expect(Tick{}, "")
	d.now = d.now.Add(time.Millisecond)
	d.expect(Tick{}, "end: the coordinator is silent for 10s")
}

// It ends sooner where the gossip has a leader of a later term, and the present one is silent.
func TestDeposedCoordinator(t *testing.T) {
	d := &driver{t: t, now: time.Unix(1000, 0), s: NewSession(message.Hello{})}
	d.expect(Opened{}, "hello")
	d.expect(Received{message.Welcome{Patience: 3 * time.Second, Term: 4}}, "")
	d.expect(Tick{Term: 5}, "") // it has just spoken
	d.now = d.now.Add(1010 * time.Millisecond)
	d.expect(Tick{Term: 4}, "")
	d.expect(Tick{}, "")
	d.expect(Tick{Term: 5}, "end: the coordinator is silent for 1.01s, and another leads in term 5")
}

// It ends sooner if the coordinator never answers.
func TestNoWelcome(t *testing.T) {
	d := &driver{t: t, now: time.Unix(0, 0), s: NewSession(message.Hello{})}
	d.expect(Opened{}, "hello")
	d.now = d.now.Add(5010 * time.Millisecond)
	d.expect(Tick{}, "end: the coordinator is silent for 5.01s")
}

// A message that is not known does nothing, nor do orders of no generation.
func TestEmptyMessages(t *testing.T) {
	d := open(t)
	d.expect(Received{}, "")
	d.expect(Received{message.Assign{}}, "")
	d.expect(Received{message.Go{}}, "")
}

// An order to dump is carried out beside any work.
func TestDump(t *testing.T) {
	d := prepared(t, 3, 1)
	d.expect(Received{message.Dump{Number: 4, Occasion: "a stall"}}, "dump")
	d.expect(form(1), "describe")
	d.expect(Received{message.Dump{}}, "dump")
}
