package coordinator

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/coordinator/dashboard"
	"github.com/ergoflow/ergoflow/coordinator/fleet"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/data/jobs"
	"github.com/ergoflow/ergoflow/internal/metrics"
)

// snapshot is what the metrics of one scrape are made of.
type snapshot struct {
	runs      []measuredRun // under way
	waiting   int
	schedules []queue.ScheduleStatus
	refusals  int
	models    []dashboard.Model // of the registry, if the coordinator has one
	tally     tally
	expires   time.Time // of the coordinator's certificate; zero: plain text
	standing  standing
	archive   *Archive // of checkpoints; nil: none
}

// measuredRun is a run under way.
type measuredRun struct {
	fleet.RunStatus
	status machine.Status
	saved  *checkpoint.Info // the newest; nil: it has none
	jobs   *jobs.Depth      // nil: the run has none, or the server of the queue does not say
}

// Bounds of what a scrape waits for.
const (
	depthWait    = 500 * time.Millisecond // the server of the job queue
	registryWait = 500 * time.Millisecond // the registry's disk
)

// measure takes a snapshot. It is for any goroutine.
func (l *loop) measure() (s snapshot, ok bool) {
	ok = l.do(func() {
		for _, r := range l.fleet.UnderWay() {
			s.runs = append(s.runs, measuredRun{RunStatus: r, status: l.fleet.Status(r.Run)})
		}
		s.waiting, s.schedules, s.refusals = l.runs.Waiting(), l.runs.Schedules(1), l.refused.count
	})
	s.tally, s.standing = l.tallies.read(), l.standing()
	l.measureJobs(s.runs)
	s.models = l.measureModels()
	s.archive = l.archiving.status()
	if l.security != nil {
		s.expires = l.security.own.Certificate().NotAfter
	}
	for i := range s.runs { // a transaction on the disk, which the loop does not wait for
		infos, err := l.saved.Run(s.runs[i].Run)
		if err != nil {
			l.log.Warn("cannot read the checkpoints for the metrics", "error", err)
			continue
		}
		for _, info := range infos {
			if best := s.runs[i].saved; best == nil || info.Mark().Compare(best.Mark()) > 0 {
				s.runs[i].saved = &info
			}
		}
	}
	return s, ok
}

// measureJobs asks for the jobs of the runs that generate shards, of all at once.
func (l *loop) measureJobs(runs []measuredRun) {
	ctx, cancel := context.WithTimeout(l.ctx, depthWait)
	defer cancel()
	var asking sync.WaitGroup
	for i := range runs {
		if runs[i].State != machine.StateGenerating {
			continue
		}
		asking.Go(func() {
			if depth, err := l.queue.Depth(ctx, runs[i].Run); err == nil {
				runs[i].jobs = &depth
			}
		})
	}
	asking.Wait()
}

// measureModels reads the registry; nil: there is none, or it does not answer.
func (l *loop) measureModels() []dashboard.Model {
	if l.models == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(l.ctx, registryWait)
	defer cancel()
	models, err := l.models.List(ctx)
	if err != nil {
		l.log.Warn("cannot read the registry for the metrics", "error", err)
	}
	return models
}

