package evaluate

import (
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/model/experiment"
)

func TestScaleNote(t *testing.T) {
	for preset, want := range map[string]string{
		"full":   "full size: F=64512, B=256, S=32, steps=32256",
		"scaled": "scaled: F=64512, B=32, S=32, steps=32256, stored samples=512, held-out functions=128; full size (the paper's where it gives one): F=64512, B=256, S=32, steps=32256, stored samples=4096, held-out functions=1024",
		"best":   "scaled: F=258048, B=128, S=128, shared points=256, steps=8064, stored samples=128, training chains=128, held-out functions=128, parameters=955744; full size (the paper's where it gives one): F=64512, B=256, S=32, shared points=0, steps=32256, stored samples=4096, training chains=64, held-out functions=1024, parameters=940928; coupling quantile instead of coupling ot; inputs drift and diffusion and potential (of −log p) instead of inputs drift and diffusion; learning rate 0.006 instead of learning rate 0.001",
		"smoke":  "scaled: F=256, B=16, S=16, steps=64, stored samples=64, training chains=16, burn-in of training chains=500, held-out functions=8, evaluation samples=512, burn-in of references=500, chains of a reference=64, parameters=",
	} {
		e, err := experiment.Load("vn1d", preset, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := ScaleNote(e); !strings.HasPrefix(got, want) || preset != "best" && strings.Contains(got, "instead of") {
			t.Errorf("%s: %s\nwant %s", preset, got, want)
		}
	}
	e, err := experiment.Load("vn1d", "full", "", []string{
		"training.learning_rate=0.1", "training.weight_decay=0", "training.precision=bfloat16", "training.times=logit_normal",
		"evaluation.solver=euler-8", "data.training.dt=0.02"})
	if err != nil {
		t.Fatal(err)
	}
	got := ScaleNote(e)
	for _, want := range []string{"learning rate 0.1", "weight decay 0", "precision bfloat16", "logit_normal times", "solver euler-8", "time steps of 0.02"} {
		if !strings.Contains(got, "; "+want+" instead of ") {
			t.Errorf("%s is not said: %s", want, got)
		}
	}
	for set, want := range map[string]string{
		"data.training.burn_in=100": "burn-in of training chains=100;",
		"data.training.thin=1":      "steps between training samples=1;",
		"data.reference.thin=1":     "steps between reference samples=1;",
	} {
		e, err := experiment.Load("vn1d", "full", "", []string{set})
		if err != nil {
			t.Fatal(err)
		}
		if got := ScaleNote(e); !strings.HasPrefix(got, "scaled: ") || !strings.Contains(got, want) {
			t.Errorf("full with %s: %s", set, got)
		}
	}
	e, err = experiment.Load("vn1d_time", "scaled", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := ScaleNote(e); strings.Contains(got, "paper") || !strings.Contains(got, "; full size: F=516096") {
		t.Errorf("an experiment that the paper does not have: %s", got)
	}
}

// An integrator of the chains is said by its name.
func TestScaleNoteSaysTheIntegrator(t *testing.T) {
	e, err := experiment.Load("anyd", "full", "", []string{"data.training.integrator=heun", "data.reference.integrator=platen"})
	if err != nil {
		t.Fatal(err)
	}
	if got := ScaleNote(e); !strings.Contains(got, "; chains by heun instead of chains by euler; references by platen instead of references by euler") || strings.Contains(got, "integrator") {
		t.Error(got)
	}
}

// What has no name in a note is there by its path; sizes, choices, labels and how the
// work is divided up are not there twice.
func TestScaleNoteSaysTheRest(t *testing.T) {
	for _, c := range []struct {
		name     string
		settings []string
		want     string // after the sizes
	}{
		{"cn2d", []string{"probes.kind=walk", "probes.dt=0.0025"}, "; probes.dt 0.0025 instead of 0.01; probes.kind walk instead of trajectory"},
		{"cn2d", []string{"evaluation.blur=1", "evaluation.scaling=0.9"}, "; evaluation.blur 1 instead of 0.05; evaluation.scaling 0.9 instead of 0.5"},
		{"cn2d", []string{"data.training.start=4", "data.reference.start=4"}, "; data.reference.start 4 instead of 1; data.training.start 4 instead of 1"},
		{"cn2d_transfer", []string{"training.sensors=[512,1024,2048]"}, "; training.sensors [512,1024,2048] instead of none"},
		{"particles64d", []string{"probes.dt=0.1"}, "; probes.dt 0.1 instead of 0.001"},
		{"vn1d", []string{"data.reference_draws=exact"}, "; data.reference_draws exact instead of simulated"},
		{"vn1d", []string{"data.reference_samples=8192"}, "; data.reference_samples 8192 instead of 4096"},
		{"vn1d", []string{"model.deeponet.f_max=4"}, "; model.deeponet.f_max 4 instead of 16"},
		{"vn1d", []string{"training.coupling=quantile", "model.deeponet.f_max=4"}, "; coupling quantile instead of coupling ot; model.deeponet.f_max 4 instead of 16"},
		{"vn1d", []string{"data.reference_draws=simulated", "data.training.start=1", "data.draws=simulated", "training.times=uniform", "training.precision=float32"}, ""},
		{"vn1d", []string{"seed=2", "data.seed=2", "data.shards=32", "data.held_out=2048", "data.held_out_from=64512", "training.micro_batch=32",
			"training.checkpoint_every=7", "training.wire=bf16", "evaluation.mcmc=[]"}, ""},
		{"vn1d", []string{"training.reproducible=true"}, ""},
		{"cn2d", []string{"model.sensor.hidden=64"}, "; model.sensor.hidden 64 instead of 128"}, // of as many parameters
	} {
		e, err := experiment.Load(c.name, "full", "", c.settings)
		if err != nil {
			t.Fatal(err)
		}
		got := ScaleNote(e)
		at := strings.Index(got, ";")
		if at < 0 {
			at = len(got)
		}
		if !strings.HasPrefix(got, "full size: ") || got[at:] != c.want {
			t.Errorf("%s %v: %s\nwant after the sizes %q", c.name, c.settings, got, c.want)
		}
	}
	// The note leaves out fields that only change the number of parameters.
	e, err := experiment.Load("cn2d", "full", "", []string{"model.sensor.steps=2", "model.sensor.width=64", "model.sensor.heads=2"})
	if err != nil {
		t.Fatal(err)
	}
	if got := ScaleNote(e); !strings.Contains(got, "recorded points of a probe=2, parameters=") || !strings.HasSuffix(got, "; model.sensor.heads 2 instead of 4") || strings.Contains(got, "width") {
		t.Error(got)
	}
	for _, name := range experiment.Names() {
		for _, preset := range experiment.Presets(name) {
			e, err := experiment.ByName(name, preset)
			if err != nil {
				t.Fatal(err)
			}
			full, err := experiment.ByName(name, "full")
			if err != nil {
				t.Fatal(err)
			}
			if rest := settingsDiff(e, full); len(rest) > 0 { // what presets decide has names
				t.Errorf("%s at %s: %q", name, preset, rest)
			}
		}
	}
}
