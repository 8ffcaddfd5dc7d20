package experiment

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/probe"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// Every row of the paper's tables in the plane is an experiment with settings, at
// every preset that has the paper's networks: another trained state, whose network has the same parameters
// however many sensors it has.
func TestRowsOfThePlane(t *testing.T) {
	for _, preset := range Presets("cn2d_transfer") {
		seen := map[string][]string{}
		for _, row := range []struct {
			name string
			sets []string
		}{
			{"cn2d", nil}, {"cn2d_grid", nil}, {"cn2d_transfer", nil},
			{"cn2d", []string{"model.sensor.representation=point"}},
			{"cn2d", []string{"model.sensor.representation=endpoint"}},
			{"cn2d", []string{"model.sensor.aggregator=mean"}},
			{"cn2d", []string{"model.sensor.aggregator=deepsets"}},
			{"cn2d", []string{"model.sensor.conditioning=film"}},
			{"cn2d", []string{"model.sensor.conditioning=concat"}},
			{"cn2d", []string{"model.sensor.conditioning=dot"}},
			{"cn2d", []string{"model.sensor.sensors=1"}},
			{"cn2d", []string{"model.sensor.sensors=32"}},
			{"cn2d", []string{"model.sensor.sensors=128"}},
			{"cn2d_transfer", []string{"model.sensor.sensors=1024"}},
			{"cn2d_transfer", []string{"model.sensor.sensors=2048"}},
			{"cn2d_transfer", []string{"training.sensors=[512,1024,2048]"}},
			{"cn2d_transfer", []string{"probes.kind=trajectory"}},
			{"cn2d_transfer", []string{"probes.dt=0.01"}},
		} {
			e, err := Load(row.name, preset, "", row.sets)
			if err != nil {
				t.Fatal(err)
			}
			if other, ok := seen[e.Hash()]; ok {
				t.Errorf("%s: %s %v trains what %v trains", preset, row.name, row.sets, other)
			}
			seen[e.Hash()] = append(row.sets, row.name)
			if row.name == "cn2d" && e.Inference().Model.Sensor.Sensors != e.Evaluation.Sensors {
				t.Errorf("%s: %v is used with %d sensors", preset, row.sets, e.Inference().Model.Sensor.Sensors)
			}
			layout := e.Velocity().Layout()
			for _, same := range append(e.Alternatives(), e.Inference()) {
				if !same.Velocity().Layout().Equal(layout) {
					t.Errorf("%s: %s %v has other parameters with other sensors", preset, row.name, row.sets)
				}
			}
		}
	}
	e, err := Load("cn2d", "smoke", "", []string{"evaluation.sensors=99"})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := ByName("cn2d", "smoke")
	if err != nil {
		t.Fatal(err)
	}
	if e.Hash() != plain.Hash() {
		t.Error("the sensors of the evaluation change what is trained")
	}
	if plain.Model.Sensor.Sensors != e.Model.Sensor.Sensors || e.Inference().Model.Sensor.Sensors != 99 {
		t.Error("Inference changes the experiment, or nothing")
	}
}

// Probes that follow the equation for several steps are scaled over all rows,
// those seen at their start alone and those that walk by what differs between
// functions; a hash says which.
func TestScaleOfProbes(t *testing.T) {
	for _, row := range []struct {
		name string
		sets []string
		want probe.Scale
	}{
		{"cn2d", nil, probe.OverRows},
		{"cn2d", []string{"model.sensor.representation=endpoint"}, probe.OverRows},
		{"cn2d", []string{"model.sensor.representation=point"}, probe.BetweenFunctions},
		{"cn2d", []string{"model.sensor.steps=1"}, probe.BetweenFunctions},
		{"cn2d", []string{"probes.kind=walk"}, probe.BetweenFunctions},
		{"cn2d_transfer", nil, probe.BetweenFunctions},
		{"particles64d", nil, probe.OverRows},
	} {
		e, err := Load(row.name, "smoke", "", row.sets)
		if err != nil {
			t.Fatal(err)
		}
		f, err := e.Family()
		if err != nil {
			t.Fatal(err)
		}
		n, err := e.Normalisation(t.Context(), f, nil)
		if err != nil {
			t.Fatal(err)
		}
		standards, err := flow.Standards(t.Context(), e.probes(), f, e.Data.Seed, e.firstFunctions(), row.want, flow.Raw)
		if err != nil {
			t.Fatal(err)
		}
		for k, s := range standards {
			if got := n[feature(e.Velocity().Inputs()[0].Name, k)]; got != s {
				t.Errorf("%s %v: feature %d has %v, %s it is %v", row.name, row.sets, k, got, row.want, s)
			}
		}
		if got := e.scaledProbes().Scale; got != row.want {
			t.Errorf("%s %v: the hash says %q, want %q", row.name, row.sets, got, row.want)
		}
	}
	e, err := Load("cn2d", "smoke", "", []string{"data.functions=128", "data.shards=4", "data.held_out=4", "data.held_out_from=32"})
	if err != nil {
		t.Fatal(err)
	}
	if got := e.firstFunctions(); len(got) != 128 || got[31] != 31 || got[32] != 36 || got[127] != 131 {
		t.Errorf("held-out functions 32 to 35 are among those that make the normalisation: %v", got)
	}
	if e := (Experiment{}); e.scaledProbes() != nil {
		t.Error("an experiment without probes names their scale")
	}
}

