package worker

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/internal/metrics"
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

// described are the metrics. Their names begin with ergoflow_self_: what the coordinator says of
// its workers begins with ergoflow_worker_, and one may have both in one Prometheus.
var described = metrics.Table{
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

func newCollector(measure func() snapshot) *metrics.Collector {
	return metrics.New(described, func(to metrics.Writer) { measure().collect(to) })
}

// collect gives the metrics of a snapshot.
func (s snapshot) collect(to metrics.Writer) {
	to.Gauge("ergoflow_build_info", 1, ergoflow.Build())
	to.Gauge("ergoflow_self_info", 1, string(s.id), s.device, s.engine)
	if s.run != "" {
		to.Gauge("ergoflow_self_run_info", 1, s.run)
	}
	to.Bool("ergoflow_self_session", s.session)
	to.Gauge("ergoflow_self_step", float64(s.step))
	to.Gauge("ergoflow_self_generation", float64(s.generation))
	to.Gauge("ergoflow_self_rank", float64(s.rank))
	to.Gauge("ergoflow_self_shards", float64(s.shards))
	to.Total("ergoflow_self_steps_total", float64(s.steps))
	for phase, seconds := range s.phases.Phases() {
		to.Total("ergoflow_self_step_seconds_total", seconds, phase)
	}
	to.Total("ergoflow_self_step_seconds_total", s.phases.Other, "other")
	for peer, t := range s.links {
		to.Total("ergoflow_self_link_bytes_total", float64(t.sent), string(peer), "sent")
		to.Total("ergoflow_self_link_bytes_total", float64(t.received), string(peer), "received")
	}
	to.Total("ergoflow_self_broken_generations_total", float64(s.broken))
	for source, name := range map[message.SourceKind]string{message.SourcePeer: "peer", message.SourceCheckpoint: "checkpoint"} {
		to.Total("ergoflow_self_fetched_states_total", float64(s.fetched[source]), name)
	}
	for _, outcome := range []jobOutcome{jobMade, jobFailed, jobPostponed, jobStopped} {
		to.Total("ergoflow_self_jobs_total", float64(s.jobs[outcome]), string(outcome))
	}
	for _, outcome := range []uploadOutcome{uploadSaved, uploadFailed, uploadSkipped} {
		to.Total("ergoflow_self_checkpoint_uploads_total", float64(s.uploads[outcome]), string(outcome))
	}
	to.Total("ergoflow_self_checkpoint_upload_seconds_total", s.upload)
	to.Total("ergoflow_self_refusals_total", float64(s.refusals))
}

// serveHTTP answers GET /metrics and /healthz until ctx ends. A worker without a coordinator is
// healthy: it has the training state, and looks for one.
func (w *worker) serveHTTP(ctx context.Context, listener net.Listener) error {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", webserver.Metrics(newCollector(w.measure)))
	mux.HandleFunc("GET /healthz", func(answer http.ResponseWriter, _ *http.Request) { fmt.Fprintln(answer, "ok") })
	return webserver.Serve(ctx, listener, mux, w.log)
}
