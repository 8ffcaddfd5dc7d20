package retraining

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow/internal/atomicfile"
	"github.com/ergoflow/ergoflow/internal/finitejson"
	"github.com/ergoflow/ergoflow/internal/notice"
)

// tellStart tells that a retraining begins.
func (r *run) tellStart(ctx context.Context) {
	r.delivered(notice.Send(ctx, r.Config.Notify, notice.Event{
		ID: r.journal.ID + ".started", Name: r.Config.Name, Began: r.journal.Began, Champion: r.known.number(),
		Text: "the retraining begins",
	}))
}

// tell tells how a retraining ended, and writes the outcome beside its report. Neither can
// fail the retraining: trouble is in the outcome that is returned.
func (r *run) tell(ctx context.Context, out Outcome) Outcome {
	e := notice.Event{
		Name: out.Model, Decision: string(out.Decision), ExitCode: out.Decision.Code(), Began: out.Began, Ended: time.Now(),
		Champion: r.known.number(), Text: out.text(),
	}
	if out.ID != "" {
		e.ID = out.ID + "." + string(out.Decision)
	}
	if out.Decision == Promoted && out.Candidate != nil {
		e.Champion = out.Candidate.Version
	}
	encoded, _, err := finitejson.Marshal(out, "")
	if err != nil {
		out.Warnings = append(out.Warnings, err.Error())
	}
	e.Outcome = encoded
	r.delivered(notice.Send(ctx, r.Config.Notify, e))
	out.Notices = append(out.Notices, r.notices...)
	if out.ID == "" {
		return out
	}
	if err := r.writeOutcome(out); err != nil {
		out.Warnings = append(out.Warnings, err.Error())
	}
	return out
}

// delivered keeps deliveries for the outcome, and logs those that failed.
func (r *run) delivered(all []notice.Delivery) {
	for _, d := range all {
		if d.Error != "" {
			r.Log.Warn("a notice was not delivered", "to", d.Target, "error", d.Error)
		}
	}
	r.notices = append(r.notices, all...)
}

// writeOutcome writes what `retrain --json` prints.
func (r *run) writeOutcome(out Outcome) error {
	encoded, _, err := finitejson.Marshal(out, "  ")
	if err != nil {
		return err
	}
	dir := r.reportDir(out.ID)
	if err := atomicfile.MakeDirs(dir); err != nil {
		return fmt.Errorf("directory of the report: %w", err)
	}
	return atomicfile.Write(filepath.Join(dir, "outcome.json"), append(encoded, '\n'))
}

func (r *run) reportDir(id string) string { return filepath.Join(r.Config.Dir, "reports", id) }

// text is the outcome in one line.
func (out Outcome) text() string {
	return strings.Join(append([]string{out.Decision.text()}, out.Reasons...), "; ")
}
