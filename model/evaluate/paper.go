package evaluate

import (
	"fmt"
	"strings"

	"github.com/ergoflow/ergoflow/model/experiment"
)

// PaperRow is a line of the paper's tables: single runs, no error bars. Zero
// means that the number is not printed there.
type PaperRow struct {
	Method                       string
	Kind                         Kind
	Name                         string // of our row it stands beside; empty: by kind
	SinkhornMean, SinkhornMedian float64
	W2Mean, W2Median             float64
	Seconds                      float64 // wall clock with loading and start-up
}

// Source cites where the numbers of Paper are printed.
const Source = "Deep operator learning for efficient sampling from invariant measures of stochastic differential equations, tables 1d_vn and 1d_rare; one RTX 5090 (model), one EPYC 9575F (MCMC); 1,024 test functions"

// paper has the tables tab:1d_vn and tab:1d_rare. The budgets of rare1d are
// seconds there and steps here (spec C4: 23k, 45k, 90k, 500k).
var paper = map[string][]PaperRow{
	"vn1d": {
		{"ours", Model, "", 0.018, 0.002, 0.204, 0.125, 19.0},
		{"mcmc", MCMC, "mcmc", 0.001, 0.0002, 0.083, 0.04, 8.6},
	},
	"rare1d": {
		{"ours", Model, "", 0.131, 0.011, 0.447, 0.239, 20.6},
		{"mcmc 6 s", MCMC, "mcmc 23k steps", 0.348, 0.039, 0.708, 0.474, 6.3},
		{"mcmc 12 s", MCMC, "mcmc 45k steps", 0.326, 0.019, 0.659, 0.381, 12.4},
		{"mcmc 25 s", MCMC, "mcmc 90k steps", 0.299, 0.009, 0.614, 0.281, 24.6},
		{"mcmc converged", MCMC, "mcmc 500k steps", 0.254, 0.003, 0.535, 0.161, 136.9},
	},
}

// Paper returns the paper's rows for an experiment; none if it has no such table.
func Paper(name string) []PaperRow { return paper[name] }

// paperRow finds what the paper prints for one of our rows.
func paperRow(experiment string, r Row) (PaperRow, bool) {
	for _, p := range paper[experiment] {
		if p.Kind == r.Kind && (p.Name == "" || p.Name == r.Name) {
			return p, true
		}
	}
	return PaperRow{}, false
}

// ScaleNote says what is smaller than in the paper, or that nothing is. It
// belongs under every table.
func ScaleNote(e experiment.Experiment) string {
	full, err := experiment.ByName(e.Name, "full")
	if err != nil {
		return ""
	}
	ours, theirs := sizes(e), sizes(full)
	var scaled bool
	var here, there []string
	for i, s := range ours {
		differs := s.value != theirs[i].value
		scaled = scaled || differs
		if differs || s.always {
			here = append(here, fmt.Sprintf("%s=%d", s.name, s.value))
			there = append(there, fmt.Sprintf("%s=%d", s.name, theirs[i].value))
		}
	}
	if !scaled {
		return "full size: " + strings.Join(here, ", ")
	}
	return fmt.Sprintf("scaled: %s; the paper's full size is %s", strings.Join(here, ", "), strings.Join(there, ", "))
}

type size struct {
	name   string
	value  int
	always bool // said even where it is the paper's
}

func sizes(e experiment.Experiment) []size {
	return []size{
		{"F", e.Data.Functions, true},
		{"B", e.Training.BatchFunctions, true},
		{"S", e.Training.BatchSamples, true},
		{"steps", e.Steps(), true},
		{"stored samples", e.Data.Samples, false},
		{"held-out functions", e.Evaluation.Functions, false},
		{"evaluation samples", e.Evaluation.Samples, false},
		{"parameters", e.Velocity().Layout().Size(), false},
	}
}
