package data

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

func tiny() Dataset {
	return Dataset{
		Family: "vn1d", Seed: 1, Functions: 12, HeldOut: 5, Shards: 3, Samples: 128,
		Training:  simulate.Scheme{DT: 0.01, BurnIn: 20, Thin: 10, Chains: 64},
		Reference: simulate.Scheme{DT: 0.01, BurnIn: 40, Thin: 10, Chains: 128},
	}
}

// atTimes turns d into a data set of laws at physical times.
func atTimes(d Dataset) Dataset {
	d.Family, d.Functions = "vn1d_time", 24
	d.Training = simulate.Scheme{DT: 0.5, BurnIn: 100, Thin: 1, Chains: d.Samples}
	d.Reference = d.Training
	d.Reference.Chains = d.StoredReference()
	return d
}

// thrice is a family with three times per equation.
type thrice struct{ family.Timed }

func (thrice) Equation(i int) int { return i / 3 }
func (thrice) Times() []float64   { return []float64{1, 2, 3, 4} }

// The family determines which functions share an equation.
func TestEquationsApart(t *testing.T) {
	d := tiny()
	for functions, apart := range map[int]bool{15: true, 16: false, 17: false, 18: true} {
		d.Functions, d.Shards = functions, 1
		if err := d.equationsApart(thrice{}); (err == nil) != apart || err != nil && !strings.Contains(err.Error(), "multiples of 3") {
			t.Errorf("%d training functions, three to an equation: %v", functions, err)
		}
	}
}

