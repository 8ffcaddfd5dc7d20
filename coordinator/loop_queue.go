package coordinator

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/ergoflow/ergoflow/coordinator/fleet"
	"github.com/ergoflow/ergoflow/coordinator/journal"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/internal/tracing"
)

// queueInterval is the time between two ticks of the queue. Schedules name minutes, so a
// second is precise enough.
const queueInterval = time.Second

// stepQueue lets the queue handle an event, and executes the effects in order. Where an
// effect causes another event, the queue handles that after the last effect.
func (l *loop) stepQueue(e queue.Event) {
	l.pending = append(l.pending, e)
	if l.stepping {
		return
	}
	l.stepping = true
	defer func() { l.stepping = false }()
	for len(l.pending) > 0 && l.fatal == nil {
		e, l.pending = l.pending[0], l.pending[1:]
		effects, reason := l.runs.Step(time.Now(), e)
		if reason != "" {
			l.about(journal.Queue).Info(reason)
		}
		for _, effect := range effects {
			if l.fatal != nil {
				return // the ledger is not durable
			}
			l.executeQueue(effect)
		}
	}
}

func (l *loop) executeQueue(effect queue.Effect) {
	switch e := effect.(type) {
	case queue.Persist:
		if l.fatal = l.ledger.persistQueue(e); l.fatal == nil {
			l.processes.forget(e.RemovedRuns)
		}
	case queue.Begin:
		l.begin(e.Run)
	case queue.Withdraw:
		l.step(machine.Withdraw{Entry: uint64(e.ID), Reason: e.Reason})
	case queue.Launch:
		l.launch(e.Run)
	case queue.Terminate:
		l.processes.terminate(e.ID, e.Attempt)
	case queue.Answer:
		l.answered = e
	case queue.Warn:
		l.about(journal.Queue).Warn(e.Text)
	}
}

// launch starts the process of a retraining. Of several coordinators the one before may still have
// one: its processes end when it notices that it does not lead any more.
func (l *loop) launch(r queue.Run) {
	if l.term == nil {
		l.processes.launch(r)
		return
	}
	l.help(func(ctx context.Context) {
		select {
		case <-time.After(time.Until(l.begun.Add(formerProcesses))):
		case <-ctx.Done():
			return
		}
		if l.term.Verify() == nil {
			l.do(func() {
				if now, known := l.runs.Run(r.ID); known && now.State == queue.Running && now.Attempt == r.Attempt {
					l.processes.launch(r)
				}
			})
		}
	})
}

// formerProcesses is how long a coordinator that begins to lead leaves the former one's processes
// to end.
const formerProcesses = 5 * time.Second

// begin hands a run to the fleet, unless that has it.
func (l *loop) begin(r queue.Run) {
	for _, c := range l.fleet.Conducting() {
		if c.Entry == uint64(r.ID) && c.Ended {
			l.noteOutcomes() // the queue has not heard of it
			return
		}
	}
	until := machine.StageTrain
	if r.Kind == queue.Generate {
		until = machine.StageGenerate
	}
	l.step(fleet.Submit{Submit: machine.Submit{Plan: *r.Plan, Until: until, Replace: true, Entry: uint64(r.ID)}, Workers: r.Workers})
	if l.answer != "" {
		l.stepQueue(queue.Finished{ID: r.ID, Attempt: r.Attempt, Outcome: queue.Failed, Reason: l.answer})
		l.answer = ""
	}
}

// noteOutcomes tells the queue which of the fleet's runs have ended.
func (l *loop) noteOutcomes() {
	if !l.started {
		return
	}
	for _, e := range l.outcomes() {
		l.trace(e)
		l.stepQueue(e)
	}
}

// trace records the span of a run that has ended.
func (l *loop) trace(e queue.Finished) {
	r, known := l.runs.Run(e.ID)
	if l.tracer == nil || !known {
		return
	}
	l.tracer.Record(tracing.Span{Name: "run", At: tracing.OfRun(r.Run), Begin: r.Started, End: time.Now(), Failure: e.Reason, Attributes: []attribute.KeyValue{
		attribute.String("ergoflow.run", r.Run), attribute.String("ergoflow.experiment", r.Name), attribute.String("ergoflow.outcome", string(e.Outcome)),
	}})
}

// outcomes are the ends of runs that the fleet has and the queue has not heard of.
func (l *loop) outcomes() []queue.Finished {
	var list []queue.Finished
	for _, c := range l.fleet.Conducting() {
		r, known := l.runs.Run(queue.ID(c.Entry))
		if !c.Ended || !known || r.State != queue.Running {
			continue
		}
		e := queue.Finished{ID: r.ID, Attempt: r.Attempt, Outcome: queue.Done}
		if c.Failure != "" {
			e.Outcome, e.Reason = queue.Failed, c.Failure
		}
		list = append(list, e)
	}
	return list
}

// noteWorkers tells the queue how many workers there are, when that changes.
func (l *loop) noteWorkers() {
	if n := l.fleet.Workers(); n != l.workers {
		l.workers = n
		l.stepQueue(queue.Workers{Count: n})
	}
}

// conducting are the runs that the fleet has in its ledgers as not finished.
func (l *loop) conducting() []queue.Conducted {
	var list []queue.Conducted
	for _, c := range l.fleet.Conducting() {
		if c.Ended {
			continue
		}
		kind := queue.Train
		if c.Until == machine.StageGenerate {
			kind = queue.Generate
		}
		list = append(list, queue.Conducted{ID: queue.ID(c.Entry), Kind: kind, Plan: c.Plan})
	}
	return list
}

// Bounds of the runs in the status, which clients ask for several times a second.
const (
	statusLive  = 50
	statusEnded = 10
)

// shownRuns leaves out the plans, and what is beyond a bound.
func shownRuns(runs []queue.Run, bound int) []queue.Run {
	runs = runs[:min(len(runs), bound)]
	for i := range runs {
		runs[i].Plan = nil
	}
	return runs
}

// request hands a request to the queue and returns its answer.
func (l *loop) request(e queue.Event) (a queue.Answer, err error) {
	var fatal error
	ok := l.do(func() {
		l.answered = queue.Answer{}
		l.stepQueue(e)
		a, fatal = l.answered, l.fatal
		if r, known := l.runs.Run(a.ID); a.Refusal == "" && known && r.Outcome == queue.Failed {
			a.Refusal = r.Reason // the machine refused it
		}
		if a.Busy {
			r, _ := l.runs.Run(a.ID)
			st := l.fleet.Status(r.Run)
			a.Refusal = fmt.Sprintf("run %s (%s) is not finished: step %d of %d", st.Run, st.Experiment, st.Step, st.Steps)
		}
	})
	switch {
	case !ok:
		return a, errEnding
	case fatal != nil:
		return a, unavailable(fatal)
	}
	return a, nil
}
