// Package tracing sends spans of what processes do to a collector of OpenTelemetry: runs,
// generations, some steps, jobs for shards, requests. It is off unless somebody names a collector;
// a nil Tracer is one that is off, and costs a comparison.
//
// The spans of a run are one trace, whatever process they come from. Their ids follow from the
// run's hash, so that no message between the processes has to carry them.
package tracing

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/internal/hostport"
)

// ErrEndpoint means that a text is no address of a collector.
var ErrEndpoint = errors.New("address of a collector")

// parting bounds how long a process that ends waits for the collector to take its last spans.
const parting = 2 * time.Second

// A Tracer records spans. Its methods may be called concurrently, and on nil.
type Tracer struct {
	provider *sdktrace.TracerProvider
	exporter sdktrace.SpanExporter
	tracer   trace.Tracer
}

// Open makes a tracer of a service, such as "ergoflow-worker". The endpoint is the collector's:
// host:port or a URL, for OTLP over gRPC; without a scheme it is plain text on loopback and TLS
// elsewhere. Where it is empty the standard variables OTEL_EXPORTER_OTLP_… count; without them
// the tracer is nil. That a collector does not answer is no error: its spans are lost, and log
// says so.
func Open(ctx context.Context, endpoint, service string, log *slog.Logger) (*Tracer, error) {
	var options []otlptracegrpc.Option
	if endpoint != "" {
		u, err := endpointURL(endpoint)
		if err != nil {
			return nil, err
		}
		options = append(options, otlptracegrpc.WithEndpointURL(u))
	} else if !asked() {
		return nil, nil //nolint:nilnil // a nil Tracer is one that is off
	}
	exporter, err := otlptracegrpc.New(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("collector of traces: %w", err)
	}
	otel.SetErrorHandler(newOnce(log))
	host, _ := os.Hostname()
	about := resource.NewSchemaless(attribute.String("service.name", service), attribute.String("service.version", ergoflow.Build()),
		attribute.String("service.instance.id", fmt.Sprintf("%s-%d", host, os.Getpid())))
	about, err = resource.Merge(about, resource.Environment()) // OTEL_RESOURCE_ATTRIBUTES
	if err != nil {
		return nil, errors.Join(fmt.Errorf("description of the process for traces: %w", err), exporter.Shutdown(ctx))
	}
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithIDGenerator(ids{}), sdktrace.WithResource(about))
	return &Tracer{p, exporter, p.Tracer("github.com/ergoflow/ergoflow")}, nil
}

// asked reports whether the environment names a collector.
func asked() bool {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

func endpointURL(endpoint string) (string, error) {
	if strings.Contains(endpoint, "://") {
		u, err := url.Parse(endpoint)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return "", fmt.Errorf("%w: %.200q is not http://HOST:PORT or https://HOST:PORT", ErrEndpoint, endpoint)
		}
		return endpoint, nil
	}
	host, port, err := net.SplitHostPort(endpoint)
	if err != nil || host == "" || port == "" {
		return "", fmt.Errorf("%w: %.200q is not HOST:PORT", ErrEndpoint, endpoint)
	}
	if hostport.IsLoopback(endpoint) {
		return "http://" + endpoint, nil
	}
	return "https://" + endpoint, nil
}

// Close sends the last spans.
func (t *Tracer) Close() error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), parting)
	defer cancel()
	err := t.provider.Shutdown(ctx)
	if err != nil { // the exporter would try on; a context that has ended makes it stop
		_ = t.exporter.Shutdown(ctx)
	}
	return err
}

// A Place is a span in its trace. The zero value is none.
type Place struct {
	trace trace.TraceID
	span  trace.SpanID
}

// OfRun is the span of a run, the root of its trace.
func OfRun(run string) Place {
	p := Place{trace: trace.TraceID(digest("run", run)[:16])}
	p.span = trace.SpanID(digest("span of a run", run)[:8])
	return p
}

// OfGeneration is the span of a worker's part of a generation.
func OfGeneration(run string, g ergoflow.Generation, worker ergoflow.WorkerID) Place {
	return Place{OfRun(run).trace, trace.SpanID(digest("generation", fmt.Sprint(run, " ", g, " ", worker))[:8])}
}

func digest(kind, name string) []byte {
	sum := sha256.Sum256([]byte("ergoflow " + kind + " " + name))
	return sum[:]
}

// Inside is a span of its own in the trace of another.
func Inside(parent Place) Place {
	return Place{parent.trace, ids{}.NewSpanID(context.Background(), parent.trace)}
}

// A Span is something that has happened.
type Span struct {
	Name       string
	At, Parent Place // zero: a place of its own; a root
	Begin, End time.Time
	Failure    string // empty: it went well
	Attributes []attribute.KeyValue
}

// Record records a span.
func (t *Tracer) Record(s Span) {
	if t == nil {
		return
	}
	ctx := context.WithValue(context.Background(), wanted{}, s.At)
	if s.Parent != (Place{}) {
		ctx = trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: s.Parent.trace, SpanID: s.Parent.span, TraceFlags: trace.FlagsSampled, Remote: true,
		}))
	}
	t.record(ctx, s)
}

func (t *Tracer) record(ctx context.Context, s Span, more ...trace.SpanStartOption) {
	_, span := t.tracer.Start(ctx, s.Name, append(more, trace.WithTimestamp(s.Begin), trace.WithAttributes(s.Attributes...))...)
	if s.Failure != "" {
		span.SetStatus(codes.Error, s.Failure)
	}
	span.End(trace.WithTimestamp(s.End))
}

// ids gives spans the ids that Record wants, and others random ones.
type ids struct{}

// wanted is the key of the Place of a span in the context of its start.
type wanted struct{}

// NewIDs implements sdktrace.IDGenerator.
func (g ids) NewIDs(ctx context.Context) (t trace.TraceID, s trace.SpanID) {
	if p, ok := ctx.Value(wanted{}).(Place); ok && p != (Place{}) {
		return p.trace, p.span
	}
	_, _ = rand.Read(t[:]) // never fails
	return t, g.NewSpanID(context.Background(), t)
}

// NewSpanID implements sdktrace.IDGenerator.
func (ids) NewSpanID(ctx context.Context, _ trace.TraceID) (s trace.SpanID) {
	if p, ok := ctx.Value(wanted{}).(Place); ok && p != (Place{}) {
		return p.span
	}
	_, _ = rand.Read(s[:])
	return s
}
