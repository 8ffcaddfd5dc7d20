package worker

import (
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/internal/tracing"
)

// tracedSteps is how often a step is traced: every so many. A step takes milliseconds.
const tracedSteps = 100

// place is the span of this worker's part of the generation.
func (r *rank) place() tracing.Place {
	return tracing.OfGeneration(r.replica.Plan().Run, r.assign.Generation, r.session.w.id)
}

// traceGeneration records the span of a generation that has ended.
func (r *rank) traceGeneration(begin time.Time, err error) {
	w := r.session.w
	if w.tracer == nil || r.replica == nil {
		return
	}
	s := tracing.Span{
		Name: "generation", At: r.place(), Parent: tracing.OfRun(r.replica.Plan().Run), Begin: begin, End: time.Now(),
		Attributes: []attribute.KeyValue{
			attribute.String("ergoflow.worker", string(w.id)), attribute.Int64("ergoflow.generation", int64(r.assign.Generation)),
			attribute.Int("ergoflow.rank", r.assign.Rank), attribute.Int("ergoflow.members", len(r.assign.Members)),
		},
	}
	if err != nil {
		s.Failure = err.Error()
	}
	w.tracer.Record(s)
}

// traceStep records the span of the step that has just been made, if it is one of tracedSteps,
// with its phases inside.
func (r *rank) traceStep() {
	w := r.session.w
	if w.tracer == nil || r.update.Step%tracedSteps != 0 {
		return
	}
	end := time.Now()
	at := end.Add(-total(r.timing))
	step := tracing.Span{
		Name: "step", At: tracing.Inside(r.place()), Parent: r.place(), Begin: at, End: end,
		Attributes: []attribute.KeyValue{attribute.Int64("ergoflow.step", int64(r.update.Step)), attribute.Int("ergoflow.rank", r.assign.Rank)},
	}
	w.tracer.Record(step)
	for phase, seconds := range r.timing.Phases() {
		next := at.Add(time.Duration(seconds * float64(time.Second)))
		w.tracer.Record(tracing.Span{Name: "step " + phase, Parent: step.At, Begin: at, End: next})
		at = next
	}
}

// total is the time of a step, without what is between its phases.
func total(t message.Timing) time.Duration {
	sum := 0.0
	for _, seconds := range t.Phases() {
		sum += seconds
	}
	return time.Duration(sum * float64(time.Second))
}

// traceJob records the span of an attempt to make a shard.
func (w *worker) traceJob(run string, shard int, begin time.Time, outcome jobOutcome, err error) {
	if w.tracer == nil {
		return
	}
	s := tracing.Span{Name: "job", Parent: tracing.OfRun(run), Begin: begin, End: time.Now(), Attributes: []attribute.KeyValue{
		attribute.String("ergoflow.worker", string(w.id)), attribute.Int("ergoflow.shard", shard), attribute.String("ergoflow.outcome", string(outcome)),
	}}
	if err != nil {
		s.Failure = err.Error()
	}
	w.tracer.Record(s)
}
