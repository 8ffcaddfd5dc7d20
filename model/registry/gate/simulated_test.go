package gate

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

// pairs draws candidate and champion from one law, so that exchanging the two of any function
// changes nothing. Most of their variance is that of the function.
func pairs(rng *rand.Rand, law string, n int) (candidate, champion Table) {
	a, b := make([]float64, n), make([]float64, n)
	for i := range n {
		shared := rng.NormFloat64()
		draw := func() float64 {
			z := math.Sqrt(0.8)*shared + math.Sqrt(0.2)*rng.NormFloat64()
			switch law {
			case "normal":
				return 1 + 0.2*z
			case "log-normal":
				return math.Exp(z)
			}
			t := rng.NormFloat64() // Student's t with three degrees of freedom
			chi := math.Pow(rng.NormFloat64(), 2) + math.Pow(rng.NormFloat64(), 2) + math.Pow(rng.NormFloat64(), 2)
			return 10 + shared + t/math.Sqrt(chi/3)
		}
		a[i], b[i] = draw(), draw()
	}
	return table("candidate", a...), table("champion", b...)
}

var laws = []string{"normal", "log-normal", "t3"}

// Without a true difference and without a margin, promotions are no more frequent than the
// level says. docs/benchmarks/gate measures it with 10,000 tables each.
func TestFalsePromotions(t *testing.T) {
	const tables = 400
	c := alone()
	c.Margin, c.Resamples = 0, 199
	for _, law := range laws {
		for _, n := range []int{8, 64, 1024} {
			if testing.Short() && n > 64 {
				continue
			}
			rng := rand.New(rand.NewPCG(uint64(n), 5))
			promoted := 0
			for range tables {
				candidate, champion := pairs(rng, law, n)
				if Decide(c, candidate, &champion, Controls{}).Decision == Promote {
					promoted++
				}
			}
			rate, level := float64(promoted)/tables, 1-c.Confidence
			if rate > level+3.5*math.Sqrt(level*(1-level)/tables) {
				t.Errorf("%s, %d functions: promotes %.3f of the candidates falsely", law, n, rate)
			}
			if n > 8 && rate < level-3.5*math.Sqrt(level*(1-level)/tables) {
				t.Errorf("%s, %d functions: promotes only %.3f, so the test is too strict", law, n, rate)
			}
		}
	}
}

// A candidate that is better in some functions and worse in none stays promoted; one that is
// worse is not promoted for it.
func TestMonotone(t *testing.T) {
	c := alone()
	c.Resamples = 499
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 6))
		candidate, champion := pairs(rng, laws[seed%3], 5+rng.IntN(60))
		values := candidate.Metrics[0].Values
		for i := range values {
			values[i] -= 0.25 * rng.Float64() // near the boundary
		}
		before := Decide(c, candidate, &champion, Controls{})
		for i := range values {
			values[i] -= math.Exp(3*rng.NormFloat64()) * float64(rng.IntN(2)) // large for a few
		}
		after := Decide(c, candidate, &champion, Controls{})
		if before.Decision == Promote && after.Decision != Promote || after.Differences[0].P > before.Differences[0].P {
			t.Fatalf("seed %d: %s with p = %v, and better %s with p = %v", seed, before.Decision, before.Differences[0].P, after.Decision, after.Differences[0].P)
		}
	}
}

// The order of functions, the unit of the values and, without a margin, a constant that is
// added to both change nothing.
func TestInvariances(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 7))
		candidate, champion := pairs(rng, laws[seed%3], 5+rng.IntN(80))
		c := alone()
		c.Resamples = 299
		want := Decide(c, candidate, &champion, Controls{})
		if again := Decide(c, candidate, &champion, Controls{}); !reflect.DeepEqual(again, want) {
			t.Fatal("the same tables give another verdict")
		}
		other := reordered(rng, champion)
		if got := Decide(c, reordered(rng, candidate), &other, Controls{}); !reflect.DeepEqual(got, want) {
			t.Fatalf("another order: %+v, want %+v", got, want)
		}
		mapped := func(t Table, f func(float64) float64) Table {
			values := make([]float64, len(t.Functions))
			for i, v := range t.Metrics[0].Values {
				values[i] = f(v)
			}
			return table(t.Row, values...)
		}
		scaled := func(v float64) float64 { return v * 1024 } // exact
		other = mapped(champion, scaled)
		got := Decide(c, mapped(candidate, scaled), &other, Controls{})
		if got.Decision != want.Decision || got.Differences[0].P != want.Differences[0].P || *got.Differences[0].High != *want.Differences[0].High {
			t.Fatalf("in another unit: %+v, want %+v", got, want)
		}
		c.Margin = 0
		want = Decide(c, candidate, &champion, Controls{})
		shifted := func(v float64) float64 { return v + 3 }
		other = mapped(champion, shifted)
		if got := Decide(c, mapped(candidate, shifted), &other, Controls{}); got.Decision != want.Decision || math.Abs(got.Differences[0].P-want.Differences[0].P) > 1e-9 {
			t.Fatalf("shifted: %+v, want %+v", got, want)
		}
	}
}

