package data

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/fokkerplanck"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// Chains that overshoot at every step and chains that leave the grid are refused. Drifts that
// are stiff for the time step are not, but the variance of -95x is twice as large as it should.
func TestPilotRun(t *testing.T) {
	d := tiny()
	d.Training = simulate.Scheme{DT: 0.01, BurnIn: 500, Thin: 10, Chains: 16}
	d.Reference = d.Training
	d.Samples = 64
	for _, c := range []struct {
		dim              string
		grid             string
		law              string
		drift, diffusion string
		want             error
		warning          string
	}{
		{"1", "-4, hi: 4", "uniform(0.5, 2)", "-a*x", "1", nil, ""},
		{"1", "-4, hi: 4", "uniform(90, 100)", "-a*x", "1", nil, "steps of 0.01 make the variance of 16 of the first 16 functions of "},
		{"1", "-4, hi: 4", "uniform(5, 9)", "-a*x", "1", nil, ""},
		{"1", "-4, hi: 4", "uniform(180, 190)", "-a*x", "1", ErrTimeStep, ""}, // within the grid
		{"1", "-4, hi: 4", "uniform(300, 400)", "-a*x", "1", ErrTimeStep, ""},
		{"1", "-4, hi: 4", "uniform(1e6, 2e6)", "-a*x", "1", ErrTimeStep, ""},
		{"1", "-4, hi: 4", "uniform(1e8, 2e8)", "-a*x", "1", simulate.ErrDiverged, ""},
		{"1", "-4, hi: 4", "uniform(40, 60)", "-a*tanh(10*x)", "1", ErrTimeStep, ""},
		{"1", "-1, hi: 1", "uniform(0.5, 0.6)", "-a*x", "1", nil, "of the states of "},
		{"1", "-4, hi: 4", "uniform(1, 1.2)", "'-a*x + (abs(x + 0.2) < 0.06 ? 30 : 0)'", "1", nil, "the drift between two nodes of the grid, at x = -0.15"},
		{"2", "-4, hi: 4", "uniform(0.5, 2)", "[-a*x, -y]", "1", nil, ""},
		{"2", "-4, hi: 4", "uniform(0.5, 2)", "[y, -x - a*y]", "['0', '1']", nil, ""},
		{"2", "-4, hi: 4", "uniform(0.5, 2)", "[a*x, y]", "1", ErrLeavesGrid, ""},
		{"2", "-4, hi: 4", "uniform(0.5, 2)", "[-x, a*y]", "1", ErrLeavesGrid, ""},
		{"1", "-4, hi: 4", "uniform(0.5, 2)", "-a*x", "1e-5", nil, ""},
		{"1", "-4, hi: 4", "uniform(0.5, 2)", "-a*x", "1e-30", ErrNoise, ""},
		{"1", "1000, hi: 1008", "uniform(0.5, 2)", "-a*(x-1004)", "1e-6", ErrNoise, ""},
		{"2", "-4, hi: 4", "uniform(0.5, 2)", "[-a*x, -y]", "['0', '1e-30 + x^2*1e-30']", ErrNoise, ""},
		{"2", "-4, hi: 4", "uniform(0.5, 2)", "[1 - a*x, -y]", "['0', '1']", nil, ""}, // constant along x
		{"2", "-4, hi: 4", "uniform(0.5, 2)", "[-a*x, -y]", "['1e-30', '1e-3 + x^2']", nil, ""},
		{"2", "-4, hi: 4", "uniform(300, 400)", "[-x, -a*y]", "1", ErrTimeStep, ""},
	} {
		definition, err := family.Parse([]byte("name: tried\ndim: " + c.dim + "\ngrid: {lo: " + c.grid + ", nodes: 21}\n" +
			"parameters: {a: \"" + c.law + "\"}\ndrift: " + c.drift + "\ndiffusion: " + c.diffusion))
		if err != nil {
			t.Fatal(err)
		}
		d.Family = definition.String()
		warnings, err := pilotRun(t, d)
		warning := strings.Join(warnings, "; ")
		if !errors.Is(err, c.want) || (warning == "") != (c.warning == "") || !strings.Contains(warning, c.warning) {
			t.Errorf("%s with a from %s: warning %q, error %v", c.drift, c.law, warning, err)
		}
		if err != nil && !strings.Contains(err.Error(), "data.training: tried_") {
			t.Errorf("the error does not say where: %v", err)
		}
	}
}

