package weights

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/data/random"
)

// Smoothed weights, k and ESS are those of ArviZ.
func TestSmoothAgainstArviZ(t *testing.T) {
	raw, err := os.ReadFile("testdata/arviz.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Cases []struct {
			Exponent, Largest, ESS float64
			N                      int
			K                      *float64
		}
	}
	if err := json.Unmarshal(raw, &golden); err != nil || len(golden.Cases) < 20 {
		t.Fatalf("%d cases, %v", len(golden.Cases), err)
	}
	for _, c := range golden.Cases {
		logs := make([]float64, c.N)
		for i := range logs {
			logs[i] = -c.Exponent * math.Log(math.Mod(float64(float64(i)*0.6180339887498949)+0.5/float64(c.N), 1))
		}
		w, k, err := Smooth(logs)
		if err != nil {
			t.Fatal(err)
		}
		want := math.Inf(1)
		if c.K != nil {
			want = *c.K
		}
		if !(math.Abs(k-want) <= 1e-9*math.Abs(want)) && k != want || math.Abs(slices.Max(w)/c.Largest-1) > 1e-9 || math.Abs(w.ESS()/c.ESS-1) > 1e-9 {
			t.Errorf("exponent %g, %d draws: k %.10g, largest %.10g, ESS %.10g, want %.10g, %.10g, %.10g",
				c.Exponent, c.N, k, slices.Max(w), w.ESS(), want, c.Largest, c.ESS)
		}
	}
}

// Weights of N(0, 1) for draws of N(0, s²) are known: ESS/n → √(2s² − 1)/s² for s² > ½. The
// Pareto shape is 1 − s² for s < 1, and weights are bounded for s > 1.
func TestNormalWeights(t *testing.T) {
	const n = 1 << 16
	for _, s := range []float64{0.5, 0.8, 0.9, 1, 1.3} {
		rng := random.New(1, "weights/normal")
		logs, x, squares := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range logs {
			z := rng.NormFloat64()
			x[i] = s * z
			squares[i] = x[i] * x[i]
			logs[i] = 1000 - x[i]*x[i]/2 + z*z/2
		}
		w, err := FromLogs(logs)
		if err != nil {
			t.Fatal(err)
		}
		smoothed, k, err := Smooth(logs)
		if err != nil {
			t.Fatal(err)
		}
		if s > 0.75 {
			if want := math.Sqrt(2*s*s-1) / (s * s); math.Abs(w.ESS()/n-want) > 0.05 {
				t.Errorf("s %g: ESS/n is %.3f, want %.3f", s, w.ESS()/n, want)
			}
			for name, w := range map[string]Weights{"plain": w, "smoothed": smoothed} {
				if math.Abs(w.Mean(x)) > 0.03 || math.Abs(w.Mean(squares)-1) > 0.06 {
					t.Errorf("s %g, %s: mean %.3f and square %.3f, want 0 and 1", s, name, w.Mean(x), w.Mean(squares))
				}
			}
		}
		if want := 1 - s*s; s < 1 && math.Abs(k-want) > 0.15 || s > 1 && k > 0 {
			t.Errorf("s %g: k is %.3f, want %.3f", s, k, want)
		}
	}
}

// Resampling and the independence sampler give draws of the target.
func TestCorrectedDraws(t *testing.T) {
	const n = 1 << 15
	rng := random.New(2, "weights/corrected")
	logs, x := make([]float64, n), make([]float64, n)
	for i := range logs { // draws of N(0, 1.5²) for N(0.5, 1)
		z := rng.NormFloat64()
		x[i] = 1.5 * z
		logs[i] = -(x[i]-0.5)*(x[i]-0.5)/2 + z*z/2
	}
	w, err := FromLogs(logs)
	if err != nil {
		t.Fatal(err)
	}
	resampled := w.Resample(n, rng)
	chain, accepted, err := Metropolis(logs, rng)
	if err != nil {
		t.Fatal(err)
	}
	// P(accept) = E min(1, w(x′)/w(x)) with x of the target, x′ of q, by its definition.
	var want float64
	for k := range n {
		i, j := resampled[k], rng.IntN(n)
		want += min(1, math.Exp(logs[j]-logs[i])) / n
	}
	if math.Abs(accepted-want) > 0.02 {
		t.Errorf("%.3f of the proposals are accepted, want %.3f", accepted, want)
	}
	for name, drawn := range map[string][]int{"resampled": resampled, "Metropolis": chain} {
		var mean, square float64
		for _, i := range drawn {
			mean += x[i] / n
			square += x[i] * x[i] / n
		}
		if math.Abs(mean-0.5) > 0.04 || math.Abs(square-mean*mean-1) > 0.06 {
			t.Errorf("%s: mean %.3f, variance %.3f, want 0.5 and 1", name, mean, square-mean*mean)
		}
	}
	counts := make([]int, n)
	for _, i := range resampled {
		counts[i]++
	}
	for i, c := range counts {
		if expected := n * w[i]; math.Abs(float64(c)-expected) >= 1+1e-6 {
			t.Fatalf("draw %d comes %d times, its weight asks for %.3f", i, c, expected)
		}
	}
}