// The normalisation of probes is a function of the training set and the probes,
// and conditions any number of sensors; one of another kind of network is refused.
func TestNormalisationOfProbes(t *testing.T) {
	for _, name := range []string{"cn2d", "cn2d_transfer", "particles64d"} {
		of := func(sets ...string) (Experiment, family.Family, shard.Normalisation) {
			e, err := Load(name, "smoke", "", sets)
			if err != nil {
				t.Fatal(err)
			}
			f, err := e.Family()
			if err != nil {
				t.Fatal(err)
			}
			n, err := e.Normalisation(t.Context(), f, nil)
			if err != nil {
				t.Fatal(err)
			}
			return e, f, n
		}
		e, f, n := of()
		if err := n.Validate(); err != nil || len(n) != e.Model.Sensor.Features {
			t.Errorf("%s: %v, error %v", name, n, err)
		}
		for set, same := range map[string]bool{
			"seed=2": true, "data.samples=128": true, "model.sensor.width=32": true, "evaluation.sensors=3": true,
			"data.seed=2": false, "data.functions=64": name == "particles64d", "model.sensor.sensors=17": false, "model.sensor.steps=9": false, "probes.dt=0.1": false,
		} {
			if _, _, other := of(set, "training.batch_functions=8"); maps.Equal(other, n) != same {
				t.Errorf("%s, %s: the same normalisation is %v, want %v", name, set, !same, same)
			}
		}
		var alone, among [][]float32 = [][]float32{nil}, [][]float32{nil}
		few := e
		few.Evaluation.Sensors = 1
		for experiment, inputs := range map[*Experiment][][]float32{&few: alone, &e: among} {
			c, err := experiment.Inference().Conditioner(f, n)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Condition(t.Context(), inputs, []flow.Subject{{Index: 5}}); err != nil {
				t.Fatal(err)
			}
		}
		if size := e.Model.Sensor.Steps * e.Model.Sensor.Features; len(alone[0]) != size || !slices.Equal(alone[0], among[0][:size]) {
			t.Errorf("%s: one sensor is not the first of all", name)
		}
		if _, err := e.Conditioner(f, shard.Normalisation{"drift": {Std: 1}}); err == nil {
			t.Errorf("%s: the normalisation of a grid", name)
		}
	}
}

// Probes that leave where they start are refused or warned of before there is anything
// to train on.
func TestPilotRunOfProbes(t *testing.T) {
	for _, c := range []struct {
		name, set string
		is        error
		warning   string
	}{
		{"cn2d", "probes.dt=0.01", nil, ""},
		{"cn2d", "probes.dt=1", ErrProbesOutOfRange, ""},
		{"cn2d_transfer", "probes.dt=0.2", nil, "of the points of probes of cn2d are far outside"},
		{"particles64d", "probes.dt=0.1", nil, "of the points of probes of particles64d are far outside"},
		{"particles64d", "probes.dt=1", ErrProbesOutOfRange, ""},
	} {
		e, err := Load(c.name, "smoke", "", []string{c.set})
		if err != nil {
			t.Fatal(err)
		}
		warnings, err := e.PilotRun(t.Context())
		if got := strings.Join(warnings, "; "); !errors.Is(err, c.is) || !strings.Contains(got, c.warning) || (got == "") != (c.warning == "") {
			t.Errorf("%s, %s: warnings %q, error %v", c.name, c.set, warnings, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "probes.dt: ") {
			t.Errorf("the error does not name the setting: %v", err)
		}
	}
	for _, dt := range []string{"100", "1e-300", "0", ".nan"} {
		if _, err := Load("cn2d", "smoke", "", []string{"probes.dt=" + dt}); err == nil || !strings.Contains(err.Error(), "probes.dt is ") {
			t.Errorf("probes.dt=%s: %v", dt, err)
		}
	}
}
