package reproduce

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/network/layers"
	"github.com/ergoflow/ergoflow/model/report/figures"
)

// Setting is a setting of a run and the paper's value, empty where the paper gives
// none.
type Setting struct {
	Name  string `json:"name"`
	Ours  string `json:"ours"`
	Paper string `json:"paper"`
}

// Printed is the paper's value.
func (s Setting) Printed() string { return cmp.Or(s.Paper, "–") }

// settings are the settings of an experiment that decide what it generates, learns and
// evaluates.
func settings(e experiment.Experiment, paper map[string]string) []Setting {
	var all []Setting
	add := func(name string, ours any) {
		all = append(all, Setting{name, fmt.Sprint(ours), paper[name]})
	}
	whole := figures.Thousands
	add("training functions", whole(e.Data.Functions))
	add("held-out functions", whole(e.Evaluation.Functions))
	if m := e.Model.DeepONet; m != nil {
		nodes := make([]string, m.Dimension)
		for i := range nodes {
			nodes[i] = whole(m.Fields[0].Shape[i])
		}
		add("nodes of the grid", strings.Join(nodes, " × "))
	}
	add("samples per training function", whole(e.Data.Samples))
	add("samples per reference", whole(e.Evaluation.Samples))
	simulated(e.Data, add)
	sensors, used := e.Sensors(), e.Inference().Sensors()
	if sensors > 0 {
		add("sensors", whole(sensors))
	}
	if used != sensors {
		add("sensors in evaluation", whole(used))
	}
	add("network input", strings.Join(evaluate.Inputs(e), ", "))
	add("parameters", whole(e.Velocity().Layout().Size()))
	t := e.Training
	add("updates", whole(e.Steps()))
	add("functions × samples in a batch", fmt.Sprintf("%d × %d", t.BatchFunctions, t.BatchSamples))
	if t.Points > 0 {
		add("points (x, t) that the functions of a batch share", whole(t.Points))
	}
	add("coupling", t.Coupling)
	add("optimizer", fmt.Sprintf("AdamW, OneCycle to %g, weight decay %g", t.LearningRate, t.WeightDecay))
	add("gradient clipping norm", t.ClipNorm)
	add("precision", cmp.Or(t.Precision, layers.Float32))
	add("solver", e.Evaluation.Solver)
	return all
}

// simulated adds how samples are drawn.
func simulated(d data.Dataset, add func(name string, ours any)) {
	f, err := family.ByName(d.Family)
	if err != nil {
		panic(fmt.Sprintf("reproduce: settings of an unvalidated configuration: %v", err))
	}
	if _, drawn := f.(family.Sampler); drawn || d.Draws == data.Exact {
		add("training samples", "exact draws")
		return
	}
	schemes := []simulate.Scheme{d.Training, d.Reference}
	both := func(name string, of func(simulate.Scheme) string) {
		ours := []string{of(schemes[0]), of(schemes[1])}
		add(name, strings.Join(slices.Compact(ours), "; references: "))
	}
	both("training samples", func(s simulate.Scheme) string { return s.Integrator.Title() })
	both("time step", func(s simulate.Scheme) string { return fmt.Sprint(s.DT) })
	both("burn-in time", func(s simulate.Scheme) string { return fmt.Sprintf("%.4g", s.DT*float64(s.BurnIn)) })
	if d.Samples > d.Training.Chains || d.ReferenceSamples > d.Reference.Chains {
		both("time between samples", func(s simulate.Scheme) string { return fmt.Sprintf("%.4g", s.DT*float64(s.Thin)) })
	}
	if d.Training.Tempering.On() || d.Reference.Tempering.On() {
		both("chains at", func(s simulate.Scheme) string { return s.Tempering.String() })
	}
	both("chains per function", func(s simulate.Scheme) string { return figures.Thousands(s.Chains) })
}
