package metrics

import (
	"math"
	"testing"
)

func TestKS(t *testing.T) {
	for _, tt := range []struct {
		x, y []float32
		want float64
	}{
		{[]float32{1, 2, 3}, []float32{1, 2, 3}, 0},
		{[]float32{1, 1, 1}, []float32{1}, 0},
		{[]float32{1, 2}, []float32{3, 4, 5}, 1},
		{[]float32{1, 2, 3, 4}, []float32{2.5}, 0.5},
		{[]float32{1, 3, 5}, []float32{2, 4}, 1. / 3},
	} {
		got, p, err := KS(tt.x, tt.y)
		back, _, _ := KS(tt.y, tt.x)
		if err != nil || !(math.Abs(got-tt.want) <= 1e-15) || back != got || !(p >= 0 && p <= 1) {
			t.Errorf("KS(%v, %v) = %v, p = %v (%v), want %v", tt.x, tt.y, got, p, err, tt.want)
		}
	}
}

// SciPy's exact p-values: testdata/ks_golden.py.
func TestExactKS(t *testing.T) {
	for _, tt := range []struct {
		n, m, largest int
		want          float64
	}{
		{5, 5, 20, 0.07936507936507936},
		{10, 10, 60, 0.05244755244755244},
		{1, 1, 1, 1.0},
		{7, 5, 10, 0.9090909090909092},
		{7, 5, 18, 0.3282828282828283},
		{20, 9, 144, 0.00017154260032820756},
		{3, 100, 150, 0.35143143097862045},
		{150, 100, 4500, 3.1225178375984705e-05},
		{150, 100, 12000, 7.279162395159873e-39},
		{1000, 1000, 200000, 6.6131216618004355e-18},
	} {
		for range 2 {
			if got := smirnov(tt.n, tt.m, tt.largest); !(math.Abs(got-tt.want) <= 1e-9*tt.want) {
				t.Errorf("p of %d and %d draws at %d is %v, want %v", tt.n, tt.m, tt.largest, got, tt.want)
			}
			tt.n, tt.m = tt.m, tt.n
		}
	}
	_, p, err := KS([]float64{1, 2, 3, 4, 10}, []float64{5, 6, 7, 8, 9})
	if want := 10. / 126; err != nil || !(math.Abs(p-want) <= 1e-15) {
		t.Errorf("p of five draws against five is %v (%v), want %v", p, err, want)
	}
}

// Both laws meet where KS changes from the one to the other.
func TestExactKSMeetsItsLimit(t *testing.T) {
	const n = 2048
	for _, k := range []int{30, 60, 90} {
		exact, limit := smirnov(n, n, k*n), kolmogorov(float64(k)/n, n/2)
		if !(math.Abs(exact-limit) <= 0.05*exact) {
			t.Errorf("p at %d/%d is %v, %v by the limit law", k, n, exact, limit)
		}
	}
}

// Critical values of the Kolmogorov law (Smirnov 1948), and both series where
// they meet.
func TestKolmogorov(t *testing.T) {
	const n = 1e12 // Stephens' correction vanishes
	for lambda, want := range map[float64]float64{
		0.3: 0.99999069, 0.5: 0.9639452436648751, 0.82757: 0.5, 1: 0.26999967167735456, 1.17999: 0.12345963, 1.18001: 0.12344799, 1.35810: 0.05, 1.62762: 0.01, 1.94947: 0.001,
	} {
		if got := kolmogorov(lambda/math.Sqrt(n), n); !(math.Abs(got-want) <= 2e-5*max(want, 0.05)) {
			t.Errorf("Q(%v) = %v, want %v", lambda, got, want)
		}
	}
	if p := kolmogorov(0, 10); p != 1 {
		t.Errorf("p = %v at statistic 0", p)
	}
	if p := kolmogorov(1, 1e9); p != 0 {
		t.Errorf("p = %v at statistic 1 of a huge sample", p)
	}
}

// Under the null hypothesis p-values are uniform: at 5 % about 5 % are rejected.
func TestKSRejectsAtItsLevel(t *testing.T) {
	const pairs = 400
	rejected := 0
	for i := range pairs {
		x := goldenCloud{Kind: "uniform", N: 150, D: 1, Seed: uint64(1000 + i), Parameters: []float64{0, 1}}.cloud(t).X
		y := goldenCloud{Kind: "uniform", N: 100, D: 1, Seed: uint64(5000 + i), Parameters: []float64{0, 1}}.cloud(t).X
		if _, p, _ := KS(x, y); p < 0.05 {
			rejected++
		}
	}
	if rejected < 5 || rejected > 37 { // 20 expected, standard deviation 4.4
		t.Errorf("%d of %d are rejected", rejected, pairs)
	}
}
