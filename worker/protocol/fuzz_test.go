package protocol

import (
	"errors"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/convert"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/coordinator/wire/wiretest"
)

// FuzzReceived feeds a session arbitrary messages of a coordinator, each after its length.
// In all cases at most one piece of work is under way, only computed steps are applied,
// and no effect follows End.
func FuzzReceived(f *testing.F) {
	seed := func(messages ...*wire.CoordinatorMessage) { f.Add(wiretest.Join(f, messages...)) }
	p := &wire.Plan{Run: "r", Dataset: "d", Shards: 2, Steps: 3, CheckpointEvery: 1}
	welcome := &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Welcome{Welcome: &wire.Welcome{}}}
	prepare := &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Prepare{Prepare: &wire.Prepare{Plan: p}}}
	form := &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Form{Form: &wire.Form{Generation: 1}}}
	assign := &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Assign{Assign: &wire.Assign{Generation: 1, Saves: true}}}
	start := &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Go{Go: &wire.Go{Generation: 1}}}
	abort := &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Abort{Abort: &wire.Abort{Generation: 1}}}
	save := &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Save{Save: &wire.Save{Generation: 1}}}
	seed(welcome, prepare, form, assign, start, save, abort)
	seed(welcome, assign, start, form, form, assign, &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Finish{Finish: &wire.Finish{}}})
	seed(&wire.CoordinatorMessage{}, save, start, &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Leave{Leave: &wire.Leave{}}})
	seed(prepare, &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Generate{}}, abort, &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Assign{}})
	f.Fuzz(func(t *testing.T, data []byte) {
		w := &device{t: t, session: NewSession(message.Hello{Worker: message.Worker{ID: "a"}}), now: time.Unix(1_000_000, 0)}
		w.post(Opened{})
		for {
			m, err := wiretest.Next[wire.CoordinatorMessage](&data)
			if err != nil {
				return
			}
			w.post(Received{convert.FromCoordinator(m)})
			w.work()
		}
	})
}

// device executes the effects, one event or two after each message.
type device struct {
	t                   *testing.T
	session             *Session
	now                 time.Time
	effect              Effect // that began the work under way; nil: idle
	joined              bool
	computing, computed bool
	step                ergoflow.Step
	over                bool
}

func (d *device) post(e Event) {
	d.now = d.now.Add(time.Millisecond)
	for _, effect := range d.session.Step(d.now, e) {
		if d.over {
			d.t.Fatalf("%T after the end", effect)
		}
		switch effect.(type) {
		case Generate, Prepare, Describe, Join, Drop:
			if d.effect != nil {
				d.t.Fatalf("%T while %T is under way", effect, d.effect)
			}
			d.effect, d.joined, d.computing, d.computed = effect, false, false, false
		case Compute:
			if _, ok := d.effect.(Join); !ok || !d.joined || d.computing || d.computed {
				d.t.Fatalf("Compute in %T, joined %v, computing %v, computed %v", d.effect, d.joined, d.computing, d.computed)
			}
			d.computing = true
		case Apply:
			if !d.computed {
				d.t.Fatal("Apply before Compute")
			}
			d.computed = false
			d.step++
		case End:
			d.over = true
		}
	}
}

// work answers the present work with an event or two.
func (d *device) work() {
	switch d.effect.(type) {
	case nil:
	case Join:
		switch {
		case !d.joined:
			d.joined = true
			d.post(Joined{d.step})
		case d.computing:
			d.computing, d.computed = false, true
			before := d.step
			d.post(Summed{})
			if d.step > before {
				d.post(Applied{message.Progress{Step: d.step}})
			}
		default:
			d.effect = nil
			d.post(Ended{errors.New("the ring broke")})
		}
	case Describe:
		d.post(Described{message.Report{}})
		d.end()
	default:
		d.end()
	}
}

func (d *device) end() {
	d.effect = nil
	d.post(Ended{})
}