// Weights of zero are never drawn. What has no weights is an error.
func TestEdges(t *testing.T) {
	none := math.Inf(-1)
	w, err := FromLogs([]float64{none, -1e5, none, -1e5 + math.Log(3), none})
	same := slices.EqualFunc(w, Weights{0, 0.25, 0, 0.75, 0}, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
	if err != nil || !same || math.Abs(w.ESS()-1.6) > 1e-9 {
		t.Errorf("%v, %v", w, err)
	}
	rng := random.New(3, "weights/edges")
	for range 1000 {
		if drawn := w.Resample(4, rng); !slices.Equal(drawn, []int{1, 3, 3, 3}) {
			t.Fatalf("drawn %v", drawn)
		}
	}
	chain, _, err := Metropolis([]float64{none, 0, none, 0, none}, rng)
	if err != nil || !slices.Equal(chain, []int{1, 1, 1, 3, 3}) {
		t.Errorf("chain %v, %v", chain, err)
	}
	for _, logs := range [][]float64{nil, {none, none}} {
		if _, err := FromLogs(logs); !errors.Is(err, ErrDegenerate) {
			t.Errorf("%v: %v", logs, err)
		}
		if _, _, err := Smooth(logs); err == nil {
			t.Errorf("%v are smoothed", logs)
		}
		if _, _, err := Metropolis(logs, rng); err == nil {
			t.Errorf("%v make a chain", logs)
		}
	}
	for _, v := range []float64{math.NaN(), math.Inf(1)} {
		if _, err := FromLogs([]float64{0, v}); err == nil || errors.Is(err, ErrDegenerate) {
			t.Errorf("%v is taken: %v", v, err)
		}
	}
}

// Weights to the power λ are worth the part that was asked for, of normal laws as in closed form:
// those of N(0, 1) for draws of N(0, 2²) are exp(−3x²/8).
func TestTemper(t *testing.T) {
	const n = 1 << 15
	rng := random.New(4, "weights/temper")
	logs := make([]float64, n)
	for i := range logs {
		x := 2 * rng.NormFloat64()
		logs[i] = -3 * x * x / 8
	}
	// ESS/n = (E w^λ)²/E w^2λ with E w^λ = (1 + 3λ)^−½.
	worth := func(lambda float64) float64 { return math.Sqrt(1+6*lambda) / (1 + 3*lambda) }
	for _, part := range []float64{0.9, 0.8} {
		w, lambda, err := Temper(logs, 1, part)
		if err != nil || math.Abs(w.ESS()/n-part) > 1e-3 || math.Abs(worth(lambda)-part) > 0.01 {
			t.Errorf("λ %.3f: worth %.3f, in closed form %.3f, want %.3f, %v", lambda, w.ESS()/n, worth(lambda), part, err)
		}
	}
	if w, lambda, err := Temper(logs, 1, 0.3); err != nil || lambda != 1 || math.Abs(w.ESS()/n-worth(1)) > 0.02 {
		t.Errorf("λ is %g, %v", lambda, err)
	}
	if _, _, err := Temper([]float64{math.Inf(-1)}, 1, 0.5); !errors.Is(err, ErrDegenerate) {
		t.Errorf("no weights: %v", err)
	}
}
