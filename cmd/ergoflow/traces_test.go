package main

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/internal/tracing/tracingtest"
)

// The processes of a run send one trace: the run, in it the workers' generations and jobs, in a
// generation its steps, in a step its phases. A server sends its requests.
func TestTraces(t *testing.T) {
	c := tracingtest.Start(t)
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	args := slices.Concat([]string{"train"}, small, []string{"--local", "--dir", dir, "--workers", "2", "--set", "training.steps=150"})
	cmd, out := program(ctx, t, args...)
	cmd.Env = append(cmd.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, out, logs(dir))
	}
	runs := c.Spans("run")
	if len(runs) != 1 || runs[0].Service != "ergoflow-coordinator" || runs[0].Text("ergoflow.outcome") != "done" || runs[0].Text("ergoflow.experiment") != "vn1d/smoke" {
		t.Fatalf("runs %v\n%s", runs, logs(dir))
	}
	inside := func(name string, parents []tracingtest.Span, least int) []tracingtest.Span {
		t.Helper()
		spans := c.Spans(name)
		if len(spans) < least {
			t.Errorf("%d spans %s, want %d or more", len(spans), name, least)
		}
		for _, s := range spans {
			if !slices.ContainsFunc(parents, func(p tracingtest.Span) bool {
				return bytes.Equal(p.SpanId, s.ParentSpanId) && bytes.Equal(p.TraceId, s.TraceId)
			}) || s.Service != "ergoflow-worker" || s.EndTimeUnixNano < s.StartTimeUnixNano {
				t.Errorf("%s is in none of its parents: %v", name, s)
			}
		}
		return spans
	}
	inside("job", runs, 5)
	steps := inside("step", inside("generation", runs, 2), 3) // steps 0 and 100, of the ranks that made them
	for _, phase := range []string{"data", "gradient", "copy", "ring", "update"} {
		inside("step "+phase, steps, 3)
	}
}

func TestTracesFlag(t *testing.T) {
	cmd, out := program(t.Context(), t, "worker", "--join", "127.0.0.1:1", "--otlp", "nowhere")
	if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != exitUsage || !bytes.Contains(out.Bytes(), []byte(`--otlp: address of a collector: "nowhere" is not HOST:PORT`)) {
		t.Errorf("%v\n%s", err, out)
	}
}
