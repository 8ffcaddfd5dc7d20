package diagnostics

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// uniform, bell and chains are those of docs/benchmarks/diagnostics_golden.py.
func uniform(seed, index, k uint64) float64 {
	z := seed<<32 + index*16 + k
	z = z*0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	z ^= z >> 31
	return float64(z>>11) * 0x1p-53
}

func bell(seed, index uint64) float64 {
	total := 0.
	for k := range uint64(12) {
		total += uniform(seed, index, k)
	}
	return total - 6
}

func chains(kind string, number, draws int) []float64 {
	x := make([]float64, number*draws)
	for i := range x {
		c, t, z, before := i/draws, i%draws, bell(1, uint64(i)), 0.
		if t > 0 {
			before = x[i-1]
		}
		sign := float64(2*(c%2) - 1)
		switch kind {
		case "iid":
			x[i] = z
		case "ar1":
			x[i] = float64(0.9*before) + z
		case "alternating":
			x[i] = float64(-0.7*before) + z
		case "modes":
			x[i] = z + 3*sign
		case "scales":
			x[i] = z * (2 + sign)
		case "trend":
			x[i] = z + float64(3*float64(t))/float64(draws)
		case "constant":
			x[i] = 2
		case "stuck":
			x[i] = float64(c)
		case "cauchy":
			x[i] = z / bell(2, uint64(i))
		case "ties":
			x[i] = math.Floor(z)
		}
	}
	return x
}

func TestAgainstArviZ(t *testing.T) {
	raw, err := os.ReadFile("testdata/arviz.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Cases []struct {
			Kind          string
			Chains, Draws int
			RHat          *float64 `json:"rhat"`
			ESSBulk       *float64 `json:"ess_bulk"`
			ESSTail       *float64 `json:"ess_tail"`
			MCSEMean      *float64 `json:"mcse_mean"`
		}
	}
	if err := json.Unmarshal(raw, &golden); err != nil || len(golden.Cases) < 15 {
		t.Fatalf("%d cases, error %v", len(golden.Cases), err)
	}
	for _, c := range golden.Cases {
		r := Of(chains(c.Kind, c.Chains, c.Draws), c.Chains)
		for _, part := range []struct {
			name string
			got  float64
			want *float64
		}{{"R-hat", r.RHat, c.RHat}, {"bulk ESS", r.ESSBulk, c.ESSBulk}, {"tail ESS", r.ESSTail, c.ESSTail}, {"MCSE", r.MCSEMean, c.MCSEMean}} {
			switch {
			case c.Draws/2 < fewestLags && part.name != "R-hat": // ArviZ's are too large
			case part.want == nil: // ArviZ has no R-hat of a single chain
				if finite := !math.IsNaN(part.got) && !math.IsInf(part.got, 0); finite && c.Chains > 1 {
					t.Errorf("%s %d×%d: %s is %g, want it not finite", c.Kind, c.Chains, c.Draws, part.name, part.got)
				}
			case !(math.Abs(part.got-*part.want) <= 1e-9**part.want):
				t.Errorf("%s %d×%d: %s is %.12g, want %.12g", c.Kind, c.Chains, c.Draws, part.name, part.got, *part.want)
			}
		}
	}
}

// Chains that mix raise no warning, however many and short they are. Chains that do not mix
// raise one, even if it is one chain of many.
func TestWarnings(t *testing.T) {
	oneAway := chains("iid", 64, 1000)
	for i := range 1000 {
		oneAway[i] += 4
	}
	for _, c := range []struct {
		name   string
		x      []float64
		chains int
		want   string
	}{
		{"independent", chains("iid", 4, 250), 4, ""},
		{"64 short chains", chains("ar1", 64, 600), 64, ""},
		{"few draws", chains("ar1", 4, 500), 4, "ESS is"},
		{"two modes", chains("modes", 8, 1000), 8, "have not mixed"},
		{"two scales", chains("scales", 8, 1000), 8, "have not mixed"},
		{"a trend", chains("trend", 8, 1000), 8, "have not mixed"},
		{"stuck", chains("stuck", 8, 1000), 8, "have not mixed"},
		{"one chain away", oneAway, 64, "have not mixed"},
		{"three draws", chains("iid", 400, 3), 400, "few samples, 3 each"},
		{"many chains of four correlated draws", float64s(autoregressive(rand.New(rand.NewPCG(3, 4)), 256, 4, 0.95)), 256, "few samples, 4 each"},
		{"many chains of four independent draws", chains("iid", 256, 4), 256, ""},
		{"one short chain", chains("iid", 1, 6), 1, "few samples, 6 each"},
		{"constant", chains("constant", 4, 500), 4, ""},
	} {
		r := Of(c.x, c.chains)
		if got := strings.Join(r.Warnings(), "; "); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: warning %q, want %q (%+v, bound %.3g)", c.name, got, c.want, r, r.excessBound())
		}
	}
}

