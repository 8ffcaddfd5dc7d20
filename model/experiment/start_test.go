package experiment_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/training/state"
)

func load(t *testing.T, name string, sets ...string) experiment.Experiment {
	t.Helper()
	e, err := experiment.Load(name, "smoke", "", sets)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// trained is a state of an experiment after three steps.
func trained(t *testing.T, e experiment.Experiment) (*state.State, []byte) {
	t.Helper()
	config, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	st := state.Fresh(e.Velocity().Layout(), 7)
	st.Step, st.Run, st.Config, st.Losses = 3, e.Hash(), config, []float64{3, 2, 1}
	for i := range st.M {
		st.M[i], st.V[i] = 1, 2
	}
	st.Normalisation = shard.Normalisation{"drift": {Mean: 1, Std: 2}, "diffusion": {Mean: 3, Std: 4}, "potential": {Mean: 0, Std: 1}}
	if e.Training.States == "standardised" {
		st.Normalisation["state[0]"] = shard.Standard{Mean: 1000, Std: 2}
	}
	if e.Training.States == "whitened" {
		for k := range e.Velocity().Dim() {
			st.Normalisation[shard.State(k)] = shard.Standard{Mean: 1, Std: 2}
		}
	}
	for k := range 16 {
		st.Normalisation[fmt.Sprintf("probes[%d]", k)] = shard.Standard{Mean: float64(k), Std: 1}
	}
	encoded, err := st.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return st, encoded
}

// A warm start's state at step 0 has the parameters and the normalisation of the state that it
// begins from, so it samples exactly as that one, and nothing else of it.
func TestStartFrom(t *testing.T) {
	parent := load(t, "vn1d", "data.functions=224", "data.held_out_from=256")
	from, encoded := trained(t, parent)
	e := load(t, "vn1d", "training.steps=10", "training.learning_rate=0.0003")
	warm, first, err := e.StartFrom(encoded)
	if err != nil {
		t.Fatal(err)
	}
	s := warm.Training.Start
	if hash := from.ParameterHash(); s.Run != parent.Hash() || s.Step != 3 || s.Parameters != hex.EncodeToString(hash[:]) {
		t.Errorf("start %+v", s)
	}
	if warm.Hash() == e.Hash() || e.Training.Start != nil {
		t.Error("a warm start has the hash of a cold one, or has changed it")
	}
	decoded, st, err := experiment.DecodeState(first)
	if err != nil {
		t.Fatal(err)
	}
	if decoded.Hash() != warm.Hash() || st.Run != warm.Hash() || st.Step != 0 || len(st.Losses) != 0 || len(st.Ledger.Stretches) != 0 {
		t.Errorf("the state at step 0: run %s, step %d, %d losses", st.Run, st.Step, len(st.Losses))
	}
	if !slices.Equal(st.Parameters, from.Parameters) || st.Normalisation["drift"] != from.Normalisation["drift"] {
		t.Error("other parameters or another normalisation")
	}
	if slices.ContainsFunc(st.M, func(x float32) bool { return x != 0 }) || slices.ContainsFunc(st.V, func(x float32) bool { return x != 0 }) {
		t.Error("the optimizer's moments do not begin at zero")
	}
	plan, err := experiment.PlanOfStart(first)
	if err != nil || plan.Run != warm.Hash() || plan.Start != s.Parameters {
		t.Errorf("plan %+v, error %v", plan, err)
	}
	// Workers use the normalisation of the start, whatever the new data are.
	f, err := warm.Family()
	if err != nil {
		t.Fatal(err)
	}
	n, err := warm.Normalisation(t.Context(), f, shard.NewDir(t.TempDir()))
	if err != nil || n["drift"] != from.Normalisation["drift"] {
		t.Errorf("normalisation %v, error %v", n, err)
	}
}

// Standardised states keep their frame, and networks with sensors begin from a state that had
// another number of them.
func TestStartsOfOtherKinds(t *testing.T) {
	for name, c := range map[string]struct{ parent, own experiment.Experiment }{
		"standardised states": {load(t, "vn1d", "training.states=standardised"), load(t, "vn1d", "training.states=standardised", "training.steps=9")},
		"fewer sensors":       {load(t, "cn2d"), load(t, "cn2d", "model.sensor.sensors=8", "training.steps=9")},
		"many sensors":        {load(t, "cn2d_transfer"), load(t, "cn2d_transfer", "training.sensors=[4,8]")},
		"particles":           {load(t, "particles64d"), load(t, "particles64d", "training.steps=9")},
	} {
		from, encoded := trained(t, c.parent)
		warm, first, err := c.own.StartFrom(encoded)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := experiment.PlanOfStart(first); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !maps.Equal(warm.Training.Start.Normalisation, from.Normalisation) {
			t.Errorf("%s: another normalisation", name)
		}
	}
	_, encoded := trained(t, load(t, "cn2d"))
	if _, _, err := load(t, "cn2d", "probes.dt=0.02").StartFrom(encoded); !errors.Is(err, experiment.ErrStart) || !strings.Contains(err.Error(), "(probes: ") {
		t.Errorf("other probes: %v", err)
	}
}

// A warm start is another run for every parameter, and for the step and run that it names.
func TestStartEntersTheHash(t *testing.T) {
	e := load(t, "vn1d", "training.steps=10")
	_, encoded := trained(t, e)
	warm, _, err := e.StartFrom(encoded)
	if err != nil {
		t.Fatal(err)
	}
	hashes := map[string]bool{e.Hash(): true, warm.Hash(): true}
	for _, change := range []func(*experiment.Start){
		func(s *experiment.Start) { s.Step++ },
		func(s *experiment.Start) { s.Run = "2" },
		func(s *experiment.Start) { s.Parameters = strings.Repeat("0", 64) },
		func(s *experiment.Start) {
			s.Normalisation = shard.Normalisation{"drift": {Mean: 0, Std: 1}, "diffusion": {Mean: 0, Std: 1}}
		},
	} {
		other, start := warm, *warm.Training.Start
		change(&start)
		other.Training.Start = &start
		if err := other.Validate(); err != nil {
			t.Fatal(err)
		}
		hashes[other.Hash()] = true
	}
	if len(hashes) != 6 {
		t.Errorf("%d hashes of 6 runs", len(hashes))
	}
}

func TestRefusedStarts(t *testing.T) {
	parent := load(t, "vn1d")
	for name, c := range map[string]struct {
		parent, own experiment.Experiment
		want        string
	}{
		"another width": {parent, load(t, "vn1d", "model.deeponet.trunk_width=64"),
			"tensor trunk.hidden0.weight has shape"},
		"a deeper trunk":                      {parent, load(t, "vn1d", "model.deeponet.trunk_depth=3"), "where the network has trunk.hidden2.weight"},
		"another family's grid":               {parent, load(t, "rare1d"), "its tensor"},
		"another embedding of the same shape": {parent, load(t, "vn1d", "model.deeponet.f_max=4"), "another meaning"},
		"held-out functions that it has learned from": {load(t, "vn1d", "data.functions=512", "data.held_out_from=512"), load(t, "vn1d", "data.functions=256"),
			"has learned from function 256, which data holds out (256 to 263)"},
		"its coordinates": {parent, load(t, "vn1d", "training.states=standardised"), `training.states is "standardised": must be "raw"`},
	} {
		_, encoded := trained(t, c.parent)
		_, _, err := c.own.StartFrom(encoded)
		if !errors.Is(err, experiment.ErrStart) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := parent.StartFrom([]byte("no state")); !errors.Is(err, state.ErrCorrupt) {
		t.Errorf("bytes that are no state: %v", err)
	}
}

// What a grandparent has learned from is not in the parent. Its held-out functions are known.
func TestHeldOutOfAncestors(t *testing.T) {
	_, encoded := trained(t, load(t, "vn1d", "data.held_out_from=1024"))
	warm, _, err := load(t, "vn1d", "data.held_out_from=1024", "training.steps=9").StartFrom(encoded)
	if err != nil {
		t.Fatal(err)
	}
	_, encoded = trained(t, warm)
	if _, _, err := load(t, "vn1d", "data.held_out_from=1024", "data.held_out=4", "evaluation.functions=4").StartFrom(encoded); err != nil {
		t.Errorf("some of the same held-out functions: %v", err)
	}
	_, _, err = load(t, "vn1d", "data.held_out_from=512").StartFrom(encoded)
	if !errors.Is(err, experiment.ErrStart) || !strings.Contains(err.Error(), "learned from functions 1024 to 1031") {
		t.Errorf("other held-out functions: %v", err)
	}
}

// Every change of the state at step 0 is found.
func TestIsStart(t *testing.T) {
	e := load(t, "vn1d")
	_, encoded := trained(t, e)
	warm, first, err := e.StartFrom(encoded)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*state.State){
		"a parameter":       func(s *state.State) { s.Parameters[5]++ },
		"a moment":          func(s *state.State) { s.V[0] = 1 },
		"the normalisation": func(s *state.State) { s.Normalisation["drift"] = shard.Standard{Mean: 0, Std: 1} },
		"the run":           func(s *state.State) { s.Run = "2" },
		"the step":          func(s *state.State) { s.Step, s.Losses = 1, []float64{1} },
	} {
		_, st, err := experiment.DecodeState(first)
		if err != nil {
			t.Fatal(err)
		}
		if err := warm.IsStart(st); err != nil {
			t.Fatal(err)
		}
		change(st)
		if err := warm.IsStart(st); !errors.Is(err, experiment.ErrStart) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := experiment.PlanOfStart(encoded); !errors.Is(err, experiment.ErrStart) {
		t.Errorf("a state of a run from random parameters: %v", err)
	}
}

func TestMalformedStart(t *testing.T) {
	good := `{run: a, step: 3, parameters: ` + strings.Repeat("ab", 32) + `, normalisation: {drift: {mean: 0, std: 1}, diffusion: {mean: 0, std: 1}}}`
	if _, err := experiment.Load("vn1d", "smoke", "", []string{"training.start=" + good}); err != nil {
		t.Error(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{"run: a", "run: ''", "training.start.run"},
		{"step: 3", "step: -1", "training.start.step"},
		{"ab,", "a,", "training.start.parameters"},
		{"ab,", "ag,", "training.start.parameters"},
		{"ab,", "aB,", "training.start.parameters"},
		{"drift: {mean: 0, std: 1}", "drift: {mean: 0, std: 0}", "training.start.normalisation"},
		{"drift: {mean: 0, std: 1}, ", "", "training.start.normalisation"},
	} {
		_, err := experiment.Load("vn1d", "smoke", "", []string{"training.start=" + strings.Replace(good, c.old, c.new, 1)})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.new, err)
		}
	}
	if _, err := experiment.Load("vn1d", "smoke", "", []string{"training.start=null"}); err != nil {
		t.Error(err)
	}
}

// A network of whitened states cannot begin from one of others, whose tensors may have its shapes.
func TestStartOfOtherStates(t *testing.T) {
	family := `data.family='{"name":"many","dim":20,"box":[-3,3],"drift":"-x^3","diffusion":"1 + 0*x"}'`
	_, encoded := trained(t, load(t, "anyd", family, "training.states=standardised"))
	if _, _, err := load(t, "anyd", family).StartFrom(encoded); !errors.Is(err, experiment.ErrStart) || !strings.Contains(fmt.Sprint(err), `states of each equation: "", not "whitened"`) {
		t.Error(err)
	}
}