// Data sets of laws at physical times need chains that end at those times, and equations that
// no held-out function has.
func TestValidateTimes(t *testing.T) {
	between := atTimes(tiny())
	between.Shards, between.HeldOut, between.HeldOutFrom = 3, 8, 16
	for _, d := range []Dataset{atTimes(tiny()), between} {
		if _, err := d.Resolve(); err != nil {
			t.Error(err)
		}
	}
	for want, change := range map[string]func(*Dataset){
		"data.training: 64 chains for 128 samples of vn1d_time":                         func(d *Dataset) { d.Training.Chains = 64 },
		"data.reference: chains of vn1d_time take dt·burn_in":                           func(d *Dataset) { d.Reference.BurnIn = 99 },
		"data.functions: training function 11 has the equation of held-out function 12": func(d *Dataset) { d.Functions = 12 },
		"data.functions: training function 23 has the equation of held-out function 22": func(d *Dataset) {
			d.Shards, d.HeldOut, d.HeldOutFrom = 3, 7, 16
		},
		"data.functions: training function 11 has the equation of held-out function 12: data.functions": func(d *Dataset) {
			d.Shards, d.HeldOut, d.HeldOutFrom = 6, 4, 12
		},
	} {
		d := atTimes(tiny())
		change(&d)
		if _, err := d.Resolve(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, d := range []Dataset{tiny(), func() Dataset { d := tiny(); d.ReferenceSamples = 256; return d }()} {
		if _, err := d.Resolve(); err != nil {
			t.Errorf("%+v: %v", d, err)
		}
	}
	for want, change := range map[string]func(*Dataset){
		`data.family: no family is called "x"`: func(d *Dataset) { d.Family = "x" },
		"data.functions is 0":                  func(d *Dataset) { d.Functions = 0 },
		"data.held_out is -1":                  func(d *Dataset) { d.HeldOut = -1 },
		"data.held_out_from is 6, inside a training shard: must be a multiple of 4, or at least 12": func(d *Dataset) { d.HeldOutFrom = 6 },
		"data.held_out_from is -4": func(d *Dataset) { d.HeldOutFrom = -4 },
		"data.first is -4":         func(d *Dataset) { d.First = -4 },
		"data.first is 2: the held-out functions, from 12, are inside a training shard: data.first must be 0 plus a multiple of 4 functions per shard, or data.held_out_from at least 14": func(d *Dataset) {
			d.First = 2
		},
		"data.shards is 0": func(d *Dataset) { d.Shards = 0 },
		"data.functions is 12: must be a multiple of data.shards (5)":     func(d *Dataset) { d.Shards = 5 },
		"data.shards is 1: must leave at most 524288 functions per shard": func(d *Dataset) { d.Functions, d.Shards = 1<<20, 1 },
		"data.samples is 0":                             func(d *Dataset) { d.Samples = 0 },
		"data.samples is 9223372036854775807":           func(d *Dataset) { d.Samples = math.MaxInt },
		"data.reference_samples is -1":                  func(d *Dataset) { d.ReferenceSamples = -1 },
		"data.training: time step":                      func(d *Dataset) { d.Training.DT = math.NaN() },
		"data.training.dt is 1e-300":                    func(d *Dataset) { d.Training.DT = 1e-300 },
		"data.reference.dt is 1.9":                      func(d *Dataset) { d.Reference.DT = 1.9 },
		"data.training.chains is 60: must be a divisor": func(d *Dataset) { d.Training.Chains = 60 },
		"data.training: standard deviation of the start is 1e+06, want 0 (for 1) to 100000": func(d *Dataset) { d.Training.Start = "1e6" },
		`data.training: start: "constant(1, 2)": the law constant is unknown`:               func(d *Dataset) { d.Training.Start = "constant(1, 2)" },
		"data.reference: start: \"normal(1e7, 1)\" reaches":                                 func(d *Dataset) { d.Reference.Start = "normal(1e7, 1)" },
		"data.reference.start has 2 laws: must be one": func(d *Dataset) {
			d.Family, d.Reference.Start = "vn1d", "normal(0, 1); normal(1, 1)"
		},
		"data.training.start has 3 laws: must be one":     func(d *Dataset) { d.Training.Start = "normal(0, 1); normal(1, 1); normal(2, 1)" },
		"data.reference: thinning":                        func(d *Dataset) { d.Reference.Thin = 0 },
		"data.reference.chains is 128: must be a divisor": func(d *Dataset) { d.ReferenceSamples = 100 },
		`data.draws: "best" is unknown`:                   func(d *Dataset) { d.Draws = "best" },
		`data.draws: "exact" draws of particles64d: its laws are not known`: func(d *Dataset) {
			d.Family, d.Draws = "particles64d", Exact
		},
		`data.reference_draws: "exact" draws of particles64d`: func(d *Dataset) {
			d.Family, d.ReferenceDraws = "particles64d", Exact
		},
	} {
		d := tiny()
		change(&d)
		if _, err := d.Resolve(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// Every change of the bytes changes the hash; the hash of a description never changes.
func TestHash(t *testing.T) {
	const want = "18dde436c4d12fbe6cd79d332ae52dde"
	if got := tiny().Hash(); got != want {
		t.Errorf("hash %s, want %s", got, want)
	}
	explicit := tiny()
	explicit.ReferenceSamples = explicit.Samples
	if explicit.Hash() != want {
		t.Error("the default for reference_samples has another hash than the same number")
	}
	if explicit.HeldOutFrom = explicit.Functions; explicit.Hash() != want {
		t.Error("held-out functions after all others have another hash than the default")
	}
	if explicit.Draws, explicit.ReferenceDraws = Simulated, Simulated; explicit.Hash() != want {
		t.Error("simulated draws have another hash than the default")
	}
	seen := map[string]string{want: "none"}
	for name, change := range map[string]func(*Dataset){
		"family":            func(d *Dataset) { d.Family = "rare1d" },
		"seed":              func(d *Dataset) { d.Seed = 1 << 63 },
		"functions":         func(d *Dataset) { d.Functions = 15 },
		"held_out_from":     func(d *Dataset) { d.HeldOutFrom = 4 },
		"first":             func(d *Dataset) { d.First = 4 },
		"held_out":          func(d *Dataset) { d.HeldOut = 6 },
		"shards":            func(d *Dataset) { d.Shards = 4 },
		"samples":           func(d *Dataset) { d.Samples = 256 },
		"reference_samples": func(d *Dataset) { d.ReferenceSamples = 256 },
		"dt":                func(d *Dataset) { d.Training.DT = 0.02 },
		"burn_in":           func(d *Dataset) { d.Training.BurnIn = 21 },
		"thin":              func(d *Dataset) { d.Reference.Thin = 11 },
		"chains":            func(d *Dataset) { d.Reference.Chains = 64 },
		"draws":             func(d *Dataset) { d.Draws = Exact },
		"reference_draws":   func(d *Dataset) { d.ReferenceDraws = Exact },
	} {
		d := tiny()
		change(&d)
		if other, ok := seen[d.Hash()]; ok {
			t.Errorf("changing %s and %s gives the same hash", name, other)
		}
		seen[d.Hash()] = name
	}
	// As it travels in a job.
	b, err := json.Marshal(tiny())
	if err != nil {
		t.Fatal(err)
	}
	var back Dataset
	if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(back, tiny()) {
		t.Errorf("%s became %+v, %v", b, back, err)
	}
}

// The shards cover training and held-out functions once, in order.
func TestShardRange(t *testing.T) {
	d := tiny()
	next := 0
	for k := 0; k <= d.HeldOutShard(); k++ {
		first, count := d.ShardRange(k)
		if first != next || count < 1 {
			t.Errorf("shard %d has %d functions from %d, want them from %d", k, count, first, next)
		}
		if next = first + count; k == d.Shards-1 && next != d.Functions {
			t.Errorf("the training shards end at %d", next)
		}
	}
	if next != d.Functions+d.HeldOut {
		t.Errorf("the shards end at %d", next)
	}
}

// Held-out functions do not depend on the number of training functions, which skip them.
func TestHeldOutFrom(t *testing.T) {
	for from, want := range map[int][]int{4: {0, 9, 13, 4}, 8: {0, 4, 13, 8}, 12: {0, 4, 8, 12}, 40: {0, 4, 8, 40}} {
		d := tiny()
		d.HeldOutFrom = from
		if _, err := d.Resolve(); err != nil {
			t.Fatal(err)
		}
		for k, want := range want {
			if first, _ := d.ShardRange(k); first != want {
				t.Errorf("held out from %d: shard %d has functions from %d, want %d", from, k, first, want)
			}
		}
	}
}

func TestNormalisationNeedsEveryTrainingShard(t *testing.T) {
	d, store := tiny(), shard.NewDir(t.TempDir())
	for _, k := range []int{0, 2, 3} {
		generate(t, d, k, store)
	}
	if _, err := d.TrainingManifests(store); err == nil || !strings.Contains(err.Error(), "shard-00001") {
		t.Errorf("error %v, want one that names shard 1", err)
	}
	generate(t, d, 1, store)
	manifests, err := d.TrainingManifests(store)
	if err != nil {
		t.Fatal(err)
	}
	got, err := shard.Normalise(manifests)
	if err != nil {
		t.Fatal(err)
	}
	var n, sum, square float64
	for k := range d.Shards {
		s := opened(t, store, d, k)
		for i := range s.Manifest().Count {
			for _, v := range s.Field(0, i) {
				n++
				sum += float64(v)
				square += float64(v) * float64(v)
			}
		}
	}
	mean := sum / n
	if !(math.Abs(got["drift"].Mean-mean) <= 1e-12 && math.Abs(got["drift"].Std-math.Sqrt(square/n-mean*mean)) <= 1e-12) {
		t.Errorf("normalisation %+v, want drift mean %v", got, mean)
	}
}
