package serve

import (
	"net/http"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/internal/tracing"
	"github.com/ergoflow/ergoflow/internal/tracing/tracingtest"
	"github.com/ergoflow/ergoflow/internal/webserver/webservertest"
	"github.com/ergoflow/ergoflow/model/sampling/certificate"
)

// all are several collectors.
type all []prometheus.Collector

func (a all) Describe(to chan<- *prometheus.Desc) {
	for _, c := range a {
		c.Describe(to)
	}
}

func (a all) Collect(to chan<- prometheus.Metric) {
	for _, c := range a {
		c.Collect(to)
	}
}

// Every metric of a server is documented, and is on the page of its metrics.
func TestMetricsPage(t *testing.T) {
	models := newModels()
	model := &Model{Name: "vn1d", Version: "1", run: "abc"}
	models.all[key("vn1d", "1")] = &served{Model: model}
	m := newMetrics(newGate(1, 1), models)
	m.requests.WithLabelValues("POST /v1/sample", "200").Add(3)
	m.seconds.WithLabelValues("POST /v1/sample").Observe(0.003)
	m.reloads.WithLabelValues("ready").Inc()
	m.reloads.WithLabelValues("failed").Inc()
	var answers []Samples
	for _, v := range []certificate.Verdict{certificate.Good, certificate.Good, certificate.Care, certificate.Refused, certificate.NotJudged} {
		answers = append(answers, Samples{Certificate: certificate.Certificate{Verdict: v}})
	}
	m.sampled(model, answers, 100, Timing{Wait: 1, Read: 2, Sample: 3, Certify: 4, Repair: 5})
	webservertest.Page(t, all(m.own), "../..", "server", ergoflow.Build(), "VERSION")
}

// A server with a tracer records its requests.
func TestRequestsAreTraced(t *testing.T) {
	collector := tracingtest.Start(t)
	c := config()
	var err error
	if c.Tracer, err = tracing.Open(t.Context(), collector.URL, "ergoflow-server", c.Log); err != nil {
		t.Fatal(err)
	}
	s := New(c)
	t.Cleanup(s.models.close)
	if code, _, _ := ask(t, s, "/v1/sample", `{"function": 1}`); code != http.StatusServiceUnavailable {
		t.Errorf("status %d", code)
	}
	if err := c.Tracer.Close(); err != nil {
		t.Fatal(err)
	}
	spans := collector.Spans("POST /v1/sample")
	if len(spans) != 1 || spans[0].Text("http.route") != "POST /v1/sample" || spans[0].Service != "ergoflow-server" {
		t.Errorf("spans %v", spans)
	}
}