// Exact draws have no time step; a simulated reference does.
func TestPilotRunOfSimulatedDraws(t *testing.T) {
	d := tiny()
	d.Training.DT = 2
	if _, err := pilotRun(t, d); !errors.Is(err, ErrTimeStep) {
		t.Errorf("a time step of 2: %v", err)
	}
	d.Draws = Exact
	if warnings, err := pilotRun(t, d); len(warnings) > 0 || err != nil {
		t.Errorf("exact draws: warnings %q, error %v", warnings, err)
	}
	d.Reference.DT = 2
	if _, err := pilotRun(t, d); !errors.Is(err, ErrTimeStep) || !strings.Contains(err.Error(), "data.reference: ") {
		t.Errorf("a time step of the reference of 2: %v", err)
	}
}

// Exact draws are tried, so that a law which cannot be found is refused before the run.
func TestPilotRunOfExactDraws(t *testing.T) {
	for drift, fits := range map[string]bool{"[x*(1 - x^2 - y^2) - y, y*(1 - x^2 - y^2) + x]": true, "[99*x*(1 - x^2 - y^2) - y, 99*y*(1 - x^2 - y^2) + x]": false} {
		for path, exact := range map[string]func(*Dataset){
			"data.draws":           func(d *Dataset) { d.Draws = Exact },
			"data.reference_draws": func(d *Dataset) { d.ReferenceDraws = Exact },
		} {
			definition, err := family.Parse([]byte("name: ring\ndim: 2\ngrid: {lo: -4, hi: 4, nodes: 121}\ndrift: " + drift + "\ndiffusion: 0.3"))
			if err != nil {
				t.Fatal(err)
			}
			d := tiny()
			d.Family = definition.String()
			exact(&d)
			_, err = pilotRun(t, d)
			if fits != (err == nil) || err != nil && (!errors.Is(err, fokkerplanck.ErrUnresolved) || !strings.HasPrefix(err.Error(), path+": ring")) {
				t.Errorf("%s, %s: error %v", path, drift, err)
			}
		}
	}
}

// One time step serves two schemes that start in different wells, of which only one is stiff.
func TestPilotRunOfTwoStarts(t *testing.T) {
	definition, err := family.Parse([]byte("name: wells\ndim: 1\ngrid: {lo: -2, hi: 12, nodes: 141}\n" +
		"parameters: {a: \"uniform(1, 1.1)\"}\ndrift: 'x < 5 ? -a*x : -60*(x - 10)'\ndiffusion: 0.3"))
	if err != nil {
		t.Fatal(err)
	}
	d := tiny()
	d.Family, d.Samples = definition.String(), 64
	d.Training = simulate.Scheme{DT: 0.01, BurnIn: 500, Thin: 10, Chains: 16, Start: "normal(0, 0.1)"}
	d.Reference = d.Training
	if warnings, err := pilotRun(t, d); len(warnings) > 0 || err != nil {
		t.Errorf("both in the soft well: %q, %v", warnings, err)
	}
	d.Reference.Start = "normal(10, 0.1)"
	for range 2 {
		warnings, err := pilotRun(t, d)
		if len(warnings) != 1 || err != nil || !strings.Contains(warnings[0], "of 16 of the first 16 functions") || !strings.Contains(warnings[0], "choose data.training.dt and data.reference.dt") {
			t.Errorf("%s, then %s: %q, %v", d.Training.Start, d.Reference.Start, warnings, err)
		}
		d.Training, d.Reference = d.Reference, d.Training
	}
}

