package tracing_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.uber.org/goleak"

	"github.com/ergoflow/ergoflow/internal/tracing"
	"github.com/ergoflow/ergoflow/internal/tracing/tracingtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, endpoint string) *tracing.Tracer {
	t.Helper()
	tracer, err := tracing.Open(t.Context(), endpoint, "ergoflow-test", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return tracer
}

// Spans of a run are one tree, though two processes record them and neither tells the other of
// its ids.
func TestOneTrace(t *testing.T) {
	c := tracingtest.Start(t)
	begin := time.Unix(1_700_000_000, 0)
	coordinator, worker := open(t, c.URL), open(t, strings.TrimPrefix(c.URL, "http://"))
	generation := tracing.OfGeneration("abc", 3, "w")
	step := tracing.Inside(generation)
	worker.Record(tracing.Span{Name: "phase", Parent: step, Begin: begin, End: begin.Add(time.Millisecond)})
	worker.Record(tracing.Span{Name: "step", At: step, Parent: generation, Begin: begin, End: begin.Add(2 * time.Millisecond)})
	worker.Record(tracing.Span{Name: "generation", At: generation, Parent: tracing.OfRun("abc"), Begin: begin, End: begin.Add(time.Second), Failure: "the link broke"})
	coordinator.Record(tracing.Span{Name: "run", At: tracing.OfRun("abc"), Begin: begin, End: begin.Add(time.Minute), Attributes: []attribute.KeyValue{attribute.String("ergoflow.run", "abc")}})
	coordinator.Record(tracing.Span{Name: "run", At: tracing.OfRun("abd"), Begin: begin, End: begin.Add(time.Minute)})
	for _, tracer := range []*tracing.Tracer{worker, coordinator} {
		if err := tracer.Close(); err != nil {
			t.Fatal(err)
		}
	}
	runs := c.Spans("run")
	if len(runs) != 2 || len(runs[0].ParentSpanId) != 0 || bytes.Equal(runs[0].TraceId, runs[1].TraceId) || runs[0].Text("ergoflow.run") != "abc" || runs[0].Service != "ergoflow-test" {
		t.Fatalf("runs %v", runs)
	}
	parent := runs[0]
	for _, name := range []string{"generation", "step", "phase"} {
		spans := c.Spans(name)
		if len(spans) != 1 {
			t.Fatalf("%d spans %s", len(spans), name)
		}
		if s := spans[0]; !bytes.Equal(s.TraceId, parent.TraceId) || !bytes.Equal(s.ParentSpanId, parent.SpanId) {
			t.Errorf("%s is not inside %s", name, parent.Name)
		}
		parent = spans[0]
	}
	if s := c.Spans("generation")[0]; s.GetStatus().GetMessage() != "the link broke" || s.EndTimeUnixNano-s.StartTimeUnixNano != uint64(time.Second) || s.StartTimeUnixNano != uint64(begin.UnixNano()) {
		t.Errorf("the generation is %v", s)
	}
}

// A request is in its caller's trace; without a caller it has its own.
func TestRequest(t *testing.T) {
	c := tracingtest.Start(t)
	tracer := open(t, c.URL)
	r := httptest.NewRequest(http.MethodPost, "/v1/sample", nil)
	r.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	now := time.Now()
	tracer.Request(r, "POST /v1/sample", 503, now, now)
	r.Header.Set("Traceparent", "00-nonsense")
	tracer.Request(r, "POST /v1/sample", 422, now, now)
	if err := tracer.Close(); err != nil {
		t.Fatal(err)
	}
	spans := c.Spans("POST /v1/sample")
	if len(spans) != 2 || spans[0].TraceId[0] != 0x0a || spans[0].ParentSpanId[0] != 0xb7 || spans[0].GetStatus().GetMessage() != "Service Unavailable" {
		t.Errorf("spans %v", spans)
	}
	if len(spans[1].ParentSpanId) != 0 || spans[1].TraceId[0] == 0x0a && spans[1].TraceId[1] == 0xf7 || spans[1].GetStatus() != nil && spans[1].GetStatus().GetMessage() != "" {
		t.Errorf("without a caller: %v", spans[1])
	}
}

// Without a collector there is no tracer; what would be recorded costs nothing.
func TestOff(t *testing.T) {
	tracer := open(t, "")
	if tracer != nil {
		t.Fatal("there is a tracer")
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("OTEL_SDK_DISABLED", "true")
	if open(t, "") != nil {
		t.Error("there is a tracer, though the SDK is disabled")
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if n := testing.AllocsPerRun(100, func() {
		tracer.Record(tracing.Span{Name: "run"})
		tracer.Request(r, "/", 200, time.Time{}, time.Time{})
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
	if err := tracer.Close(); err != nil {
		t.Error(err)
	}
}

// The standard variable names a collector.
func TestEnvironment(t *testing.T) {
	c := tracingtest.Start(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	tracer := open(t, "")
	if tracer == nil {
		t.Fatal("there is no tracer")
	}
	tracer.Record(tracing.Span{Name: "run", At: tracing.OfRun("abc")})
	if err := tracer.Close(); err != nil || len(c.Spans("run")) != 1 {
		t.Errorf("%d spans, %v", len(c.Spans("run")), err)
	}
}

func TestEndpoints(t *testing.T) {
	for _, endpoint := range []string{"localhost", ":4317", "ftp://a:1", "http://", "a b", "http://%zz"} {
		if _, err := tracing.Open(t.Context(), endpoint, "x", slog.Default()); !errors.Is(err, tracing.ErrEndpoint) {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
	for _, endpoint := range []string{"localhost:4317", "127.0.0.1:4317", "[::1]:4317", "collector.example:4317", "https://collector.example:4317/"} {
		tracer, err := tracing.Open(t.Context(), endpoint, "x", slog.New(slog.DiscardHandler))
		if err != nil {
			t.Errorf("%s: %v", endpoint, err)
			continue
		}
		if err := tracer.Close(); err != nil {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
}

// A collector that is away holds nothing up but the end, and that for two seconds at most.
func TestCollectorIsAway(t *testing.T) {
	var log bytes.Buffer
	tracer, err := tracing.Open(t.Context(), "127.0.0.1:1", "x", slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	for range 10_000 {
		tracer.Record(tracing.Span{Name: "run"})
	}
	if err := tracer.Close(); err == nil {
		t.Error("the spans are said to have arrived")
	}
}
