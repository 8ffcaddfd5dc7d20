package tracing

import (
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Request records an answered request of HTTP: in the caller's trace, if the request has the
// header traceparent of W3C.
func (t *Tracer) Request(r *http.Request, route string, status int, begin, end time.Time) {
	if t == nil {
		return
	}
	s := Span{Name: route, Begin: begin, End: end, Attributes: []attribute.KeyValue{
		attribute.String("http.request.method", r.Method), attribute.String("http.route", route), attribute.Int("http.response.status_code", status),
	}}
	if status >= 500 { // a server's span fails by its own fault alone
		s.Failure = http.StatusText(status)
	}
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	t.record(ctx, s, trace.WithSpanKind(trace.SpanKindServer))
}
