package retraining

import (
	"context"
	"fmt"
	"time"

	"github.com/ergoflow/ergoflow/model/registry"
	"github.com/ergoflow/ergoflow/model/registry/gate"
	"github.com/ergoflow/ergoflow/model/report"
)

// report writes the page of the retraining. A page that cannot be written is a warning: the
// decision stands.
func (r *run) report(ctx context.Context, out *Outcome, best *judged) {
	page, err := report.WriteRetraining(ctx, r.reportDir(out.ID), r.page(ctx, *out, best))
	if err != nil {
		r.Log.Warn(err.Error())
		out.Warnings = append(out.Warnings, err.Error())
		return
	}
	out.Report = page
}

func (r *run) page(ctx context.Context, out Outcome, best *judged) report.Retraining {
	in := report.Retraining{
		Name: out.Model, Candidate: best.results, Champion: best.champion, CandidateVersion: out.Candidate.Version,
		ChampionVersion: r.journal.Champion, Verdict: best.verdict, Now: r.journal.Champion, Warnings: out.Warnings,
		Environment: report.Here(), Created: time.Now(),
	}
	if out.Decision == Promoted {
		in.Now = in.CandidateVersion
	}
	in.Environment.Workers = r.Config.Cluster.Workers
	fact := func(name, format string, args ...any) {
		in.Facts = append(in.Facts, report.Fact{Name: name, Text: fmt.Sprintf(format, args...)})
	}
	fact("decision", "%s", out.Decision.text())
	fact("retraining", "%s, begun %s", out.ID, out.Began.Format(time.DateTime+" MST"))
	if out.Schedule != "" {
		fact("schedule", "%s, for %s", out.Schedule, out.Scheduled)
	}
	for _, t := range out.Trainings {
		fact("training", "%d of %d steps from %s start, run %.12s", t.Steps, t.Planned, t.From, t.Run)
	}
	if out.StoppedBy != "" {
		fact("budget", "%s ended a training before its last step", out.StoppedBy)
	}
	if im := out.Imports; im != nil {
		fact("own samples", "%d files accepted, %d known, %d rejected, %d left for the next time", im.Accepted, im.Known, len(im.Rejected), im.Waiting)
	}
	in.History = r.history(ctx, best.verdict.Metric)
	return in
}

// history has the candidates of the model in the metric that decides.
func (r *run) history(ctx context.Context, metric string) (all []report.Promotion) {
	versions, err := r.registry.List(ctx, r.Config.Name)
	if err != nil {
		r.Log.Warn("history of the model", "error", err)
	}
	for _, v := range versions {
		m, ok := v.Metrics[metric]
		if !ok {
			continue
		}
		p := report.Promotion{Time: v.Created, Version: v.Number, Decision: verdictOf(v), Metric: metric, Mean: m.Value}
		if m.Level > 0 {
			p.Low, p.High = &m.Low, &m.High
		}
		all = append(all, p)
	}
	return all
}

// verdictOf is the gate's decision about a version. One that the budget ended was not promoted.
func verdictOf(v registry.Version) gate.Decision {
	switch Decision(v.Decision) {
	case Promoted:
		return gate.Promote
	case Refused:
		return gate.Refuse
	}
	return gate.Keep
}