// described are the metrics. The label run is the run's number in the queue.
var described = metrics.Table{
	{"ergoflow_build_info", []string{"version"}, "The version of the process. Always 1."},
	{"ergoflow_run_info", []string{"run", "hash", "experiment", "state"}, "A run under way. Always 1."},
	{"ergoflow_run_step", []string{"run"}, "The most advanced step that is known."},
	{"ergoflow_run_steps", []string{"run"}, "The step at which the run ends."},
	{"ergoflow_run_loss", []string{"run"}, "Loss of the last step."},
	{"ergoflow_run_samples_per_second", []string{"run"}, "Samples that the run learns from in a second."},
	{"ergoflow_run_time_seconds_total", []string{"run", "cause"}, "Time of the run by cause: useful, or what it was lost to."},
	{"ergoflow_run_generation", []string{"run"}, "Number of the last generation."},
	{"ergoflow_run_generations_ended_total", []string{"run", "reason"}, "Generations that have ended, by the kind of reason."},
	{"ergoflow_run_members", []string{"run"}, "Workers in the generation."},
	{"ergoflow_run_cut_links", []string{"run"}, "Links between workers that carry nothing."},
	{"ergoflow_run_shards", []string{"run"}, "Shards of the run, the held-out one included."},
	{"ergoflow_run_shards_present", []string{"run"}, "Shards that exist."},
	{"ergoflow_run_jobs", []string{"run", "state"}, "Jobs for shards in the queue, by state: waiting, out (a worker has it) or again (of these, handed out before)."},
	{"ergoflow_run_checkpoint_step", []string{"run"}, "Step of the newest checkpoint."},
	{"ergoflow_run_checkpoint_timestamp_seconds", []string{"run"}, "When the newest checkpoint was stored, in Unix time."},
	{"ergoflow_run_checkpoint_bytes", []string{"run"}, "Size of the newest checkpoint."},
	{"ergoflow_run_room_missing_bytes", []string{"run"}, "Room that a checkpoint lacks on the disk; 0: none."},
	{"ergoflow_worker_info", []string{"run", "worker", "device", "state"}, "A connected worker. Always 1."},
	{"ergoflow_worker_rank", []string{"run", "worker"}, "Rank of a worker in the generation; -1: it is in none."},
	{"ergoflow_worker_shards", []string{"run", "worker"}, "Shards that the worker computes."},
	{"ergoflow_worker_slow", []string{"run", "worker"}, "Whether the worker is a straggler."},
	{"ergoflow_worker_phase_seconds", []string{"run", "worker", "phase"}, "Time of a part of the worker's step, median of its last 15 steps."},
	{"ergoflow_queue_runs_waiting", nil, "Runs that wait in the queue."},
	{"ergoflow_schedule_paused", []string{"schedule"}, "Whether a schedule is paused."},
	{"ergoflow_schedule_failures", []string{"schedule"}, "Failures of a schedule in a row."},
	{"ergoflow_schedule_next_timestamp_seconds", []string{"schedule"}, "When the schedule starts its next run, in Unix time."},
	{"ergoflow_schedule_done_timestamp_seconds", []string{"schedule"}, "When a run of the schedule last ended well, in Unix time."},
	{"ergoflow_job_failures_total", []string{"outcome"}, "Attempts at jobs for shards that failed, by outcome: again (the queue hands the job out again) or dead (it failed for good)."},
	{"ergoflow_checkpoint_writes_total", []string{"outcome"}, "Checkpoints that have arrived, by outcome: stored or failed."},
	{"ergoflow_checkpoint_write_seconds_total", nil, "Time in which checkpoints were written to the disk."},
	{"ergoflow_checkpoint_copy_problem", nil, "Whether the copying of checkpoints into the bucket of the shards fails."},
	{"ergoflow_checkpoint_copy_timestamp_seconds", nil, "When a checkpoint was last copied there, in Unix time."},
	{"ergoflow_registry_champion_version", []string{"model"}, "Version of a model of --registry that is its champion; 0: none."},
	{"ergoflow_registry_versions", []string{"model"}, "Versions of a model of --registry."},
	{"ergoflow_coordinator_leads", nil, "Whether this coordinator leads, as the only one always does."},
	{"ergoflow_coordinator_term", nil, "Term of the consensus as this coordinator knows it; 0: it is the only one."},
	{"ergoflow_coordinator_entries", nil, "Index of the last entry of the consensus in this coordinator's ledger; 0: it is the only one."},
	{"ergoflow_coordinator_silent_others", nil, "Other coordinators that do not answer this one."},
	{"ergoflow_refusals_total", nil, "Connections, messages and requests that the coordinator has refused."},
	{"ergoflow_certificate_expiry_timestamp_seconds", nil, "When the coordinator's certificate ends, in Unix time."},
}

func newCollector(measure func() (snapshot, bool)) *metrics.Collector {
	return metrics.New(described, func(to metrics.Writer) {
		if s, ok := measure(); ok { // else the coordinator ends
			s.collect(to)
		}
	})
}

