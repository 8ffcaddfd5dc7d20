package batch

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
)

var plans = []Plan{
	{Seed: 1, Shards: 4, FunctionsPerShard: 6, Samples: 12, BatchFunctions: 8, BatchSamples: 3},
	{Seed: 2, Shards: 1, FunctionsPerShard: 1, Samples: 1, BatchFunctions: 1, BatchSamples: 1},
	{Seed: 3, Shards: 3, FunctionsPerShard: 10, Samples: 7, BatchFunctions: 15, BatchSamples: 7},
	{Seed: 4, Shards: 2, FunctionsPerShard: 5, Samples: 100, BatchFunctions: 10, BatchSamples: 4},
	{Seed: 5, Shards: 8, FunctionsPerShard: 16, Samples: 64, BatchFunctions: 16, BatchSamples: 8},
}

// Every (function, sample) occurs exactly once per epoch, every function once
// per pass, and the same number of functions of every shard in every step.
func TestEpochVisitsEverythingOnce(t *testing.T) {
	for _, p := range plans {
		t.Run(fmt.Sprintf("%+v", p), func(t *testing.T) {
			if err := p.Validate(); err != nil {
				t.Fatal(err)
			}
			const epochs = 2
			functions := p.Shards * p.FunctionsPerShard
			if got, want := p.StepsPerEpoch(), functions*p.Samples/(p.BatchFunctions*p.BatchSamples); got != want {
				t.Fatalf("%d steps, want F·N/(B·S) = %d", got, want)
			}
			visits := make([]int, functions*p.Samples)
			passes := make([]int, functions) // next pass of each function
			block := make([]int32, p.BatchSamples)
			for step := range epochs * p.StepsPerEpoch() {
				for shard := range p.Shards {
					picks := p.Picks(step, shard)
					if len(picks) != p.BatchFunctions/p.Shards {
						t.Fatalf("step %d takes %d functions of shard %d", step, len(picks), shard)
					}
					for _, pick := range picks {
						if pick.Global != shard*p.FunctionsPerShard+pick.Function {
							t.Fatalf("pick %+v of shard %d", pick, shard)
						}
						if pick.Pass != passes[pick.Global] {
							t.Fatalf("step %d: pick %+v, want pass %d", step, pick, passes[pick.Global])
						}
						passes[pick.Global]++
						p.Block(pick, block)
						for _, sample := range block {
							visits[pick.Global*p.Samples+int(sample)]++
						}
					}
				}
				if (step+1)%p.StepsPerEpoch() == 0 {
					epoch := (step + 1) / p.StepsPerEpoch()
					for i, n := range visits {
						if n != epoch {
							t.Fatalf("after %d epochs, sample %d of function %d occurred %d times",
								epoch, i%p.Samples, i/p.Samples, n)
						}
					}
				}
			}
		})
	}
}

// The order is another in every pass, shard, epoch and seed, and the same when
// asked again, from several goroutines.
func TestOrderDependsOnSeedAndPassAlone(t *testing.T) {
	p := Plan{Seed: 1, Shards: 2, FunctionsPerShard: 64, Samples: 64, BatchFunctions: 128, BatchSamples: 32}
	order := func(p Plan, step, shard int) []int {
		var functions []int
		for _, pick := range p.Picks(step, shard) {
			functions = append(functions, pick.Function)
		}
		return functions
	}
	base := order(p, 0, 0)
	other := p
	other.Seed = 2
	for name, o := range map[string][]int{
		"the next pass": order(p, 1, 0), "another shard": order(p, 0, 1), "another seed": order(other, 0, 0),
	} {
		if slices.Equal(base, o) {
			t.Errorf("%s has the same order of functions", name)
		}
	}
	block := func(p Plan, pick Pick) []int32 {
		b := make([]int32, p.BatchSamples)
		p.Block(pick, b)
		return b
	}
	first := block(p, Pick{Global: 3, Pass: 0})
	for name, b := range map[string][]int32{
		"the next epoch": block(p, Pick{Global: 3, Pass: 2}), "another function": block(p, Pick{Global: 4}), "another seed": block(other, Pick{Global: 3}),
	} {
		if slices.Equal(first, b) {
			t.Errorf("%s has the same samples", name)
		}
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if !slices.Equal(base, order(p, 0, 0)) || !slices.Equal(first, block(p, Pick{Global: 3})) {
				t.Error("another order when asked again")
			}
		})
	}
	group.Wait()
}

