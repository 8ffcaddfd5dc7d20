package family

import (
	"context"
	"errors"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/ergoflow/ergoflow/data/equations/density"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// ksScaled is √n times the Kolmogorov–Smirnov distance: for independent samples
// of the law above 1.95 with probability 0.001.
func ksScaled(samples []float32, law interface{ CDF(x float64) float64 }) float64 {
	sorted := slices.Sorted(slices.Values(samples))
	n := float64(len(sorted))
	var d float64
	for i, x := range sorted {
		u := law.CDF(float64(x))
		d = max(d, u-float64(i)/n, float64(i+1)/n-u)
	}
	return d * math.Sqrt(n)
}

func TestByName(t *testing.T) {
	for _, name := range []string{"vn1d", "rare1d", "cn2d", "particles64d"} {
		f, err := ByName(name)
		if err != nil || f.Name() != name {
			t.Errorf("ByName(%q) = %v, %v", name, f, err)
		}
		if tabulated, ok := f.(Tabulated); ok {
			if err := tabulated.Grid().Validate(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if _, err := ByName("vn2d"); err == nil || !strings.Contains(err.Error(), `no family is called "vn2d": must be one of vn1d, rare1d, cn2d, particles64d`) {
		t.Errorf("unknown family: %v", err)
	}
}

// Functions are part of every data set's identity: function i of a seed may
// never change. Last bits of the Fourier transform and of exponentials may
// differ between processors.
func TestGoldenCoefficients(t *testing.T) {
	for _, c := range []struct {
		family           string
		seed             uint64
		i                int
		nodes            []int
		drift, diffusion []float64
	}{
		{"vn1d", 1, 0, []int{0, 20, 41, 63}, []float64{5.644656, -0.3405769, -1.772367, -7.208126}, []float64{0.73846, 0.25, 1.125096, 0.25}},
		{"vn1d", 1, 64511, []int{0, 20, 41, 63}, []float64{6.455014, 0.3273796, 0.1204254, -6.395647}, []float64{1.716534, 0.3478687, 0.6489014, 0.3456931}},
		{"vn1d", 7, 3, []int{0, 20, 41, 63}, []float64{6.151254, -0.1028793, 0.04097181, -6.321584}, []float64{1.366197, 1.888228, 0.9028991, 1.658217}},
		{"rare1d", 1, 0, []int{0, 100, 150, 255}, []float64{0.4950513, 0.02533694, 0.003303307, -0.1533579}, []float64{0.1276938, 0.07066112, 0.07740238, 0.1234473}},
		{"rare1d", 1, 64511, []int{0, 100, 150, 255}, []float64{0.1900747, 0.02772604, 0.04214079, -0.1206653}, []float64{0.1199888, 0.08396317, 0.1174994, 0.1070741}},
		{"rare1d", 7, 3, []int{0, 100, 150, 255}, []float64{0.07621495, -0.06579339, 0.01621437, -0.06588483}, []float64{0.09594578, 0.1072318, 0.07777025, 0.1014237}},
	} {
		f, err := ByName(c.family)
		if err != nil {
			t.Fatal(err)
		}
		function, err := f.Function(c.seed, c.i)
		if err != nil {
			t.Fatal(err)
		}
		got := function.System.(sde.Coefficients)
		var drift, diffusion []float64
		ok := len(c.drift) == len(c.nodes)
		for k, j := range c.nodes {
			drift, diffusion = append(drift, float64(got.Drift[j])), append(diffusion, float64(got.Diffusion[j]))
			ok = ok && math.Abs(drift[k]-c.drift[k]) <= 1e-6*(1+math.Abs(c.drift[k])) && math.Abs(diffusion[k]-c.diffusion[k]) <= 1e-6
		}
		if !ok {
			t.Errorf("%s(%d, %d) changed:\n%.7v, %.7v, want\n%v, %v", c.family, c.seed, c.i, drift, diffusion, c.drift, c.diffusion)
		}
	}
}

// Every function is valid, has a law, and is the same when made again, on its
// own and concurrently.
func TestFunctions(t *testing.T) {
	for _, f := range families {
		const n = 200
		made := make([]Function, n)
		err := simulate.Each(context.Background(), n, func(_ context.Context, i int) (err error) {
			made[i], err = f.Function(3, i)
			return err
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, function := range made {
			again, err := f.Function(3, i)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(function, again) {
				t.Fatalf("%s: function %d differs when made again", f.Name(), i)
			}
			if err := function.System.Validate(); err != nil || function.System.Dim() != f.Dim() {
				t.Fatalf("%s: function %d has dimension %d, error %v", f.Name(), i, function.System.Dim(), err)
			}
			fields := f.Fields()
			if len(function.Fields) != len(fields) {
				t.Fatalf("%s: function %d has %d fields, want %d", f.Name(), i, len(function.Fields), len(fields))
			}
			for k, field := range fields {
				if len(function.Fields[k]) != field.Size() {
					t.Fatalf("%s: function %d has %d values of %+v", f.Name(), i, len(function.Fields[k]), field)
				}
			}
			if i > 0 && reflect.DeepEqual(function.System, made[0].System) {
				t.Fatalf("%s: functions 0 and %d are the same", f.Name(), i)
			}
			if stored, ok := f.(Stored); ok {
				restored, err := stored.Restore(function.Fields)
				if err != nil || !reflect.DeepEqual(restored, function) {
					t.Fatalf("%s: function %d restored from its fields differs, error %v", f.Name(), i, err)
				}
			}
			exact, ok := f.(KnownLaw)
			if !ok {
				continue
			}
			law, err := exact.Law(3, i)
			if err != nil {
				t.Fatal(err)
			}
			if q1, q2, q3 := law.Quantile(0.25), law.Quantile(0.5), law.Quantile(0.75); !(q1 < q2 && q2 < q3 && q3-q1 < 7) || !(math.Abs(q2) < 5) {
				t.Errorf("%s: law %d has quartiles %v, %v, %v", f.Name(), i, q1, q2, q3)
			}
		}
	}
}

// vn1d's fields over 4,000 functions: s = b + w′ has mean 0 and variance 1 at
// every node and correlation exp(−r²/2), 1 + s′ is cut at ¼, s and s′ are
// independent. All within 5 standard errors.
func TestVN1DFields(t *testing.T) {
	const n = 4000
	nodes := []int{0, 7, 31, 32, 50, 63}
	mean, square := make([]float64, 64), make([]float64, 64)
	var near, cross, cut float64
	for i := range n {
		c, err := vn1d{}.coefficients(11, i)
		if err != nil {
			t.Fatal(err)
		}
		s := func(j int) float64 {
			x := vn1dGrid.At(j)
			return float64(c.Drift[j]) + 2*max(math.Abs(x)-2, 0)*math.Copysign(1, x)
		}
		for _, j := range nodes {
			mean[j] += s(j) / n
			square[j] += s(j) * s(j) / n
		}
		near += s(31) * s(37) / n
		if sigma := float64(c.Diffusion[31]); sigma == 0.25 {
			cut++
		} else if !(sigma >= 0.25) {
			t.Fatalf("diffusion %v is below its floor", sigma)
		}
		cross += s(31) * math.Copysign(1, float64(c.Diffusion[31])-1) / n
	}
	root := math.Sqrt(n)
	for _, j := range nodes {
		if !(math.Abs(mean[j])*root <= 5 && math.Abs(square[j]-1)/math.Sqrt2*root <= 5) {
			t.Errorf("node %d: mean %.3f, variance %.3f, want 0, 1", j, mean[j], square[j])
		}
	}
	if k := math.Exp(-math.Pow(6*vn1dGrid.Step(), 2) / 2); !(math.Abs(near-k)/math.Sqrt(1+k*k)*root <= 5) {
		t.Errorf("covariance six nodes apart is %.3f, want %.3f", near, k)
	}
	if !(math.Abs(cross)*root <= 5) {
		t.Errorf("drift and diffusion correlate by %.3f", cross)
	}
	if p := math.Erfc(0.75/math.Sqrt2) / 2; !(math.Abs(cut/n-p)/math.Sqrt(p*(1-p))*root <= 5) {
		t.Errorf("the floor is reached in %.3f of functions, want %.3f", cut/n, p)
	}
}

// vn1d functions with one well and strong noise mix fast: simulated chains have
// the exact law. (Many of the others do not after 50 time units.)
func TestVN1DSamples(t *testing.T) {
	s := simulate.Scheme{DT: 0.01, BurnIn: 2000, Thin: 10, Chains: 2048}
	mixing := 0
	for i := 0; mixing < 4; i++ {
		c, err := vn1d{}.coefficients(1, i)
		if err != nil {
			t.Fatal(err)
		}
		wells := 0
		for j := range c.Grid.N - 1 {
			if c.Drift[j] > 0 && c.Drift[j+1] <= 0 {
				wells++
			}
		}
		if wells > 1 || slices.Min(c.Diffusion) < 0.4 {
			continue
		}
		mixing++
		law, err := vn1d{}.Law(1, i)
		if err != nil {
			t.Fatal(err)
		}
		dst := make([]float32, s.Chains)
		if err := Sample(context.Background(), vn1d{line{vn1dGrid}}, dst, SampleSpec{i, 1, 1, s, "test", false}, simulate.Fastest(), nil); err != nil {
			t.Fatal(err)
		}
		if k := ksScaled(dst, law); !(k <= 1.95) {
			t.Errorf("function %d: √n·KS is %.2f", i, k)
		}
	}
}

// Purposes are independent sets of the same law.
func TestPurposes(t *testing.T) {
	s := simulate.Scheme{DT: 0.01, BurnIn: 10, Thin: 1, Chains: 64}
	for _, f := range families {
		n := s.Chains * f.Dim()
		a, b, again := make([]float32, n), make([]float32, n), make([]float32, n)
		for dst, purpose := range map[*[]float32]string{&a: "train", &b: "reference", &again: "train"} {
			if err := Sample(context.Background(), f, *dst, SampleSpec{5, 1, 1, s, purpose, false}, simulate.Fastest(), nil); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(a, again) || slices.Equal(a, b) {
			t.Errorf("%s: train %v, again %v, reference %v", f.Name(), a[:2], again[:2], b[:2])
		}
	}
}

// Exact draws have the law of their function. They are the same on any number of
// threads and in any company, and families without laws refuse them.
func TestExactDraws(t *testing.T) {
	const functions, n = 40, 2000
	doubleWell := defined(t, doubleWell)
	for _, f := range []Family{families[0], families[1], doubleWell} {
		dst := make([]float32, functions*n)
		draws := SampleSpec{First: 3, Count: functions, Seed: 1, Purpose: "test", Exact: true}
		if err := Sample(t.Context(), f, dst, draws, simulate.Fastest(), nil); err != nil {
			t.Fatal(err)
		}
		var total float64
		for i := range functions {
			law, err := f.(KnownLaw).Law(1, 3+i)
			if err != nil {
				t.Fatal(err)
			}
			k := ksScaled(dst[i*n:(i+1)*n], law)
			if total += k; !(k <= 2.2) {
				t.Errorf("%s function %d: √n·KS is %.2f", f.Name(), 3+i, k)
			}
		}
		// Kolmogorov's law has mean √(π/2)·log 2 = 0.869 and deviation 0.260.
		if mean := total / functions; !(math.Abs(mean-0.869) <= 4.5*0.26/math.Sqrt(functions)) {
			t.Errorf("%s: √n·KS is %.3f on average, want 0.869", f.Name(), mean)
		}
		alone := make([]float32, n)
		before := runtime.GOMAXPROCS(1)
		err := Sample(t.Context(), f, alone, SampleSpec{First: 20, Count: 1, Seed: 1, Purpose: "test", Exact: true}, simulate.Fastest(), nil)
		runtime.GOMAXPROCS(before)
		if err != nil || !slices.Equal(alone, dst[17*n:18*n]) {
			t.Errorf("%s: function 20 alone differs (%v)", f.Name(), err)
		}
	}
	for _, f := range []Family{particles64d{}, vn1dTime{}, example(t, "lorenz63")} {
		err := Sample(t.Context(), f, make([]float32, f.Dim()), SampleSpec{Count: 1, Exact: true}, simulate.Fastest(), nil)
		if !errors.Is(err, ErrNoLaw) || !strings.Contains(err.Error(), f.Name()) {
			t.Errorf("%s: %v", f.Name(), err)
		}
	}
	if err := Sample(t.Context(), vn1d{line{vn1dGrid}}, make([]float32, 3), SampleSpec{Count: 2, Exact: true}, nil, nil); err == nil {
		t.Error("three values for two functions")
	}
}

// In the plane exact draws have the law that chains have after a long time, of tables and of formulas. They
// are the same in any company.
func TestExactDrawsInThePlane(t *testing.T) {
	const functions, n = 4, 2048
	for _, f := range []Family{cn2d{}, defined(t, vortex), example(t, "hopf"), example(t, "sediment")} {
		draws := SampleSpec{First: 3, Count: functions, Seed: 1, Purpose: "test", Exact: true}
		chains := SampleSpec{First: 3, Count: functions, Seed: 1, Purpose: "test", Scheme: simulate.Scheme{DT: 0.001, BurnIn: 8000, Thin: 1, Chains: n}}
		if s, ok := f.(Spatial); ok && s.Box() != nil {
			chains.Scheme.Start = simulate.InBox
		}
		d := f.Dim()
		x, y := make([]float32, functions*n*d), make([]float32, functions*n*d)
		for dst, spec := range map[*[]float32]SampleSpec{&x: draws, &y: chains} {
			if err := Sample(t.Context(), f, *dst, spec, simulate.Fastest(), nil); err != nil {
				t.Fatal(err)
			}
		}
		for i := range functions {
			for c := range 3 { // the coordinates, and their sum
				along := func(x []float32) (values []float64) {
					for x := x[i*n*d:][:n*d]; len(x) > 0; x = x[d:] {
						values = append(values, []float64{float64(x[0]), float64(x[1]), float64(x[0] + x[1])}[c])
					}
					slices.Sort(values)
					return values
				}
				if k := math.Sqrt(n/2) * stat.KolmogorovSmirnov(along(x), nil, along(y), nil); !(k <= 2.2) {
					t.Errorf("%s, function %d, direction %d: √(n/2)·KS is %.2f", f.Name(), 3+i, c, k)
				}
			}
		}
		alone := make([]float32, n*d)
		err := Sample(t.Context(), f, alone, SampleSpec{First: 5, Count: 1, Seed: 1, Purpose: "test", Exact: true}, simulate.Fastest(), nil)
		if err != nil || !slices.Equal(alone, x[2*n*d:3*n*d]) {
			t.Errorf("%s: function 5 alone differs (%v)", f.Name(), err)
		}
	}
}

// Where wells are so deep that chains of 50 time units stay in theirs, exact
// draws still have the law.
func TestExactDrawsWhereChainsDoNotMix(t *testing.T) {
	const n = 512
	s := simulate.Scheme{DT: 0.01, BurnIn: 5000, Thin: 1, Chains: n}
	chains, draws := make([]float32, n), make([]float32, n)
	unmixed := 0
	for i := range 30 {
		law, err := vn1d{}.Law(1, i)
		if err != nil {
			t.Fatal(err)
		}
		for dst, d := range map[*[]float32]SampleSpec{
			&chains: {First: i, Count: 1, Seed: 1, Scheme: s, Purpose: "test"},
			&draws:  {First: i, Count: 1, Seed: 1, Purpose: "test", Exact: true},
		} {
			if err := Sample(t.Context(), vn1d{line{vn1dGrid}}, *dst, d, simulate.Fastest(), nil); err != nil {
				t.Fatal(err)
			}
		}
		if ksScaled(chains, law) < 3 {
			continue
		}
		unmixed++
		if k := ksScaled(draws, law); !(k <= 1.95) {
			t.Errorf("function %d: √n·KS of exact draws is %.2f", i, k)
		}
	}
	if unmixed < 3 {
		t.Errorf("chains do not mix in %d of 30 functions: the test tests little", unmixed)
	}
}

func TestSampleErrorsNameTheFunction(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := Sample(ctx, rare1d{}, make([]float32, 1), SampleSpec{First: 17, Count: 1}, simulate.Fastest(), nil)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "rare1d") {
		t.Errorf("cancelled: %v", err)
	}
	err = Sample(context.Background(), vn1d{line{vn1dGrid}}, make([]float32, 1), SampleSpec{First: 17, Count: 1}, simulate.Fastest(), nil)
	if err == nil || !strings.Contains(err.Error(), "vn1d: function 17: time step dt is 0") {
		t.Errorf("empty scheme: %v", err)
	}
	c := sde.Coefficients{Grid: sde.Grid{Lo: 0, Hi: 1, N: 2}, Drift: []float32{0, float32(math.NaN())}, Diffusion: []float32{1, 1}}
	if _, err := (line{c.Grid}).function("vn1d", 17, c); !errors.Is(err, sde.ErrNotFinite) || !strings.Contains(err.Error(), "vn1d function 17: drift NaN at x = 1") {
		t.Errorf("NaN: %v", err)
	}
}

func TestRare1DRanges(t *testing.T) {
	var weights [3]float64
	const n = 20000
	for i := range n {
		f := newRare1D(5, i)
		var total float64
		for k, c := range f.law {
			weights[k] += c.weight * c.weight / n
			total += c.weight
			if !(c.weight >= 0 && math.Abs(c.mean) <= 3 && c.std >= 0.1 && c.std <= 0.5) {
				t.Fatalf("function %d: component %+v", i, c)
			}
		}
		if !(math.Abs(total-1) <= 1e-14) {
			t.Fatalf("function %d: weights sum to %v", i, total)
		}
		for x := -5.0; x <= 5; x += 0.5 {
			if _, sigma := f.at(x); !(sigma >= 0.05 && sigma <= 0.15) {
				t.Fatalf("function %d: diffusion %v at %v", i, sigma, x)
			}
		}
	}
	// Dirichlet(1,1,1): E w² = 1/6, Var w² = 1/15 − 1/36.
	for k, w := range weights {
		if z := (w - 1./6) / math.Sqrt((1./15-1./36)/n); !(math.Abs(z) <= 4.5) {
			t.Errorf("weight %d: mean square %.4f is %.1f standard errors from 1/6", k, w, z)
		}
	}
}

// Zero flux, b·p = ½(σ²p)′, by central differences.
func TestRare1DHasZeroFlux(t *testing.T) {
	const h = 1e-5
	for i := range 50 {
		f := newRare1D(2, i)
		g := func(x float64) float64 {
			_, sigma := f.at(x)
			return sigma * sigma * f.law.PDF(x) / 2
		}
		for x := -4.0; x <= 4; x += 0.173 {
			b, _ := f.at(x)
			want := (g(x+h) - g(x-h)) / (2 * h)
			if got := b * f.law.PDF(x); !(math.Abs(got-want) <= 1e-6*(math.Abs(want)+1e-3)) {
				t.Fatalf("function %d at %v: b·p = %v, ½(σ²p)′ = %v", i, x, got, want)
			}
		}
	}
}

// On a grid that resolves the score's jumps between modes, quadrature of the
// coefficients gives the mixture back.
func TestRare1DDensityIsItsMixture(t *testing.T) {
	for i := range 20 {
		f := newRare1D(4, i)
		d, err := density.New(f.tabulate(sde.Grid{Lo: -6, Hi: 6, N: 1 << 16}))
		if err != nil {
			t.Fatal(err)
		}
		for x := -4.0; x <= 4; x += 0.05 {
			if got, want := d.CDF(x), f.law.CDF(x); !(math.Abs(got-want) <= 1e-3) {
				t.Fatalf("function %d: CDF(%.2f) = %v, the mixture's is %v", i, x, got, want)
			}
		}
	}
}

// The score holds where p underflows: 570 standard deviations out it is the
// nearest component's.
func TestMixture(t *testing.T) {
	m := mixture{{0.2, -2, 0.1}, {0.5, 0.5, 0.3}, {0.3, 3, 0.1}}
	far := mixture{{0.2, -2, 0.1}, {0.5, 0, 0.1}, {0.3, 3, 0.1}}
	if got, want := far.score(60), (3-60)/0.01; !(math.Abs(got/want-1) <= 1e-12) {
		t.Errorf("score far out is %v, want %v", got, want)
	}
	for k := 1; k < 1000; k++ {
		u := float64(k) / 1000
		if got := m.CDF(m.Quantile(u)); !(math.Abs(got-u) <= 1e-13) {
			t.Fatalf("CDF(Quantile(%v)) = %v", u, got)
		}
	}
	if !math.IsInf(m.Quantile(0), -1) || !math.IsInf(m.Quantile(1), 1) || !math.IsNaN(m.Quantile(2)) {
		t.Error("quantiles at 0, 1, 2 are not −∞, ∞, NaN")
	}
	// PDF by its sums over a fine grid: mass, mean and second moment.
	var p, mean, second, wantMean, wantSecond float64
	for _, c := range m {
		wantMean += c.weight * c.mean
		wantSecond += c.weight * (c.std*c.std + c.mean*c.mean)
	}
	const h = 1e-3
	for x := -6.0; x < 6; x += h {
		w := m.PDF(x) * h
		p, mean, second = p+w, mean+w*x, second+w*x*x
	}
	if !(math.Abs(p-1) <= 1e-9 && math.Abs(mean-wantMean) <= 1e-9 && math.Abs(second-wantSecond) <= 1e-9) {
		t.Errorf("mass %v, mean %v, second moment %v, want 1, %v, %v", p, mean, second, wantMean, wantSecond)
	}
}

func TestRare1DSamples(t *testing.T) {
	for i := range 20 {
		law, err := rare1d{}.Law(1, i)
		if err != nil {
			t.Fatal(err)
		}
		dst := make([]float32, 4096)
		if err := Sample(context.Background(), rare1d{}, dst, SampleSpec{First: i, Count: 1, Seed: 1, Purpose: "test"}, simulate.Fastest(), nil); err != nil {
			t.Fatal(err)
		}
		if k := ksScaled(dst, law); !(k <= 2.2) { // 20 tests
			t.Errorf("function %d: √n·KS is %.2f", i, k)
		}
	}
}