func reordered(rng *rand.Rand, t Table) Table {
	order := rng.Perm(len(t.Functions))
	out := Table{Row: t.Row}
	for _, i := range order {
		out.Functions = append(out.Functions, t.Functions[i])
		if t.Equations != nil {
			out.Equations = append(out.Equations, t.Equations[i])
		}
	}
	for _, m := range t.Metrics {
		values := m.Values
		m.Values = nil
		for _, i := range order {
			m.Values = append(m.Values, values[i])
		}
		out.Metrics = append(out.Metrics, m)
	}
	return out
}

// The decision is that of the interval: better where its upper end is below minus the margin,
// worse where its lower end is above the tolerance.
func TestIntervalDecides(t *testing.T) {
	outcomes := map[Outcome]int{}
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 8))
		candidate, champion := pairs(rng, laws[seed%3], 5+rng.IntN(40))
		factor := 0.7 + 0.6*rng.Float64()
		for i := range candidate.Metrics[0].Values {
			candidate.Metrics[0].Values[i] *= factor
		}
		for _, t := range []*Table{&candidate, &champion} {
			second := t.Metrics[0]
			second.Name, second.Absolute = "second", seed%2 == 1
			t.Metrics = append(t.Metrics, second)
		}
		c := alone()
		c.Resamples = 399
		v := Decide(c, candidate, &champion, Controls{})
		for _, d := range v.Differences {
			outcomes[d.Outcome]++
			if !(*d.Low <= d.Change && d.Change <= *d.High) {
				t.Fatalf("seed %d: the change is outside of its interval: %+v", seed, d)
			}
			if d.Metric == "w2" && (d.Outcome == Better) != (*d.High < d.Limit) || d.Metric == "second" && (d.Outcome == Worse) != (*d.Low > d.Limit) {
				t.Fatalf("seed %d: [%v, %v] against %v is called %q", seed, *d.Low, *d.High, d.Limit, d.Outcome)
			}
		}
	}
	for _, o := range []Outcome{Better, NotBetter, Tolerated, Worse} {
		if outcomes[o] < 20 {
			t.Errorf("only %d are %q", outcomes[o], o)
		}
	}
}

// Whatever the tables have, there is a verdict with reasons, and JSON of it.
func TestAnyTable(t *testing.T) {
	odd := []float64{0, math.Copysign(0, -1), 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, 1e100, math.SmallestNonzeroFloat64, 1e-200, 3}
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 11))
		kinds := 2 + rng.IntN(len(odd)-1) // of values
		values := func(n int) (v []float64) {
			for range n {
				v = append(v, odd[(rng.IntN(kinds)+int(seed))%len(odd)])
			}
			return v
		}
		n := 1 + rng.IntN(9)
		some := func() *Table {
			t := table("table", values(n)...)
			t.Metrics = append(t.Metrics, Metric{Name: "ks", Values: values(n), Absolute: rng.IntN(2) == 0})
			if rng.IntN(20) == 0 {
				t.Metrics = t.Metrics[:rng.IntN(2)]
			}
			if rng.IntN(20) == 0 {
				t.Functions = t.Functions[:n-1]
			}
			if rng.IntN(3) == 0 {
				t.Equations = rng.Perm(n)
				t.Equations[0] = 0
			}
			return &t
		}
		c := Default()
		c.Resamples = 99
		c.Margin, c.Normal = float64(rng.IntN(2))/2, float64(rng.IntN(2))
		champion := some()
		if rng.IntN(4) == 0 {
			champion = nil
		}
		v := Decide(c, *some(), champion, Controls{some(), some()})
		if v.Decision == "" || len(v.Reasons) == 0 {
			t.Fatalf("seed %d: %+v", seed, v)
		}
		if _, err := json.Marshal(v); err != nil {
			t.Fatalf("seed %d: %v of %+v", seed, err, v)
		}
	}
}
