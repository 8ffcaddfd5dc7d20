package bootstrap

import (
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %.9g, want %.9g ± %.2g", what, got, want, tolerance)
	}
}

// normals are n values with mean 0 and Σv²/n = 1 exactly, symmetric about 0.
func normals(n int) []float64 {
	v := make([]float64, n)
	var squares float64
	for i := range v {
		v[i] = normalQuantile((float64(i) + 0.5) / float64(n))
		squares += v[i] * v[i]
	}
	for i := range v {
		v[i] /= math.Sqrt(squares / float64(n))
	}
	return v
}

// The mean of many values is normal: estimate ± 1.96/√n.
func TestMeanOfManyNormals(t *testing.T) {
	const n = 2000
	i, err := Mean(normals(n), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "estimate", i.Estimate, 0, 1e-12)
	near(t, "standard error", i.StdErr, 1/math.Sqrt(n-1), 1e-12)
	near(t, "low end", i.Low, -1.95996/math.Sqrt(n), 0.06/math.Sqrt(n))
	near(t, "high end", i.High, 1.95996/math.Sqrt(n), 0.06/math.Sqrt(n))
}

// Exponential values, against scipy.stats.bootstrap(method="BCa") with 200,000
// resamples; its percentile interval is (0.7625, 1.2527).
func TestMeanOfSkewedValues(t *testing.T) {
	const n = 60
	values := make([]float64, n)
	for i := range values {
		values[i] = -math.Log1p(-(float64(i) + 0.5) / n)
	}
	i, err := Mean(values, nil, 3)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "low end", i.Low, 0.7844, 0.007)
	near(t, "high end", i.High, 1.2856, 0.013)
}

// coverage is how often the interval of n draws contains the truth.
func coverage(t *testing.T, n int, truth float64, draw func(*rand.Rand) float64, interval func([]float64, []int, uint64) (Interval, error)) float64 {
	t.Helper()
	const repetitions = 200
	rng := rand.New(rand.NewPCG(17, uint64(n)))
	covered := 0
	values := make([]float64, n)
	for r := range repetitions {
		for i := range values {
			values[i] = draw(rng)
		}
		i, err := interval(values, nil, uint64(r))
		if err != nil {
			t.Fatal(err)
		}
		if !(i.Low <= i.Estimate && i.Estimate <= i.High) {
			t.Fatalf("estimate outside its interval: %+v", i)
		}
		if i.Low <= truth && truth <= i.High {
			covered++
		}
	}
	return float64(covered) / repetitions
}

// The standard error of a coverage is 0.016.
func TestCoverage(t *testing.T) {
	normal := func(rng *rand.Rand) float64 { return 3 + 2*rng.NormFloat64() }
	near(t, "coverage of the mean of normals", coverage(t, 25, 3, normal, Mean), Level, 0.05)
	exponential := func(rng *rand.Rand) float64 { return rng.ExpFloat64() }
	near(t, "coverage of the median of exponentials", coverage(t, 25, math.Ln2, exponential, Median), Level, 0.05)
}

// Of an odd number n of values the law of resampled medians is known: it is at
// most the k-th with the probability that at least (n+1)/2 of n draws are among
// the k lowest (Efron, Ann. Stat. 7, 1979).
func TestMediansHaveTheirLaw(t *testing.T) {
	const n = 15
	values := make([]float64, n)
	for i := range values {
		values[i] = float64(i + 1)
	}
	unitOf, m, err := validate(values, nil)
	if err != nil {
		t.Fatal(err)
	}
	medians := resample(unitOf, m, 5, "test", func(counts []int32) float64 { return medianOf(counts, values) })
	for k := 1; k <= n; k++ {
		var want, got float64
		for j := (n + 1) / 2; j <= n; j++ {
			p := float64(k) / n
			choose, _ := math.Lgamma(n + 1)
			a, _ := math.Lgamma(float64(j + 1))
			b, _ := math.Lgamma(float64(n - j + 1))
			want += math.Exp(choose-a-b) * math.Pow(p, float64(j)) * math.Pow(1-p, float64(n-j))
		}
		for _, m := range medians {
			if m <= float64(k) {
				got += 1. / resamples
			}
		}
		near(t, "law of the median", got, want, 4*math.Sqrt(want*(1-want)/resamples)+1e-9)
	}
	for _, tt := range []struct {
		counts []int32
		want   float64
	}{{[]int32{2, 0, 0, 2}, 2.5}, {[]int32{0, 4, 0, 0}, 2}, {[]int32{1, 1, 2, 0}, 2.5}, {[]int32{0, 0, 0, 4}, 4}, {[]int32{3, 0, 0, 1}, 1}} {
		if got := medianOf(tt.counts, []float64{1, 2, 3, 4}); got != tt.want {
			t.Errorf("median of %v is %v, want %v", tt.counts, got, tt.want)
		}
	}
}

