package serve

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ergoflow/ergoflow"
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
