package report

import (
	"bytes"
	"fmt"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
	"github.com/ergoflow/ergoflow/model/registry/gate"
	"github.com/ergoflow/ergoflow/model/report/figures"
)

// modelLine describes one of the two models.
type modelLine struct {
	Role, Version string
	Results       *evaluate.Results
}

// page writes the page: one file, without scripts and without links to other files.
func (in Retraining) page(drawn []figures.Drawn, notes []string) ([]byte, error) {
	header, table := in.table()
	models := []modelLine{{"candidate", version(in.CandidateVersion), in.Candidate}}
	if in.Champion != nil {
		models = append(models, modelLine{"champion before", version(in.ChampionVersion), in.Champion})
	}
	if in.Now > 0 {
		models = append(models, modelLine{"champion now", fmt.Sprintf("version %d", in.Now), nil})
	}
	about := []string{
		"Means over the held-out functions; lower is better. change: candidate − champion, relative to the champion, or the difference itself for fractions and the error of the variance.",
		fmt.Sprintf("limit: the first metric decides, and its change has to be below the limit with %s confidence. The others may not be above theirs with that confidence.", gate.Percent(in.Verdict.Confidence)),
		"The intervals are over equations. They do not contain the seed of training.",
	}
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, "retraining.html.tmpl", map[string]any{
		"Name":        in.Name,
		"Lead":        in.lead(),
		"Headline":    in.headline(),
		"Verdict":     in.Verdict,
		"Warnings":    append(append([]string{}, in.Verdict.Warnings...), in.Warnings...),
		"Header":      header,
		"Table":       table,
		"About":       about,
		"Notes":       notes,
		"Figures":     drawn,
		"Models":      models,
		"Facts":       in.Facts,
		"Stages":      in.Stages,
		"Environment": in.Environment,
		"Backend":     in.Candidate.Backend,
		"Created":     in.Created.UTC().Format("2 January 2006, 15:04 UTC"),
	}); err != nil {
		return nil, fmt.Errorf("render page: %w", err)
	}
	return b.Bytes(), nil
}

func version(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("version %d, ", n)
}

func (in Retraining) lead() string {
	s := fmt.Sprintf("%s / %s · %d held-out functions × %s samples", in.Candidate.Experiment.Name, in.Candidate.Experiment.Preset, in.Candidate.Functions, figures.Thousands(in.Candidate.Samples))
	if in.Verdict.Metric == "" {
		return s
	}
	name, _ := metricLabel(in.Candidate, in.Verdict.Metric)
	return s + " · decided by " + name
}

// headline is the decision in a sentence.
func (in Retraining) headline() string {
	switch in.Verdict.Decision {
	case gate.Promote:
		return "The candidate is promoted: it is the champion now."
	case gate.Keep:
		return "The champion is kept: the candidate does not take its place."
	}
	return "The candidate is refused."
}
