package evaluate

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/flow"
	"github.com/ergoflow/ergoflow/model/layers"
)

// ScaleNote says what is smaller than at full size, which is the paper's where it
// has the experiment, or that nothing is, and everything that was chosen otherwise:
// by a name, or by its path in the configuration. It belongs under every table.
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
	note := "full size: " + strings.Join(here, ", ")
	if scaled {
		note = "scaled: " + strings.Join(here, ", ") + "; the full size"
		if _, printed := paper[e.Name]; printed && e.Data.Family == full.Data.Family {
			note += ", the paper's where it names one,"
		}
		note += " is " + strings.Join(there, ", ")
	}
	for i, ours := range choices(e) {
		if theirs := choices(full)[i]; ours != theirs {
			note += fmt.Sprintf("; %s instead of %s", ours, theirs)
		}
	}
	for _, change := range otherwise(e, full) {
		note += "; " + change
	}
	return note
}

// choices are what decides, beside sizes, what is learned, from what, and how it is
// judged.
func choices(e experiment.Experiment) []string {
	var inputs []string
	for _, input := range e.Velocity().Inputs() {
		inputs = append(inputs, InputName(input.Name))
	}
	draws := e.Data.Draws
	if draws == "" {
		draws = data.Simulated
	}
	t := e.Training
	return []string{
		"family " + e.Data.Family,
		fmt.Sprintf("coupling %s", t.Coupling),
		"inputs " + strings.Join(inputs, " and "),
		fmt.Sprintf("%s draws", draws),
		fmt.Sprintf("time steps of %g", e.Data.Training.DT),
		fmt.Sprintf("reference time steps of %g", e.Data.Reference.DT),
		fmt.Sprintf("learning rate %g", t.LearningRate),
		fmt.Sprintf("weight decay %g", t.WeightDecay),
		fmt.Sprintf("clipping at %g", t.ClipNorm),
		fmt.Sprintf("%s times", cmp.Or(t.Times, flow.Uniform)),
		fmt.Sprintf("precision %s", cmp.Or(t.Precision, layers.Float32)),
		"solver " + e.Evaluation.Solver,
	}
}

// InputName says of an input of a network that is derived of the law what it is of.
func InputName(field string) string {
	switch field {
	case "potential":
		return "potential (of −log p)"
	case "score":
		return "score ((log p)′)"
	}
	return field
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
		{"training chains", e.Data.Training.Chains, false},
		{"burn-in of training chains", e.Data.Training.BurnIn, false},
		{"steps between training samples", e.Data.Training.Thin, false},
		{"held-out functions", e.Evaluation.Functions, false},
		{"evaluation samples", e.Evaluation.Samples, false},
		{"burn-in of references", e.Data.Reference.BurnIn, false},
		{"chains of a reference", e.Data.Reference.Chains, false},
		{"steps between reference samples", e.Data.Reference.Thin, false},
		{"sensors", sensors(e), false},
		{"sensors in evaluation", sensors(e.Inference()), false},
		{"recorded points of a probe", points(e), false},
		{"parameters", e.Velocity().Layout().Size(), false},
	}
}

// sensors of a network, 0 for none.
func sensors(e experiment.Experiment) int {
	if s := e.Model.Sensor; s != nil {
		return s.Sensors
	}
	return 0
}

// points that each sensor of a network records, 0 for none.
func points(e experiment.Experiment) int {
	if s := e.Model.Sensor; s != nil {
		return s.Steps
	}
	return 0
}
