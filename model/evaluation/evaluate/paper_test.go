package evaluate

import (
	"testing"

	"github.com/ergoflow/ergoflow/model/experiment"
)

func configuration(t *testing.T, name string, settings ...string) experiment.Experiment {
	t.Helper()
	e, err := experiment.Load(name, "scaled", "", settings)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// The variant that a configuration is decides which of the paper's numbers stand
// beside it; sizes do not.
func TestPaperFindsTheVariant(t *testing.T) {
	const none = -1
	for _, c := range []struct {
		name     string
		settings []string
		kind     Kind
		row      string
		quantity Quantity
		want     float64
	}{
		{"vn1d", nil, Model, "model", SinkhornMean, 0.018},
		{"vn1d", []string{"model.deeponet.rank=32", "evaluation.solver=euler-8"}, Model, "model", SinkhornMean, 0.018},
		{"vn1d", nil, MCMC, "mcmc", Seconds, 8.6},
		{"vn1d", nil, MCMC, "", Seconds, 8.6},
		{"vn1d", nil, MCMC, "100 steps", Seconds, none},
		{"vn1d", nil, Floor, "floor", SinkhornMean, none},
		{"vn1d", []string{"data.family=rare1d", "model.deeponet.fields=[{name: drift, shape: [256]}, {name: diffusion, shape: [256]}]"}, Model, "model", SinkhornMean, none},
		{"rare1d", nil, Model, "model", W2Median, 0.239},
		{"rare1d", []string{"evaluation.solver=dopri5"}, Model, "model", SinkhornMean, 0.130},
		{"rare1d", []string{"evaluation.solver=dopri5"}, Model, "model", W2Median, none},
		{"rare1d", []string{"evaluation.solver=rk4-16"}, Model, "model", SinkhornMean, none},
		{"rare1d", []string{"evaluation.solver=rk4-16"}, MCMC, "σ₀=1, 45k steps", W2Mean, 0.659},
		{"cn2d", nil, Model, "model", SinkhornMean, 0.018},
		{"cn2d", []string{"model.sensor.conditioning=film", "training.learning_rate=0.01"}, Model, "model", SinkhornMean, 0.0169},
		{"cn2d", []string{"model.sensor.sensors=64"}, Model, "model", TrainSeconds, 180.1},
		{"cn2d", []string{"model.sensor.sensors=128", "model.sensor.aggregator=mean"}, Model, "model", SinkhornMean, none},
		{"cn2d", nil, Model, "model", SinkhornMedian, none},
		{"cn2d", nil, Shuffled, "shuffled sensors", SinkhornMean, none},
		{"cn2d_grid", nil, Model, "model", SinkhornMean, 0.0209},
		{"cn2d_transfer", nil, Model, "model", SinkhornMean, 0.0284}, // evaluated as trained
		{"cn2d_transfer", []string{"evaluation.sensors=2048"}, Model, "model", SinkhornMean, 0.0131},
		{"cn2d_transfer", []string{"training.sensors=[512,1024,2048]", "evaluation.sensors=1024"}, Model, "model", SinkhornMean, 0.0177},
		{"cn2d_transfer", []string{"evaluation.sensors=64"}, Model, "model", SinkhornMean, none},
		{"particles64d", nil, Shuffled, "shuffled sensors", FeatureCloser, 0.99},
		{"particles64d", nil, Split, "target split", FeatureMedian, 0.1071},
	} {
		got, ok := PaperNumber(Paper(configuration(t, c.name, c.settings...), c.settings...), c.kind, c.row, c.quantity)
		if !ok {
			got = none
		}
		if got != c.want {
			t.Errorf("%s %v, %s %q, %s: %v, want %v", c.name, c.settings, c.kind, c.row, c.quantity, got, c.want)
		}
	}
}

// Every variant finds its own line, so that none shadows another.
func TestPaperVariantsAreDistinct(t *testing.T) {
	for name, p := range paper {
		for i, line := range p.rows {
			if line.Kind != Model {
				continue
			}
			lines := Paper(configuration(t, name, line.Settings...), line.Settings...)
			for q, want := range line.Numbers {
				if got, ok := PaperNumber(lines, Model, "model", q); !ok || got != want {
					t.Errorf("%s, line %d %v, %s: %v, %t, want %v", name, i, line.Settings, q, got, ok, want)
				}
			}
		}
	}
}

// The paper's numbers stand beside none of another metric, another reference or other
// probes, whichever row it is.
func TestPaperHasNoNumbersOfSomethingElse(t *testing.T) {
	for _, c := range []struct {
		name     string
		settings []string
	}{
		{"cn2d", []string{"probes.kind=walk", "probes.dt=0.0025"}},
		{"cn2d", []string{"evaluation.blur=1"}},
		{"cn2d", []string{"evaluation.scaling=0.9"}},
		{"cn2d", []string{"data.training.start=4"}},
		{"cn2d", []string{"data.reference.start=4"}},
		{"cn2d", []string{"model.sensor.conditioning=film", "data.reference.dt=0.001"}},
		{"cn2d_grid", []string{"evaluation.blur=1"}},
		{"particles64d", []string{"probes.dt=0.1"}},
		{"vn1d", []string{"data.reference_draws=exact"}},
	} {
		if rows := Paper(configuration(t, c.name, c.settings...), c.settings...); len(rows) > 0 {
			t.Errorf("%s %v: %v", c.name, c.settings, rows)
		}
	}
	same := []string{"data.reference_draws=simulated", "data.reference.start=1"}
	if rows := Paper(configuration(t, "vn1d", same...)); len(rows) != len(paper["vn1d"].rows) {
		t.Errorf("defaults written out leave %v", rows)
	}
}

// A line that sets what numbers are of stands beside runs that do so too, and no others.
func TestPaperOfAnotherMetric(t *testing.T) {
	blurred := PaperRow{Settings: []string{"evaluation.blur=1"}, Kind: Model}
	if !blurred.isVariant(configuration(t, "cn2d", "evaluation.blur=1"), measurementPaths) || blurred.isVariant(configuration(t, "cn2d"), measurementPaths) {
		t.Error("a line with a blur of its own does not find its runs")
	}
}