// Chains that do not move are refused, whatever the drift is.
func TestPilotRunFindsLostNoise(t *testing.T) {
	d := tiny()
	for _, dt := range []float64{1e-300, 1e-18} {
		d.Training.DT = dt
		if _, err := pilotRun(t, d); !errors.Is(err, ErrNoise) {
			t.Errorf("a time step of %g: %v", dt, err)
		}
	}
	if !unmoved([]float32{1, 1, 1, 2, 2, 2}, 1) || unmoved([]float32{1, 1, 1, 2, 2, 3}, 1) || unmoved([]float32{1, 2, 1, 2, 1, 3}, 2) {
		t.Error("unmoved chains are not recognised")
	}
}

func pilotRun(t *testing.T, d Dataset) (warnings []string, err error) {
	t.Helper()
	f, err := family.ByName(d.Family)
	if err != nil {
		t.Fatal(err)
	}
	return d.PilotRun(t.Context(), f)
}

// Families far from 0 with a small deviation keep their noise in simulation. They are refused
// where float32 samples would lose it.
func TestPilotRunFarFromZero(t *testing.T) {
	for _, c := range []struct {
		dim                        int
		centre, width              float64
		drift, diffusion, training string
		want                       error
	}{
		{1, 1e4, 1, "-a*50*(x - 1e4)", "0.2", "normal(1e4, 0.01)", nil}, // a step is 6e-4, a float32 10⁻³
		{1, 9e4, 1, "-a*50*(x - 9e4)", "0.007", "normal(9e4, 0.01)", ErrRounded},
		{2, 1e4, 1, "[-a*50*(x - 1e4), -50*(y - 1e4)]", "0.2", "normal(1e4, 0.01)", nil},
		{2, 9e4, 1, "[-a*50*(x - 9e4), -50*(y - 9e4)]", "0.007", "normal(9e4, 0.01)", ErrRounded},
	} {
		definition, err := family.Parse(fmt.Appendf(nil, "name: far\ndim: %d\ngrid: {lo: %g, hi: %g, nodes: 9}\n"+
			"parameters: {a: \"uniform(0.9, 1.1)\"}\ndrift: %s\ndiffusion: %s", c.dim, c.centre-c.width, c.centre+c.width, c.drift, c.diffusion))
		if err != nil {
			t.Fatal(err)
		}
		d := tiny()
		d.Family, d.Samples = definition.String(), 64
		d.Training = simulate.Scheme{DT: 1e-5, BurnIn: 2000, Thin: 10, Chains: 16, Start: simulate.Start(c.training)}
		d.Reference = d.Training
		if _, err := pilotRun(t, d); !errors.Is(err, c.want) {
			t.Errorf("%s, %s: %v, want %v", c.drift, c.diffusion, err, c.want)
		}
	}
}