// collect gives the metrics of a snapshot.
func (s snapshot) collect(to metrics.Writer) {
	s.standing.collect(to)
	for _, r := range s.runs {
		r.collect(to)
	}
	to.Gauge("ergoflow_queue_runs_waiting", float64(s.waiting))
	for _, d := range s.schedules {
		to.Bool("ergoflow_schedule_paused", d.Paused, d.Name)
		to.Gauge("ergoflow_schedule_failures", float64(d.Failures), d.Name)
		if len(d.Next) > 0 {
			to.Time("ergoflow_schedule_next_timestamp_seconds", d.Next[0], d.Name)
		}
		to.Time("ergoflow_schedule_done_timestamp_seconds", d.LastDone, d.Name)
	}
	to.Total("ergoflow_job_failures_total", float64(s.tally.jobsAgain), "again")
	to.Total("ergoflow_job_failures_total", float64(s.tally.jobsDead), "dead")
	to.Total("ergoflow_checkpoint_writes_total", float64(s.tally.written), "stored")
	to.Total("ergoflow_checkpoint_writes_total", float64(s.tally.notWritten), "failed")
	to.Total("ergoflow_checkpoint_write_seconds_total", s.tally.writing)
	if a := s.archive; a != nil {
		to.Bool("ergoflow_checkpoint_copy_problem", a.Problem != "")
		to.Time("ergoflow_checkpoint_copy_timestamp_seconds", a.Time)
	}
	for _, m := range s.models {
		to.Gauge("ergoflow_registry_champion_version", float64(m.Champion), m.Name)
		to.Gauge("ergoflow_registry_versions", float64(len(m.Versions)+m.More), m.Name)
	}
	to.Total("ergoflow_refusals_total", float64(s.refusals))
	to.Time("ergoflow_certificate_expiry_timestamp_seconds", s.expires)
}

// collect gives the metrics of one run.
func (r measuredRun) collect(to metrics.Writer) {
	run, s := strconv.FormatUint(r.Entry, 10), r.status
	to.Gauge("ergoflow_run_info", 1, run, r.Run, r.Experiment, s.State)
	to.Gauge("ergoflow_run_step", float64(s.Step), run)
	to.Gauge("ergoflow_run_steps", float64(s.Steps), run)
	if s.Loss != nil {
		to.Gauge("ergoflow_run_loss", *s.Loss, run)
	}
	to.Gauge("ergoflow_run_samples_per_second", s.SamplesPerSecond, run)
	if g := s.Goodput; g != nil {
		to.Total("ergoflow_run_time_seconds_total", g.Useful, run, string(machine.Useful))
		for _, l := range g.Lost {
			to.Total("ergoflow_run_time_seconds_total", l.Seconds, run, string(l.Cause))
		}
	}
	to.Gauge("ergoflow_run_generation", float64(s.Generation), run)
	for _, reason := range machine.Endings {
		to.Total("ergoflow_run_generations_ended_total", float64(s.Endings[reason]), run, string(reason))
	}
	to.Gauge("ergoflow_run_members", float64(s.WorldSize), run)
	to.Gauge("ergoflow_run_cut_links", float64(len(s.CutLinks)), run)
	to.Gauge("ergoflow_run_shards", float64(s.Shards.Total), run)
	to.Gauge("ergoflow_run_shards_present", float64(s.Shards.Done), run)
	if d := r.jobs; d != nil {
		to.Gauge("ergoflow_run_jobs", float64(d.Waiting), run, "waiting")
		to.Gauge("ergoflow_run_jobs", float64(d.Out), run, "out")
		to.Gauge("ergoflow_run_jobs", float64(d.Again), run, "again")
	}
	if c := r.saved; c != nil {
		to.Gauge("ergoflow_run_checkpoint_step", float64(c.Step), run)
		to.Time("ergoflow_run_checkpoint_timestamp_seconds", c.Time, run)
		to.Gauge("ergoflow_run_checkpoint_bytes", float64(c.Size), run)
	}
	missing := 0.0
	if s.Short != nil {
		missing = float64(s.Short.Bytes)
	}
	to.Gauge("ergoflow_run_room_missing_bytes", missing, run)
	for _, w := range s.Workers {
		if w.Run != r.Run {
			continue // it works for another run
		}
		id := string(w.ID)
		to.Gauge("ergoflow_worker_info", 1, run, id, w.Device, w.State)
		to.Gauge("ergoflow_worker_rank", float64(w.Rank), run, id)
		to.Gauge("ergoflow_worker_shards", float64(len(w.Shards)), run, id)
		to.Bool("ergoflow_worker_slow", w.Slow, run, id)
		if w.Timing.Step == 0 {
			continue
		}
		for phase, seconds := range w.Timing.Phases() {
			to.Gauge("ergoflow_worker_phase_seconds", seconds, run, id, phase)
		}
		to.Gauge("ergoflow_worker_phase_seconds", w.Timing.Other, run, id, "other")
	}
}