// Eight equal values in each unit have the interval of one value per unit. Units of
// different sizes weigh as their numbers of values.
func TestUnits(t *testing.T) {
	one := normals(31)
	var values []float64
	var units []int
	for i, v := range one {
		for range 8 {
			values, units = append(values, v), append(units, 100-i)
		}
	}
	for name, interval := range map[string]func([]float64, []int, uint64) (Interval, error){"mean": Mean, "median": Median} {
		want, err := interval(one, nil, 7)
		if err != nil {
			t.Fatal(err)
		}
		got, err := interval(values, units, 7)
		if err != nil {
			t.Fatal(err)
		}
		near(t, name, got.Estimate, want.Estimate, 1e-12)
		near(t, name+", error", got.StdErr, want.StdErr, 1e-12)
		near(t, name+", low", got.Low, want.Low, 1e-12)
		near(t, name+", high", got.High, want.High, 1e-12)
		if alone, err := interval(values, nil, 7); err != nil || !(alone.StdErr <= want.StdErr/2) {
			t.Errorf("%s of 248 values as if each were drawn by itself: %+v, %v", name, alone, err)
		}
		if _, err := interval(values, units[1:], 7); err == nil {
			t.Errorf("%s with units of 247 of 248 values", name)
		}
		if _, err := interval(values, make([]int, len(values)), 7); !errors.Is(err, ErrTooFew) {
			t.Errorf("%s of one unit: %v", name, err)
		}
	}
	i, err := Mean([]float64{1, 1, 1, 5, 2, 2}, []int{0, 0, 0, 1, 2, 2}, 1)
	if err != nil || i.Estimate != 2 || i.Low != 1 || i.High != 5 {
		t.Errorf("units of three, one and two values: %+v, %v", i, err)
	}
}

// The values of a unit share most of their spread: intervals have to resample units.
func TestCoverageOfUnits(t *testing.T) {
	const size = 6
	draw := func(rng *rand.Rand, values []float64, units []int) {
		for k := range len(values) / size {
			shared := rng.NormFloat64()
			for i := range size {
				values[k*size+i], units[k*size+i] = 1+shared+0.3*rng.NormFloat64(), k
			}
		}
	}
	rng := rand.New(rand.NewPCG(21, 22))
	const repetitions = 200
	values, units := make([]float64, 30*size), make([]int, 30*size)
	var covered, alone float64
	for r := range repetitions {
		draw(rng, values, units)
		i, err := Mean(values, units, uint64(r))
		if err != nil {
			t.Fatal(err)
		}
		if i.Low <= 1 && 1 <= i.High {
			covered += 1. / repetitions
		}
		if i, err = Mean(values, nil, uint64(r)); err != nil {
			t.Fatal(err)
		}
		if i.Low <= 1 && 1 <= i.High {
			alone += 1. / repetitions
		}
	}
	near(t, "coverage of units", covered, Level, 0.05)
	if !(alone <= 0.75) {
		t.Errorf("as if each value were a unit, intervals cover %.2f", alone)
	}
}

func TestIntervalsAreReproducible(t *testing.T) {
	values := normals(101)
	for name, interval := range map[string]func([]float64, []int, uint64) (Interval, error){"mean": Mean, "median": Median} {
		want, err := interval(values, nil, 7)
		if err != nil {
			t.Fatal(err)
		}
		before := runtime.GOMAXPROCS(5)
		got, err := interval(values, nil, 7)
		runtime.GOMAXPROCS(before)
		if err != nil || got != want {
			t.Errorf("%s with other threads: %+v, want %+v, %v", name, got, want, err)
		}
		if other, _ := interval(values, nil, 8); other == want {
			t.Errorf("%s does not depend on the seed", name)
		}
	}
}

func TestFewAndBadValues(t *testing.T) {
	for name, interval := range map[string]func([]float64, []int, uint64) (Interval, error){"mean": Mean, "median": Median} {
		for _, values := range [][]float64{nil, {1}} {
			if _, err := interval(values, nil, 1); !errors.Is(err, ErrTooFew) {
				t.Errorf("%s of %v: %v", name, values, err)
			}
		}
		if _, err := interval([]float64{1, 2, math.Inf(1)}, nil, 1); err == nil || !strings.Contains(err.Error(), "value 2 is +Inf") {
			t.Errorf("%s with an infinite value: %v", name, err)
		}
		if i, err := interval([]float64{4, 4, 4}, nil, 1); err != nil || i != (Interval{4, 0, 4, 4}) {
			t.Errorf("%s of equal values: %+v, %v", name, i, err)
		}
		one := slices.Repeat([]float64{0}, 50)
		one[20] = 1 // as skewed as can be
		if i, err := interval(one, nil, 1); err != nil || !(i.Low <= i.Estimate && i.Estimate <= i.High) || i.High-i.High != 0 {
			t.Errorf("%s of one among zeros: %+v, %v", name, i, err)
		}
	}
}

func BenchmarkMean(b *testing.B) {
	values := normals(1024)
	for b.Loop() {
		if _, err := Mean(values, nil, 1); err != nil {
			b.Fatal(err)
		}
	}
}