// Each component of a mixture has a pilot run of its own, also a rare one, from its own box.
func TestPilotRunOfMixture(t *testing.T) {
	const good = `{"name":"good","dim":1,"box":[-3,3],"drift":"-x","diffusion":"1"}`
	for name, c := range map[string]struct {
		drift, box string
		refused    error
		warning    string
	}{
		"good":         {"-x", "[-3, 3]", nil, ""},
		"far away":     {"-(x - 900)", "[897, 903]", nil, ""},
		"explodes":     {"x^3", "[-3, 3]", simulate.ErrDiverged, ""},
		"rather stiff": {"-20*x", "[-3, 3]", nil, "of rare_"},
	} {
		if testing.Short() && name != "good" { // the others take half a minute under the race detector
			continue
		}
		d := tiny()
		d.Family = fmt.Sprintf(`{"name":"m","dim":1,"mixture":[{"family":%s,"weight":1},{"family":{"name":"rare","dim":1,"box":%s,"drift":"%s","diffusion":"1"},"weight":1e-9}]}`, good, c.box, c.drift)
		d.Training.DT, d.Training.BurnIn = 0.01, 1000
		d.Reference.DT, d.Reference.BurnIn = 0.01, 1000
		f, err := family.ByName(d.Family)
		if err != nil {
			t.Fatal(name, err)
		}
		d.Training.Start, d.Reference.Start = d.DefaultStart(f), d.DefaultStart(f)
		warnings, err := d.PilotRun(t.Context(), f)
		if !errors.Is(err, c.refused) || err != nil && c.refused == nil {
			t.Errorf("%s: %v", name, err)
		}
		if text := strings.Join(warnings, "; "); !strings.Contains(text, c.warning) || c.warning == "" && text != "" {
			t.Errorf("%s: warnings %q", name, text)
		}
		if _, err := d.Resolve(); err != nil {
			t.Error(err)
		}
	}
	d := tiny()
	d.Training.Start = simulate.InBox
	if _, err := d.Resolve(); err == nil || !strings.Contains(err.Error(), "only a family without a grid has a box") {
		t.Errorf("a start in the box of a family with a grid: %v", err)
	}
}

// A pilot run of a family without a grid refuses what explodes, time steps that are too large and
// samples that float32 cannot hold, and warns of short burn-ins and of boxes that are too small.
func TestPilotRunInSpace(t *testing.T) {
	for name, c := range map[string]struct {
		drift, diffusion, box string
		burnIn                int
		refused               error
		warning               string
	}{
		"good":           {"-x", "1", "[-3, 3]", 1000, nil, ""},
		"explodes":       {"x[i]^3", "1", "[-3, 3]", 1000, simulate.ErrDiverged, ""},
		"stiff":          {"-170*x", "1", "[-3, 3]", 1000, ErrTimeStep, ""},
		"rather stiff":   {"-20*x", "1", "[-3, 3]", 1000, nil, ", or data.training.integrator leimkuhler-matthews, which has a smaller error"},
		"turning":        {"i % 2 == 0 ? x[i+1] - x[i]*(x[i]^2 + x[i+1]^2 - 1) : -x[i-1] - x[i]*(x[i]^2 + x[i-1]^2 - 1)", "0.05", "[-2, 2]", 1000, nil, ""},
		"rounded":        {"-(x - 900000)", "0.01", "[899990, 900010]", 1000, ErrRounded, ""},
		"short burn-in":  {"-x", "1", "[-3, 3]", 20, nil, "remember their start"},
		"small box":      {"-x", "1", "[-0.3, 0.3]", 1000, nil, "outside its box"},
		"not everywhere": {"-log(x)", "1", "[-3, 3]", 1000, family.ErrNoEquation, ""},
	} {
		if testing.Short() && name != "explodes" { // the others take minutes under the race detector
			continue
		}
		d := tiny()
		d.Family = fmt.Sprintf(`{"name":"a","dim":4,"box":%s,"drift":"%s","diffusion":"%s"}`, c.box, c.drift, c.diffusion)
		d.Training.DT, d.Training.BurnIn = 0.01, c.burnIn
		d.Reference.DT, d.Reference.BurnIn = 0.01, c.burnIn
		f, err := family.ByName(d.Family)
		if err != nil {
			t.Fatal(name, err)
		}
		d.Training.Start, d.Reference.Start = d.DefaultStart(f), d.DefaultStart(f)
		warnings, err := d.PilotRun(t.Context(), f)
		if !errors.Is(err, c.refused) || err != nil && c.refused == nil {
			t.Errorf("%s: %v", name, err)
		}
		if text := strings.Join(warnings, "; "); !strings.Contains(text, c.warning) || c.warning == "" && text != "" {
			t.Errorf("%s: warnings %q", name, text)
		}
	}
}

