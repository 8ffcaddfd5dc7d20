package flight

import (
	"bytes"
	"fmt"
	"runtime/trace"
	"time"
)

// Bounds of the execution trace: the last seconds, in memory.
const (
	traceAge   = 5 * time.Second
	traceBytes = 4 << 20
	// maxTrace bounds the file: the runtime keeps up to two generations of its trace.
	maxTrace = 16 << 20
)

// A Tracer keeps Go's execution trace of the last seconds. Nil keeps none.
type Tracer struct{ recorder *trace.FlightRecorder }

// Trace begins to keep the trace. A process has one tracer at most.
func Trace() (*Tracer, error) {
	t := &Tracer{trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: traceAge, MaxBytes: traceBytes})}
	if err := t.recorder.Start(); err != nil {
		return nil, fmt.Errorf("keep an execution trace: %w", err)
	}
	return t, nil
}

// Stop ends it.
func (t *Tracer) Stop() {
	if t != nil {
		t.recorder.Stop()
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
	var out limited
	if _, err := t.recorder.WriteTo(&out); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