// Orders are part of every run: a resumed run needs the same ones for ever.
func TestGolden(t *testing.T) {
	p := Plan{Seed: 1, Shards: 2, FunctionsPerShard: 1008, Samples: 4096, BatchFunctions: 8, BatchSamples: 4}
	if got, want := fmt.Sprint(p.Picks(1000, 1)), goldenPicks; got != want {
		t.Errorf("picks %s, want %s", got, want)
	}
	block := make([]int32, 4)
	p.Block(Pick{Global: 2015, Pass: 1025}, block)
	if got, want := fmt.Sprint(block), goldenBlock; got != want {
		t.Errorf("block %s, want %s", got, want)
	}
}

const (
	goldenPicks = "[{427 1435 3} {594 1602 3} {793 1801 3} {978 1986 3}]"
	goldenBlock = "[1465 2286 3675 1511]"
)

func TestPermutationIsABijection(t *testing.T) {
	for n := 1; n <= 300; n++ {
		p := newPermutation(n, uint64(n), "test")
		seen := make([]bool, n)
		for i := range n {
			v := p.at(i)
			if v < 0 || v >= n || seen[v] {
				t.Fatalf("n = %d: at(%d) = %d is out of range or occurs twice", n, i, v)
			}
			seen[v] = true
		}
	}
}

// Over many keys every number is equally likely in every place, and so is every
// ordered pair in two neighbouring places: χ² of both stays within 5 standard
// deviations of its mean. Sizes include those next to powers of two, where
// cycle walking works least and most.
func TestPermutationIsUniform(t *testing.T) {
	for _, n := range []int{2, 3, 5, 6, 8, 17, 32} {
		const keys = 20_000
		single := make([]float64, n*n) // place × number
		pair := make([]float64, n*n)   // numbers in places n/2-1, n/2
		for key := range uint64(keys) {
			p := newPermutation(n, 7, "uniform", key)
			for i := range n {
				single[i*n+p.at(i)]++
			}
			pair[p.at(n/2-1+n%2)*n+p.at(n/2+n%2)]++
		}
		chi := 0.0
		for _, count := range single {
			e := float64(keys) / float64(n)
			chi += (count - e) * (count - e) / e
		}
		check := func(name string, chi, freedom float64) {
			if z := (chi - freedom) / math.Sqrt(2*freedom); !(math.Abs(z) <= 5) {
				t.Errorf("n = %d, %s: χ² = %.0f with %.0f degrees of freedom, %.1f σ off", n, name, chi, freedom, z)
			}
		}
		check("places", chi, float64((n-1)*(n-1)))
		if n < 3 {
			continue
		}
		chi = 0
		for i, count := range pair {
			e := float64(keys) / float64(n*(n-1))
			if i/n == i%n {
				if count != 0 {
					t.Fatalf("n = %d: a number in two places", n)
				}
				continue
			}
			chi += (count - e) * (count - e) / e
		}
		check("pairs", chi, float64(n*(n-1)-1))
	}
}

func TestValidate(t *testing.T) {
	good := plans[0]
	for want, change := range map[string]func(*Plan){
		"0 shards of":                   func(p *Plan) { p.Shards = 0 },
		"-1 functions":                  func(p *Plan) { p.FunctionsPerShard = -1 },
		"0 samples":                     func(p *Plan) { p.Samples = 0 },
		"training.batch_functions is 0": func(p *Plan) { p.BatchFunctions = 0 },
		"training.batch_samples is 0":   func(p *Plan) { p.BatchSamples = 0 },
		"training.batch_samples is 5: must be a divisor":    func(p *Plan) { p.BatchSamples = 5 },
		"training.batch_functions is 9: must be a multiple": func(p *Plan) { p.BatchFunctions = 9 },
		"training.batch_functions is 3: must be a multiple": func(p *Plan) { p.BatchFunctions = 3 },
		"training.batch_functions is 16: must be a divisor": func(p *Plan) { p.BatchFunctions = 16 },
	} {
		p := good
		change(&p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// One step of vn1d at full size: 256 functions × 32 samples.
func BenchmarkStep(b *testing.B) {
	p := Plan{Seed: 1, Shards: 64, FunctionsPerShard: 1008, Samples: 4096, BatchFunctions: 256, BatchSamples: 32}
	block := make([]int32, p.BatchSamples)
	for step := range b.N {
		for shard := range p.Shards {
			for _, pick := range p.Picks(step, shard) {
				p.Block(pick, block)
			}
		}
	}
}
