package serve

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/internal/tracing"
)

// metrics of a server. Labels are bounded: routes are those of the API, names those of models.
type metrics struct {
	registry  *prometheus.Registry
	requests  *prometheus.CounterVec
	seconds   *prometheus.HistogramVec
	equations *prometheus.CounterVec
	samples   *prometheus.CounterVec
	verdicts  *prometheus.CounterVec
	parts     *prometheus.CounterVec
	reloads   *prometheus.CounterVec
	tracer    *tracing.Tracer
	own       []prometheus.Collector // all but those of the process
}

func newMetrics(g *gate, models *models) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ergoflow_requests_total", Help: "Requests answered, by route and status."}, []string{"route", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "ergoflow_request_duration_seconds", Help: "Time until a request's answer was written.",
			Buckets: []float64{.0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30}}, []string{"route"}),
		equations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ergoflow_sampled_equations_total", Help: "Equations sampled, by model."}, []string{"model"}),
		samples: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ergoflow_samples_total", Help: "Samples drawn, by model."}, []string{"model"}),
		verdicts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ergoflow_verdicts_total", Help: "Certificates of samples, by model and verdict."}, []string{"model", "verdict"}),
		parts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ergoflow_sampling_seconds_total", Help: "Time of requests for samples by part: wait, read, sample, certify, repair."}, []string{"model", "part"}),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ergoflow_model_loads_total", Help: "Models loaded, by outcome."}, []string{"outcome"}),
	}
	waiting := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "ergoflow_requests_waiting", Help: "Requests that wait for room."}, func() float64 { return float64(g.waiting.Load()) })
	loaded := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "ergoflow_models", Help: "Models that are served."}, func() float64 { return float64(len(models.list())) })
	m.own = []prometheus.Collector{m.requests, m.seconds, m.equations, m.samples, m.verdicts, m.parts, m.reloads, waiting, loaded, inUse{models}}
	m.registry.MustRegister(append(m.own, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))...)
	return m
}

// sampled counts a request that has been answered.
func (m *metrics) sampled(model *Model, answers []Samples, n int, t Timing) {
	m.equations.WithLabelValues(model.Name).Add(float64(len(answers)))
	m.samples.WithLabelValues(model.Name).Add(float64(len(answers) * n))
	for _, a := range answers {
		m.verdicts.WithLabelValues(model.Name, string(a.Certificate.Verdict)).Inc()
	}
	for _, part := range []struct {
		name         string
		milliseconds float64
	}{{"wait", t.Wait}, {"read", t.Read}, {"sample", t.Sample}, {"certify", t.Certify}, {"repair", t.Repair}} {
		m.parts.WithLabelValues(model.Name, part.name).Add(part.milliseconds / 1000)
	}
}

// inUse says which versions are served, as of each scrape: those of removed models vanish.
type inUse struct{ models *models }

var (
	modelInfo = prometheus.NewDesc("ergoflow_model_info", "A version of a model that is served, and its run. Always 1.", []string{"model", "version", "run"}, nil)
	buildInfo = prometheus.NewDesc("ergoflow_build_info", "The version of the process. Always 1.", []string{"version"}, nil)
)

// Describe implements prometheus.Collector.
func (inUse) Describe(to chan<- *prometheus.Desc) { to <- modelInfo; to <- buildInfo }

// Collect implements prometheus.Collector.
func (s inUse) Collect(to chan<- prometheus.Metric) {
	to <- prometheus.MustNewConstMetric(buildInfo, prometheus.GaugeValue, 1, ergoflow.Build())
	for _, m := range s.models.list() {
		to <- prometheus.MustNewConstMetric(modelInfo, prometheus.GaugeValue, 1, m.Name, m.Version, m.run)
	}
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// observe counts the requests of a mux by the pattern that they matched.
func (m *metrics) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		recorded := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(recorded, r)
		route := r.Pattern
		if route == "" {
			route = "other"
		}
		m.requests.WithLabelValues(route, strconv.Itoa(recorded.status)).Inc()
		end := time.Now()
		m.seconds.WithLabelValues(route).Observe(end.Sub(begin).Seconds())
		m.tracer.Request(r, route, recorded.status, begin, end)
	})
}

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Flush implements http.Flusher, which gRPC needs.
func (w *statusWriter) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