// The pilot run judges other integrators by chains of half the step, and names better ones.
func TestPilotRunOfIntegrators(t *testing.T) {
	const pairs = "i == 0 ? x1 : -25*x0 - x1" // a position and its velocity, of frequency 5
	for name, c := range map[string]struct {
		integrator       simulate.Integrator
		drift, diffusion string
		dt               float64
		refused          error
		warning          string
	}{
		"exact":            {simulate.LeimkuhlerMatthews, "-40*x", "1", 0.02, nil, ""}, // where Euler's variance is 1.7 times as large
		"good":             {simulate.Heun, "-20*x", "1", 0.01, nil, ""},
		"too small":        {simulate.Heun, "-60*x", "1", 0.02, nil, "too small: choose data.training.dt and data.reference.dt 0.00"},
		"turning":          {simulate.LeimkuhlerMatthews, "i == 0 ? -x0 + 10*x1 : -x1 - 10*x0", "1", 0.01, nil, ", or data.training.integrator and data.reference.integrator heun"},
		"pairs, Euler":     {simulate.Euler, pairs, "i == 0 ? 0 : 1", 0.02, nil, ", or data.training.integrator and data.reference.integrator baoab"},
		"pairs, far":       {simulate.Euler, pairs, "i == 0 ? 0 : 1", 0.03, ErrTimeStep, "or a larger one with the integrator baoab"},
		"pairs":            {simulate.BAOAB, pairs, "i == 0 ? 0 : 1", 0.05, nil, ""},
		"pairs, coarse":    {simulate.BAOAB, pairs, "i == 0 ? 0 : 1", 0.2, nil, "too small: choose data.training.dt and data.reference.dt 0.0"}, // velocities by (ωdt)²/4
		"gradient":         {simulate.MALA, "-20*x", "1", 0.05, nil, ""},
		"gradient, coarse": {simulate.MALA, "-20*x", "1", 0.11, nil, "of the steps of 0.11, so that its states hardly move: choose a smaller data.training.dt and data.reference.dt"},
		"a kink":           {simulate.MALA, "-4*tanh(500*x[i])", "1", 0.05, nil, "bends within steps of 0.05, so that the probabilities by which it accepts them are off by 0."},
		"state dependent":  {simulate.Euler, "-20*x", "1 + cos(x[i])/2", 0.01, nil, ", or data.training.integrator and data.reference.integrator platen"},
		"platen":           {simulate.Platen, "-20*x", "1 + cos(x[i])/2", 0.01, nil, ""},
		"superlinear":      {simulate.Euler, "-200*x[i]^3", "1", 0.01, simulate.ErrDiverged, ""},
		"superlinear, too": {simulate.Tamed, "-200*x[i]^3", "1", 0.001, nil, ""},
		"tamed too much":   {simulate.Tamed, "-200*x[i]^3", "1", 0.01, nil, "too large: choose data.training.dt and data.reference.dt 0.00"},
	} {
		if testing.Short() && name != "pairs" { // the others take minutes under the race detector
			continue
		}
		d := tiny()
		d.Family = fmt.Sprintf(`{"name":"a","dim":2,"box":[-3,3],"drift":"%s","diffusion":"%s"}`, c.drift, c.diffusion)
		f, err := family.ByName(d.Family)
		if err != nil {
			t.Fatal(name, err)
		}
		d.Training = simulate.Scheme{DT: c.dt, BurnIn: int(6 / c.dt), Thin: 10, Chains: 64, Integrator: c.integrator, Start: d.DefaultStart(f)}
		if c.drift == pairs {
			d.Training.Start = "normal(0, 0.14); normal(0, 0.7)"
		}
		d.Reference = d.Training
		warnings, err := d.PilotRun(t.Context(), f)
		text := strings.Join(warnings, "; ")
		if err != nil {
			text += err.Error()
		}
		if !errors.Is(err, c.refused) || err != nil && c.refused == nil {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.Contains(text, c.warning) || c.warning == "" && c.refused == nil && text != "" {
			t.Errorf("%s: %q", name, text)
		}
	}
}
