package evaluate

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/network/layers"
	"github.com/ergoflow/ergoflow/model/network/sensor"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// ScaleNote names every setting that differs from the full preset, which has the
// paper's sizes where the paper has the experiment. Sizes come first; other settings
// follow by a name or by their path in the configuration. It is under every table.
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
		note = "scaled: " + strings.Join(here, ", ") + "; full size"
		if _, printed := paper[e.Name]; printed && e.Data.Family == full.Data.Family {
			note += " (the paper's where it gives one)"
		}
		note += ": " + strings.Join(there, ", ")
	}
	for i, ours := range choices(e) {
		if theirs := choices(full)[i]; ours.text != theirs.text && ours.text != "" && theirs.text != "" {
			note += fmt.Sprintf("; %s instead of %s", ours.text, theirs.text)
		}
	}
	for _, change := range settingsDiff(e, full) {
		note += "; " + change
	}
	return note
}

// choice describes a setting that is not a size, with its path in the configuration. The text is
// empty where the experiment has no such setting.
type choice struct{ path, text string }

// choices are the settings, beside sizes, that decide what is learned, from which data,
// and how it is evaluated.
func choices(e experiment.Experiment) []choice {
	t, network := e.Training, sensorConfig(e)
	return []choice{
		{"data.family", "family " + describeFamily(e.Data.Family)},
		{"training.coupling", fmt.Sprintf("coupling %s", t.Coupling)},
		{"model.deeponet.fields", "inputs " + strings.Join(Inputs(e), " and ")},
		{"data.draws", fmt.Sprintf("%s draws", cmp.Or(e.Data.Draws, data.Simulated))},
		{"data.training.dt", fmt.Sprintf("time steps of %g", e.Data.Training.DT)},
		{"data.reference.dt", fmt.Sprintf("reference time steps of %g", e.Data.Reference.DT)},
		{"data.training.integrator", fmt.Sprintf("chains by %v", e.Data.Training.Integrator)},
		{"data.reference.integrator", fmt.Sprintf("references by %v", e.Data.Reference.Integrator)},
		{"training.learning_rate", fmt.Sprintf("learning rate %g", t.LearningRate)},
		{"training.weight_decay", fmt.Sprintf("weight decay %g", t.WeightDecay)},
		{"training.clip_norm", fmt.Sprintf("clipping at %g", t.ClipNorm)},
		{"training.times", fmt.Sprintf("%s times", cmp.Or(t.Times, flow.Uniform))},
		{"training.precision", fmt.Sprintf("precision %s", cmp.Or(t.Precision, layers.Float32))},
		{"evaluation.solver", "solver " + e.Evaluation.Solver},
		{"model.sensor.representation", named("representation ", string(network.Representation))},
		{"model.sensor.aggregator", named("aggregator ", string(network.Aggregator))},
		{"model.sensor.decoder", named("decoder ", string(network.Decoder))},
		{"model.deeponet", architecture(e)},
	}
}

// named is a name after what it names; empty without a name.
func named(what, name string) string {
	if name == "" {
		return ""
	}
	return what + name
}

// architecture is the kind of network.
func architecture(e experiment.Experiment) string {
	switch {
	case e.Model.Sensor != nil:
		return "a network that reads the sensors"
	case e.Probes != nil:
		return "a DeepONet of the coefficients that the sensors show on a grid"
	}
	return "a DeepONet"
}

// Inputs names what a network gets of a function, with the formula of inputs that
// derive from the law.
func Inputs(e experiment.Experiment) []string {
	var names []string
	for _, input := range e.Velocity().Inputs() {
		switch input.Name {
		case "potential":
			names = append(names, "potential (of −log p)")
		case "score":
			names = append(names, "score ((log p)′)")
		case "force":
			names = append(names, "force (2D⁻¹(b − ½∇·D), D = σσᵀ)")
		default:
			names = append(names, input.Name)
		}
	}
	return names
}

// size is a number with its path in the configuration; the path is empty where many
// settings decide it.
type size struct {
	name, path string
	value      int
	always     bool // shown even where it is that of the full preset
}

func sizes(e experiment.Experiment) []size {
	return []size{
		{"F", "data.functions", e.Data.Functions, true},
		{"B", "training.batch_functions", e.Training.BatchFunctions, true},
		{"S", "training.batch_samples", e.Training.BatchSamples, true},
		{"shared points", "training.points", e.Training.Points, false},
		{"steps", "training.steps", e.Steps(), true},
		{"stored samples", "data.samples", e.Data.Samples, false},
		{"training chains", "data.training.chains", e.Data.Training.Chains, false},
		{"burn-in of training chains", "data.training.burn_in", e.Data.Training.BurnIn, false},
		{"steps between training samples", "data.training.thin", e.Data.Training.Thin, false},
		{"held-out functions", "evaluation.functions", e.Evaluation.Functions, false},
		{"evaluation samples", "evaluation.samples", e.Evaluation.Samples, false},
		{"burn-in of references", "data.reference.burn_in", e.Data.Reference.BurnIn, false},
		{"chains of a reference", "data.reference.chains", e.Data.Reference.Chains, false},
		{"steps between reference samples", "data.reference.thin", e.Data.Reference.Thin, false},
		{"sensors", "model.sensor.sensors", cmp.Or(e.Sensors(), e.Inference().Sensors()), false},
		{"sensors in evaluation", "evaluation.sensors", e.Inference().Sensors(), false},
		{"recorded points of a probe", "model.sensor.steps", e.ProbeSteps(), false},
		{"functions of a distance", "model.sensor.radial", sensorConfig(e).Radial, false},
		{"parameters", "", e.Velocity().Layout().Size(), false},
	}
}

// sensorConfig is that of a network with sensors; empty for one without.
func sensorConfig(e experiment.Experiment) sensor.Config {
	if s := e.Model.Sensor; s != nil {
		return *s
	}
	return sensor.Config{}
}
