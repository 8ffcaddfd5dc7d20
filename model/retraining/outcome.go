package retraining

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/internal/notice"
	"github.com/ergoflow/ergoflow/model/registry"
	"github.com/ergoflow/ergoflow/model/registry/gate"
)

// Decision is how a retraining ended.
type Decision string

const (
	Promoted    Decision = "promoted"      // the candidate is the champion
	Nothing     Decision = "nothing"       // there was nothing new to learn
	Kept        Decision = "kept"          // the champion stays: the candidate is not better by the margin
	Refused     Decision = "refused"       // the candidate failed a check of the gate
	OutOfBudget Decision = "out_of_budget" // the budget ended training, and nothing was promoted
	Skipped     Decision = "skipped"       // another retraining of the model was running
	Failed      Decision = "failed"        // an error
)

// Code is the exit code of `ergoflow retrain`: 0 where no person needs to act.
func (d Decision) Code() int {
	switch d {
	case Promoted, Nothing:
		return ergoflow.RetrainPromoted
	case Kept:
		return ergoflow.RetrainKept
	case Refused:
		return ergoflow.RetrainRefused
	case OutOfBudget:
		return ergoflow.RetrainOutOfBudget
	case Skipped:
		return ergoflow.RetrainSkipped
	}
	return 1
}

// Outcome is what a retraining did. Its JSON is what `retrain --json` prints.
type Outcome struct {
	ID        string    `json:"id,omitempty"` // of the retraining; empty if none began
	Model     string    `json:"model"`
	Decision  Decision  `json:"decision"`
	Reasons   []string  `json:"reasons"`
	Schedule  string    `json:"schedule,omitempty"`
	Scheduled string    `json:"scheduled,omitempty"`
	Began     time.Time `json:"began"`
	Seconds   float64   `json:"seconds"` // over all processes of the retraining
	// Champion is the model's champion before the retraining, Candidate what it trained.
	Champion  *Judged `json:"champion"`
	Candidate *Judged `json:"candidate"`
	// Metrics are the differences between the two that the gate judged.
	Metrics []gate.Difference `json:"metrics"`
	// Trainings are all that were made.
	Trainings []Trained `json:"trainings,omitempty"`
	// StoppedBy is the budget that ended a training before its last step.
	StoppedBy string            `json:"stopped_by,omitempty"`
	Imports   *Imported         `json:"imports,omitempty"`
	Report    string            `json:"report,omitempty"` // path of report.html
	Notices   []notice.Delivery `json:"notices,omitempty"`
	Warnings  []string          `json:"warnings,omitempty"`
}

// Judged is a version in the gate.
type Judged struct {
	Version int                `json:"version,omitempty"` // 0 if it has none
	Run     string             `json:"run"`
	Steps   int                `json:"steps"`
	Metrics map[string]float64 `json:"metrics"` // means over the held-out functions
}

// Trained is a training of the retraining.
type Trained struct {
	From    From   `json:"from"`
	Run     string `json:"run"`
	Steps   int    `json:"steps"`
	Planned int    `json:"planned"`
}

// Imported counts the files of the watched directories.
type Imported struct {
	Accepted int      `json:"accepted"` // new ones
	Known    int      `json:"known"`
	Waiting  int      `json:"waiting"`            // still being written
	Rejected []string `json:"rejected,omitempty"` // with the reason
	Warnings []string `json:"warnings,omitempty"`
}

// outcome is one with what is known so far.
func (r *run) outcome(d Decision, reasons ...string) Outcome {
	out := Outcome{
		Model: r.Config.Name, Decision: d, Reasons: reasons, Schedule: r.Schedule, Scheduled: r.Scheduled,
		Began: r.began.UTC(), Seconds: time.Since(r.began).Seconds(), Metrics: []gate.Difference{}, Imports: r.imported,
	}
	out.Warnings = r.imported.lines()
	if r.registry != nil {
		out.Warnings = append(out.Warnings, r.registry.Warnings()...)
	}
	j := r.journal
	if j == nil {
		return out
	}
	out.ID, out.Began, out.Seconds = j.ID, j.Began, time.Duration(r.spent()).Seconds()
	out.Schedule, out.Scheduled = j.Schedule, j.Scheduled
	out.Warnings = append(slices.Clone(j.Warnings), out.Warnings...)
	for _, t := range j.Trained {
		out.Trainings = append(out.Trainings, Trained{t.From, t.Run, t.Steps, t.Planned})
		out.StoppedBy = cmp.Or(out.StoppedBy, t.StoppedBy)
	}
	return out
}

// judgement puts what the gate saw into the outcome.
func (out *Outcome) judgement(best *judged, added registry.Version, champion *registry.Version) {
	out.Candidate = &Judged{added.Number, best.training.Run, best.training.Steps, means(best.table)}
	if champion != nil {
		out.Champion = &Judged{champion.Number, champion.Run, int(champion.Step), map[string]float64{}}
	}
	for _, d := range best.verdict.Differences {
		out.Champion.Metrics[d.Metric] = d.Champion
	}
	out.Metrics = append(out.Metrics, best.verdict.Differences...)
	out.Warnings = append(out.Warnings, best.verdict.Warnings...)
}

// String is what `retrain` prints.
func (out Outcome) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", out.Model, out.Decision.text())
	for _, reason := range out.Reasons {
		fmt.Fprintf(&b, "  %s\n", reason)
	}
	for _, v := range []struct {
		name string
		*Judged
	}{{"champion", out.Champion}, {"candidate", out.Candidate}} {
		if v.Judged != nil {
			fmt.Fprintf(&b, "%-9s version %d, %d steps\n", v.name, v.Version, v.Steps)
		}
	}
	if out.Report != "" {
		fmt.Fprintf(&b, "report    %s\n", out.Report)
	}
	return b.String()
}

// text names a decision for people.
func (d Decision) text() string {
	switch d {
	case Promoted:
		return "the candidate is promoted"
	case Nothing:
		return "nothing to do"
	case Kept:
		return "the champion stays"
	case Refused:
		return "the gate refuses the candidate"
	case OutOfBudget:
		return "the budget ended the training, and the champion stays"
	case Skipped:
		return "skipped"
	}
	return "failed"
}
