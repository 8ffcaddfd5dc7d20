// Package tracingtest is a collector of traces in the process of a test.
package tracingtest

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
)

// A Span is one that the collector got, with the name of its service.
type Span struct {
	*trace.Span
	Service string
}

// Text is an attribute.
func (s Span) Text(key string) string {
	for _, a := range s.Attributes {
		if a.GetKey() == key {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}

// Collector keeps what it gets.
type Collector struct {
	collector.UnimplementedTraceServiceServer
	URL string

	mu    sync.Mutex
	spans []Span
}

// Start starts a collector, which ends with the test.
func Start(t *testing.T) *Collector {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &Collector{URL: "http://" + l.Addr().String()}
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, c)
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return c
}

// Export implements collector.TraceServiceServer.
func (c *Collector) Export(_ context.Context, r *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range r.GetResourceSpans() {
		service := ""
		for _, a := range of.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				service = a.GetValue().GetStringValue()
			}
		}
		for _, s := range of.GetScopeSpans() {
			for _, span := range s.GetSpans() {
				c.spans = append(c.spans, Span{span, service})
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// Spans are those of a name that it has got.
func (c *Collector) Spans(name string) []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.spans), func(s Span) bool { return s.Name != name })
}

// Await waits for spans of a name.
func (c *Collector) Await(t *testing.T, name string) []Span {
	t.Helper()
	for begin := time.Now(); ; {
		if spans := c.Spans(name); len(spans) > 0 {
			return spans
		}
		if time.Since(begin) > time.Minute {
			t.Fatalf("no span %s", name)
		}
		<-time.After(10 * time.Millisecond) // another process sends them
	}
}
