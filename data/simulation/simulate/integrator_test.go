package simulate

import (
	"encoding/json"
	"errors"
	"math"
	"math/cmplx"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// variances are those of the coordinates after a burn-in of time 20, with a relative error of chance of
// 0.6 % in the deviation.
func variances(t *testing.T, s sde.Space, i Integrator, dt float64) []float64 {
	t.Helper()
	const chains, perChain = 2048, 24
	d := s.Dim()
	x := make([]float32, chains*perChain*d)
	scheme := Scheme{DT: dt, BurnIn: int(20 / dt), Thin: int(math.Ceil(2 / dt)), Chains: chains, Integrator: i}
	if err := Fastest().Chains(t.Context(), x, s, scheme, 1, 0, "test"); err != nil {
		t.Fatal(err)
	}
	v := make([]float64, d)
	for at, x := range x {
		v[at%d] += float64(x) * float64(x) / (chains * perChain)
	}
	return v
}

const chance = 5 * 0.0064 // five deviations

// Of dz = −az dt + dW with complex a, z and W, the law of a scheme z ← gz + n√dt·R is known.
func TestIntegratorsOfLinearEquations(t *testing.T) {
	const dt = 0.1
	a := complex(1, 2)
	turning := systemOf(t, []string{"-x0 + 2*x1", "-2*x0 - x1"}, []string{"1"})
	euler := dt / (1 - square(1-dt*a))
	heun := dt * square(1-dt*a/2) / (1 - square(1-dt*a+dt*dt*a*a/2))
	for i, want := range map[Integrator]float64{
		Euler: euler, Milstein: euler, // the noise is additive
		Heun: heun, Platen: heun,
		// 1 − λdt/2 times Euler's, since a state has a part of the next noise.
		LeimkuhlerMatthews: euler * (1 - real(a)*dt/2),
	} {
		for k, v := range variances(t, turning, i, dt) {
			if !(math.Abs(v/want-1) < chance) {
				t.Errorf("%v: variance of coordinate %d is %.4f, want %.4f", i, k, v, want)
			}
		}
	}
	// On the line Leimkuhler and Matthews have the law itself, also with a large step.
	if v := variances(t, systemOf(t, []string{"-x0"}, []string{"1"}), LeimkuhlerMatthews, 0.8)[0]; !(math.Abs(2*v-1) < chance) {
		t.Errorf("Leimkuhler–Matthews: variance %.4f, want 0.5", v)
	}
	// A full matrix, by which noises are shared: the law of −x with the spread SSᵀ is N(0, ½SSᵀ).
	if v := variances(t, systemOf(t, []string{"-x0", "-x1"}, []string{"1", "2", "0", "1"}), LeimkuhlerMatthews, 0.8); !(math.Abs(v[0]/2.5-1) < chance && math.Abs(v[1]/0.5-1) < chance) {
		t.Errorf("Leimkuhler–Matthews with a matrix: variances %.4f, want 2.5 and 0.5", v)
	}
}

func square(z complex128) float64 { return math.Pow(cmplx.Abs(z), 2) }

// BAOAB has the exact law of the positions of a harmonic force. Of the velocities it is the scheme's, by
// composing its matrices.
func TestBAOABOfHarmonicForce(t *testing.T) {
	const dt, friction, temperature, rate, stiffness = 0.6, 0.7, 1.5, 2., 0.8
	s := systemOf(t, []string{"-0.8*x1 - 0.7*x0", "2*x0"}, []string{"sqrt(2*0.7*1.5)", "0"}) // the velocity first
	decay := math.Exp(-friction * dt)
	kick := temperature * (1 - decay*decay) // variance
	var q, v, qv float64                    // covariances
	for range 1000 {
		move := func(a, b, c, d float64) {
			q, qv, v = a*a*q+2*a*b*qv+b*b*v, a*c*q+(a*d+b*c)*qv+b*d*v, c*c*q+2*c*d*qv+d*d*v
		}
		b, a := func() { move(1, 0, -dt/2*stiffness, 1) }, func() { move(1, dt/2*rate, 0, 1) }
		b()
		a()
		move(1, 0, 0, decay)
		v += kick
		a()
		b()
	}
	if exact := temperature * rate / stiffness; math.Abs(q/exact-1) > 1e-9 {
		t.Fatalf("the composed scheme has the variance %g of the positions, the law %g", q, exact)
	}
	got := variances(t, s, BAOAB, dt)
	if !(math.Abs(got[0]/v-1) < chance && math.Abs(got[1]/q-1) < chance) || math.Abs(v/temperature-1) < 2*chance {
		t.Errorf("variances of velocity and position are %.4f, want %.4f and %.4f", got, v, q)
	}
}

// Of dX = X dt/2 + X dW the solution is X exp(W), so with the normals of its chain the error of a path
// is known: order ½ of Euler's, 1 of Milstein's.
func TestMilsteinFollowsPaths(t *testing.T) {
	s := systemOf(t, []string{"x0/2"}, []string{"x0"})
	deviation := func(i Integrator, steps int) (sum float64) {
		const chains = 4096
		scheme := Scheme{DT: 1 / float64(steps), BurnIn: steps, Thin: 1, Chains: chains, Start: "uniform(1, 2)", Integrator: i}
		x := make([]float32, chains)
		if err := Fastest().Chains(t.Context(), x, s, scheme, 1, 0, "test"); err != nil {
			t.Fatal(err)
		}
		for chain, got := range x {
			source, w := NewSource(1, "test", 0, uint64(chain)), 0.
			first := 1 + float64(uniform(source.Uint32()))
			for range steps {
				w += math.Sqrt(scheme.DT) * float64(Normal(source.Uint32()))
			}
			sum += math.Abs(float64(got)-first*math.Exp(w)) / chains
		}
		return sum
	}
	for i, order := range map[Integrator]float64{Euler: 0.5, Milstein: 1} {
		coarse, fine := deviation(i, 64), deviation(i, 512)
		if slope := math.Log(coarse/fine) / math.Log(8); !(math.Abs(slope-order) < 0.1) {
			t.Errorf("%v: mean errors of paths %.2e and %.2e with 64 and 512 steps, slope %.2f, want %g", i, coarse, fine, slope, order)
		}
	}
}

// The tamed scheme moves by b dt/(1 + |b|dt), and stays where Euler's diverges.
func TestTamed(t *testing.T) {
	x := make([]float32, 4)
	scheme := Scheme{DT: 0.2, Thin: 1, Chains: 1, Integrator: Tamed}
	if err := Fastest().Chains(t.Context(), x, systemOf(t, []string{"3", "4"}, []string{"0"}), scheme, 1, 0, "test"); err != nil {
		t.Fatal(err)
	}
	if a, b := float64(x[2]-x[0]), float64(x[3]-x[1]); math.Abs(a-0.3) > 1e-6 || math.Abs(b-0.4) > 1e-6 { // |b|dt is 1
		t.Errorf("moved by %v, %v, want 0.3, 0.4", a, b)
	}
	s := systemOf(t, []string{"-x0^3"}, []string{"1"})
	scheme = Scheme{DT: 0.02, BurnIn: 1000, Thin: 100, Chains: 2048, Start: "normal(0, 20)"}
	many := make([]float32, 20*scheme.Chains)
	if err := Fastest().Chains(t.Context(), many, s, scheme, 1, 0, "test"); !errors.Is(err, ErrDiverged) {
		t.Errorf("Euler's scheme: %v", err)
	}
	scheme.Integrator = Tamed
	if err := Fastest().Chains(t.Context(), many, s, scheme, 1, 0, "test"); err != nil {
		t.Fatal(err)
	}
	fourth := 0.
	for _, v := range many {
		fourth += math.Pow(float64(v), 4) / float64(len(many))
	}
	if !(math.Abs(fourth/0.5-1) < 0.1) { // E x⁴ = ½, since E x·b = −½
		t.Errorf("the mean of x⁴ is %.3f, want 0.5", fourth)
	}
}

// A sample depends neither on the engine nor on the chains beside it.
func TestIntegratorsAreTheSameEverywhere(t *testing.T) {
	diagonal := systemOf(t, []string{"-x0 + x1^2/4", "-x1", "-x2"}, []string{"1", "sqrt(1 + x1^2/4)", "2 + cos(x2)"})
	additive := systemOf(t, []string{"-x0 + x1", "-x1", "-x0 - x2"}, []string{"1", "2", "0", "0", "1", "0", "1", "0", "1"})
	moving := systemOf(t, []string{"x2", "x3", "-x0 + sin(x1) - x2", "-2*x3 - x1"}, []string{"0", "0", "1", "2"})
	gradient := systemOf(t, []string{"-2*sin(x0) - x1/2", "-x0/2 - tanh(x1)", "-x2^3/3"}, []string{"1"})
	seen := make(map[string]Integrator)
	for _, i := range Integrators() {
		s := diagonal
		switch i {
		case LeimkuhlerMatthews:
			s = additive
		case BAOAB:
			s = moving
		case MALA:
			s = gradient
		}
		d, scheme := s.Dim(), Scheme{DT: 0.1, BurnIn: 20, Thin: 3, Chains: 70, Integrator: i}
		var want []float32
		for _, e := range engines {
			got := make([]float32, 2*scheme.Chains*d)
			if err := e.Chains(t.Context(), got, s, scheme, 7, 3, "test"); err != nil {
				t.Fatal(i, err)
			}
			if want == nil {
				want = got
			} else if !slices.Equal(got, want) {
				t.Errorf("%v: %v gives other samples", i, e)
			}
		}
		scheme.Chains = 3
		few := make([]float32, 2*3*d)
		if err := Fastest().Chains(t.Context(), few, s, scheme, 7, 3, "test"); err != nil {
			t.Fatal(i, err)
		}
		if !slices.Equal(few, want[:len(few)]) {
			t.Errorf("%v: three chains are not the first three of seventy", i)
		}
		raw, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if other, twice := seen[string(raw)]; twice {
			t.Errorf("%v gives the samples of %v", i, other)
		}
		seen[string(raw)] = i
	}
}

// Equations that an integrator does not suit are refused, and the error names one that does.
func TestIntegratorsRefuse(t *testing.T) {
	for name, c := range map[string]struct {
		integrator       Integrator
		drift, diffusion []string
		want             string
	}{
		"state in the noise": {LeimkuhlerMatthews, []string{"-x0"}, []string{"1 + x0^2"}, "does not depend on the state; platen would do"},
		"shared noise":       {Platen, []string{"-x0", "-x1"}, []string{"1", "x0"}, "diagonal diffusion, of which number k depends on x[k] alone; heun would do"},
		"scalar of all":      {Milstein, []string{"-x0", "-x1"}, []string{"x0"}, "heun would do"},
		"all noisy":          {BAOAB, []string{"x1", "-x0 - x1"}, []string{"1", "1"}, "2 of 2 coordinates have noise, not half of them; heun would do"},
		"noise by state":     {BAOAB, []string{"x1", "-x0 - x1"}, []string{"0", "x0"}, "do not depend on the state; heun would do"},
		"a slow position":    {BAOAB, []string{"x1 - x0", "-x0 - x1"}, []string{"0", "1"}, "x[0] has no noise, and its drift is not in proportion"},
		"curved friction":    {BAOAB, []string{"x1", "-x0 - x1^3"}, []string{"0", "1"}, "the drift of x[1] is not a force"},
		"friction by place":  {BAOAB, []string{"x1", "-x0 - x0^2*x1"}, []string{"0", "1"}, "the drift of x[1] is not a force"},
		"driven":             {BAOAB, []string{"x1", "-x0 + 0.1*x1"}, []string{"0", "1"}, "friction -0.1, want a positive one"},
		"no friction":        {BAOAB, []string{"x1", "-x0"}, []string{"0", "1"}, "want a positive one"},
		"one velocity twice": {BAOAB, []string{"x2", "x2", "-x0 - x2", "-x1 - x3"}, []string{"0", "0", "1", "1"}, "x[1] has no noise"},
		"coupled friction":   {BAOAB, []string{"x2", "x3", "-x0 - x2 + x3", "-x1 - x3"}, []string{"0", "0", "1", "1"}, "the drift of x[2]"},
		"turning":            {MALA, []string{"-x0 + x1", "-x0 - x1"}, []string{"1"}, "needs a drift that is a gradient, and noise of all coordinates: otherwise the density of the law is not known; heun would do"},
		"steps by state":     {MALA, []string{"-x0"}, []string{"1 + x0^2"}, "platen would do"},
		"unknown":            {"rk4", []string{"-x0"}, []string{"1"}, "\"rk4\" is unknown: must be euler, leimkuhler-matthews, "},
	} {
		s := systemOf(t, c.drift, c.diffusion)
		scheme := Scheme{DT: 0.01, Thin: 1, Chains: 1, Integrator: c.integrator}
		err := c.integrator.Fits(s)
		run := Fastest().Chains(t.Context(), make([]float32, s.Dim()), s, scheme, 1, 0, "test")
		for _, err := range []error{err, run} {
			if !errors.Is(err, ErrIntegrator) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	grid := sde.Coefficients{Grid: sde.Grid{Lo: -1, Hi: 1, N: 2}, Drift: []float32{1, -1}, Diffusion: []float32{1, 1}}
	scheme := Scheme{DT: 0.01, Thin: 1, Chains: 1, Integrator: Heun}
	if err := Fastest().Chains(t.Context(), make([]float32, 1), grid, scheme, 1, 0, "test"); !errors.Is(err, ErrIntegrator) {
		t.Errorf("on a grid: %v", err)
	}
	equation := func(string, *[lanes]float64) (func(int), *[lanes]float64, *[lanes]float64) { return nil, nil, nil }
	if err := Fastest().EulerMaruyamaFunc(t.Context(), make([]float64, 1), equation, sde.WholeLine, scheme, 1, 0, "test", nil); !errors.Is(err, ErrIntegrator) {
		t.Errorf("on the line: %v", err)
	}
}

func TestSuitedIntegrators(t *testing.T) {
	for name, c := range map[string]struct {
		drift, diffusion []string
		want             Integrator
		order            int
	}{
		"gradient":            {[]string{"-x0^3 + x1", "x0 - sin(x1)"}, []string{"2"}, LeimkuhlerMatthews, 2},
		"gradient, two noise": {[]string{"-x0^3 + x1", "4*(x0 - sin(x1))"}, []string{"1", "2"}, LeimkuhlerMatthews, 2},
		"gradient, a matrix":  {[]string{"-2*x0 - x1", "-x0 - x1"}, []string{"1", "1", "0", "1"}, LeimkuhlerMatthews, 2},
		"turning":             {[]string{"-x0 + x1", "-x0 - x1"}, []string{"1"}, Heun, 2},
		"other noise":         {[]string{"-x0^3 + x1", "x0 - sin(x1)"}, []string{"1", "2"}, Heun, 2},
		"diagonal":            {[]string{"-x0", "-x1"}, []string{"1", "cos(x1)"}, Platen, 2},
		"line":                {[]string{"-x0"}, []string{"1 + x0^2"}, Platen, 2},
		"underdamped":         {[]string{"3*x1", "-x0^3 - 2*x1"}, []string{"0", "1"}, BAOAB, 2},
		"any":                 {[]string{"-x0", "-x1"}, []string{"1", "cos(x0)"}, Heun, 1},
		"degenerate":          {[]string{"x1", "-x0 - x1^3"}, []string{"0", "1"}, Heun, 2},
	} {
		s := systemOf(t, c.drift, c.diffusion)
		i := Suited(s)
		if i != c.want || i.Order(s) != c.order || i.Fits(s) != nil {
			t.Errorf("%s: %v of order %d, want %v of %d; fits: %v", name, i, i.Order(s), c.want, c.order, i.Fits(s))
		}
		if i := Euler; i.Order(s) != 1 || i.Fits(s) != nil {
			t.Errorf("%s: Euler's has order %d, %v", name, i.Order(s), i.Fits(s))
		}
	}
}

// The default is not written, so that older hashes stay, and each name is read as it is written.
func TestIntegratorNames(t *testing.T) {
	raw, err := json.Marshal(Scheme{DT: 0.01, Thin: 1, Chains: 1})
	if err != nil || strings.Contains(string(raw), "integrator") {
		t.Errorf("%s, %v", raw, err)
	}
	titles := make(map[string]bool)
	for _, i := range Integrators() {
		var read Integrator
		if err := read.UnmarshalText([]byte(i.String())); err != nil || read != i {
			t.Errorf("%v is read as %v: %v", i, read, err)
		}
		titles[i.Title()] = true
	}
	if len(titles) != len(Integrators()) || !titles["Heun"] || !titles["Euler–Maruyama"] {
		t.Errorf("titles %v", titles)
	}
}