func float64s(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// autoregressive are chains in equilibrium, a law of variance 1 and correlation a^k.
func autoregressive(rng *rand.Rand, number, draws int, a float64) []float32 {
	x := make([]float32, number*draws)
	for i := range x {
		z := rng.NormFloat64()
		if i%draws > 0 {
			z = a*float64(x[i-1]) + math.Sqrt(1-a*a)*z
		}
		x[i] = float32(z)
	}
	return x
}

// Of 20 sets of chains in equilibrium with an R-hat above 1.01 and enough draws, at most one
// raises a warning, even if chains are short.
func TestFalseAlarms(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		chains, draws int
		a             float64
	}{
		{64, 400, 0.8},
		{64, 20, 0.37}, // samples one relaxation time apart
		{512, 20, 0.37},
		{200, 8, 0.1},
		{256, 100, 0.8},
	} {
		alarms, above := 0, 0
		for range 20 {
			r := Of(autoregressive(rng, c.chains, c.draws, c.a), c.chains)
			if r.RHat > suspectRHat {
				above++
			}
			if r.Warnings() != nil {
				alarms++
			}
		}
		if alarms > 1 || above < 10 {
			t.Errorf("%v: %d alarms, %d of 20 with R-hat above %g", c, alarms, above, suspectRHat)
		}
	}
}

// More samples than Of looks at: it takes them from the whole length of the chains, and
// scales the ESS of some of the chains.
func TestManySamples(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const number = 512
	x := autoregressive(rng, number, 1000, 0)
	r := Of(x, number)
	if r.Warnings() != nil || !(r.ESSBulk > 0.4*number*1000) {
		t.Errorf("independent draws: %q (%+v)", r.Warnings(), r)
	}
	for i := range x { // the second half of each chain is elsewhere
		if i%1000 >= 500 {
			x[i] += 0.5
		}
	}
	if r := Of(x, number); r.Mixed() {
		t.Errorf("a jump in the middle: mixed (%+v)", r)
	}
	x = autoregressive(rng, 100_000, 8, 0)
	if r := Of(x, 100_000); r.Warnings() != nil || !(math.Abs(r.ESSBulk/800_000-1) <= 0.2) || !(math.Abs(r.MCSEMean*math.Sqrt(800_000)-1) <= 0.1) {
		t.Errorf("many short chains: %q (%+v)", r.Warnings(), r)
	}
}

// The ESS of very short chains: m chains of n draws with the correlation a^k have
// m·n/(1 + 2Σ(1 − k/n)a^k).
func TestShortChains(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{4, 6, 8} {
		for _, a := range []float64{0, 0.5, 0.9} {
			const m = 4000
			tau := 1.
			for k := 1; k < n; k++ {
				tau += 2 * (1 - float64(k)/float64(n)) * math.Pow(a, float64(k))
			}
			want := m * float64(n) / tau
			r := Of(autoregressive(rng, m, n, a), m)
			if !(math.Abs(r.ESSBulk/want-1) <= 0.1) || !(math.Abs(r.MCSEMean*math.Sqrt(want)-1) <= 0.1) {
				t.Errorf("%d draws of correlation %g: %+v, want an ESS of %.0f", n, a, r, want)
			}
		}
	}
}

// Diagnostics do not depend on the unit and the origin of x, MCSE only as it must.
func TestUnits(t *testing.T) {
	x := chains("ar1", 4, 500)
	want := Of(x, 4)
	for _, unit := range []float64{1e-20, 1e20} {
		scaled := make([]float64, len(x))
		for i, v := range x {
			scaled[i] = unit * v
		}
		got := Of(scaled, 4)
		got.MCSEMean /= unit
		for _, d := range []float64{got.RHat - want.RHat, got.ESSBulk/want.ESSBulk - 1, got.ESSTail/want.ESSTail - 1, got.MCSEMean/want.MCSEMean - 1} {
			if !(math.Abs(d) <= 1e-9) {
				t.Errorf("in units of %g: %+v, want %+v", unit, got, want)
			}
		}
	}
}
