package flight

import (
	"bytes"
	"fmt"
	"runtime/trace"
	"sync"
	"time"
)

// Bounds of the execution trace: the last seconds, in memory.
const (
	traceAge   = 5 * time.Second
	traceBytes = 4 << 20
	// maxTrace bounds the file: the runtime keeps up to two generations of its trace.
	maxTrace = 16 << 20
)

// A trace costs about 0.05 ms of every step (docs/decisions/flight-recorder.md). So that this is
// less than a hundredth, none is kept where steps take less than leastStep; where they get
// slower again, from anewStep on.
const (
	leastStep = 10 * time.Millisecond
	anewStep  = 15 * time.Millisecond
	// steadySteps is how many steps are averaged before a change.
	steadySteps = 64
)

// A Tracer keeps Go's execution trace of the last seconds, where steps take long enough for that.
// A nil *Tracer keeps none.
type Tracer struct {
	mu       sync.Mutex
	recorder *trace.FlightRecorder // nil: none is kept now
	step     float64               // seconds of a step, averaged
	steps    int                   // since the last change
}

// NewTracer begins to keep the trace. A process has one tracer at most.
func NewTracer() (*Tracer, error) {
	t := &Tracer{}
	return t, t.start()
}

func (t *Tracer) start() error {
	recorder := trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: traceAge, MaxBytes: traceBytes})
	if err := recorder.Start(); err != nil {
		return fmt.Errorf("keep an execution trace: %w", err)
	}
	t.recorder = recorder
	return nil
}

// pace tells how long a step took. It does not wait while the trace is being written.
func (t *Tracer) pace(seconds float64) {
	if t == nil || !t.mu.TryLock() {
		return
	}
	defer t.mu.Unlock()
	t.step += (seconds - t.step) / float64(min(t.steps+1, steadySteps))
	if t.steps++; t.steps < steadySteps {
		return
	}
	switch {
	case t.recorder != nil && t.step < leastStep.Seconds():
		t.recorder.Stop()
		t.recorder = nil
	case t.recorder == nil && t.step > anewStep.Seconds():
		if t.start() != nil {
			return // another trace is taken: later
		}
	default:
		return
	}
	t.steps = 0
}

// Stop ends the trace.
func (t *Tracer) Stop() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.recorder != nil {
		t.recorder.Stop()
		t.recorder = nil
	}
}

// limited is a buffer of at most maxTrace bytes.
type limited struct{ bytes.Buffer }

func (l *limited) Write(b []byte) (int, error) {
	if l.Len()+len(b) > maxTrace {
		return 0, fmt.Errorf("the trace has more than %d bytes", maxTrace)
	}
	return l.Buffer.Write(b)
}

// Bytes is the trace of the last seconds, for `go tool trace`; nil where none is kept.
func (t *Tracer) Bytes() ([]byte, error) {
	if t == nil {
		return nil, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.recorder == nil {
		return nil, nil
	}
	var out limited
	if _, err := t.recorder.WriteTo(&out); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
