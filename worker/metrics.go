package worker

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/internal/webserver"
)

// snapshot is what the metrics of one scrape are made of.
type snapshot struct {
	reading
	id      ergoflow.WorkerID
	device  string
	engine  string
	run     string // hash; empty: none is prepared
	step    ergoflow.Step
	shards  int
	session bool // with the coordinator
}

func (w *worker) measure() snapshot {
	s := snapshot{reading: w.meter.read(), id: w.id, device: w.backend.Name, engine: fmt.Sprint(w.simulator), session: w.current.Load() != nil}
	if r := w.replica.Load(); r != nil {
		mark, _ := r.Mark()
		s.run, s.step, s.shards = r.Plan().Run, mark.Step, r.Plan().Shards
	}
	return s
}

// collector makes the metrics at every scrape from a snapshot, so that the series of workers that
// are gone vanish. The names begin with ergoflow_self_: what the coordinator says of its workers
// begins with ergoflow_worker_, and one may have both in one Prometheus.
type collector struct {
	measure func() snapshot
	descs   map[string]*prometheus.Desc
}

// described are the metrics: name, labels, help.
var described = []struct {
	name   string
	labels []string
	help   string
}{
	{"ergoflow_build_info", []string{"version"}, "The version of the process. Always 1."},
	{"ergoflow_self_info", []string{"worker", "device", "engine"}, "This worker. Always 1."},
	{"ergoflow_self_run_info", []string{"hash"}, "The run for which this worker is prepared. Always 1."},
	{"ergoflow_self_session", nil, "Whether the worker has a session with the coordinator."},
	{"ergoflow_self_step", nil, "Step of the worker's training state."},
	{"ergoflow_self_generation", nil, "The last generation that the worker has joined."},
	{"ergoflow_self_rank", nil, "Rank of the worker in the generation; -1: it is in none."},
	{"ergoflow_self_shards", nil, "Shards that the worker has mapped."},
	{"ergoflow_self_steps_total", nil, "Steps that the worker has made."},
	{"ergoflow_self_step_seconds_total", []string{"phase"}, "Time of the worker's steps by phase; ring includes the wait for slower ranks."},
	{"ergoflow_self_link_bytes_total", []string{"peer", "direction"}, "Bytes of numbers that the worker has exchanged with another of its generation."},
	{"ergoflow_self_broken_generations_total", nil, "Generations that broke for this worker, whose step was computed again."},
	{"ergoflow_self_fetched_states_total", []string{"source"}, "Training states that the worker has fetched, by source: peer or checkpoint."},
	{"ergoflow_self_jobs_total", []string{"outcome"}, "Jobs for shards that the worker has attempted, by outcome: made, failed, postponed or stopped."},
	{"ergoflow_self_checkpoint_uploads_total", []string{"outcome"}, "Checkpoints that the worker has uploaded, by outcome: saved, failed or skipped."},
	{"ergoflow_self_checkpoint_upload_seconds_total", nil, "Time of the uploads of checkpoints."},
	{"ergoflow_self_refusals_total", nil, "Connections and streams that the worker has refused."},
}

func newCollector(measure func() snapshot) *collector {
	c := &collector{measure: measure, descs: make(map[string]*prometheus.Desc)}
	for _, d := range described {
		c.descs[d.name] = prometheus.NewDesc(d.name, d.help, d.labels, nil)
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	s := c.measure()
	send := func(kind prometheus.ValueType, name string, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(c.descs["ergoflow_"+name], kind, value, labels...)
	}
	gauge := func(name string, value float64, labels ...string) {
		send(prometheus.GaugeValue, name, value, labels...)
	}
	total := func(name string, value float64, labels ...string) {
		send(prometheus.CounterValue, name, value, labels...)
	}
	gauge("build_info", 1, ergoflow.Build())
	gauge("self_info", 1, string(s.id), s.device, s.engine)
	if s.run != "" {
		gauge("self_run_info", 1, s.run)
	}
	session := 0.0
	if s.session {
		session = 1
	}
	gauge("self_session", session)
	gauge("self_step", float64(s.step))
	gauge("self_generation", float64(s.generation))
	gauge("self_rank", float64(s.rank))
	gauge("self_shards", float64(s.shards))
	total("self_steps_total", float64(s.steps))
	for _, part := range []struct {
		phase   string
		seconds float64
	}{
		{"data", s.phases.Data}, {"gradient", s.phases.Gradient}, {"copy", s.phases.Copy},
		{"ring", s.phases.Ring}, {"update", s.phases.Update}, {"other", s.phases.Other},
	} {
		total("self_step_seconds_total", part.seconds, part.phase)
	}
	for peer, t := range s.links {
		total("self_link_bytes_total", float64(t.sent), string(peer), "sent")
		total("self_link_bytes_total", float64(t.received), string(peer), "received")
	}
	total("self_broken_generations_total", float64(s.broken))
	for source, name := range map[message.SourceKind]string{message.SourcePeer: "peer", message.SourceCheckpoint: "checkpoint"} {
		total("self_fetched_states_total", float64(s.fetched[source]), name)
	}
	for _, outcome := range []jobOutcome{jobMade, jobFailed, jobPostponed, jobStopped} {
		total("self_jobs_total", float64(s.jobs[outcome]), string(outcome))
	}
	for _, outcome := range []uploadOutcome{uploadSaved, uploadFailed, uploadSkipped} {
		total("self_checkpoint_uploads_total", float64(s.uploads[outcome]), string(outcome))
	}
	total("self_checkpoint_upload_seconds_total", s.upload)
	total("self_refusals_total", float64(s.refusals))
}

// serveHTTP answers GET /metrics and /healthz until ctx ends. A worker without a coordinator is
// healthy: it has the training state, and looks for one.
func (w *worker) serveHTTP(ctx context.Context, listener net.Listener) error {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", webserver.Metrics(newCollector(w.measure)))
	mux.HandleFunc("GET /healthz", func(answer http.ResponseWriter, _ *http.Request) { fmt.Fprintln(answer, "ok") })
	return webserver.Serve(ctx, listener, mux, w.log)
}
