package flow_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/family"
	"github.com/ergoflow/ergoflow/data/probe"
	"github.com/ergoflow/ergoflow/data/sde"
	"github.com/ergoflow/ergoflow/data/shard"
	"github.com/ergoflow/ergoflow/data/simulate"
	"github.com/ergoflow/ergoflow/model/flow"
	"github.com/ergoflow/ergoflow/model/velocity"
)

// probesOf are small probes of a family.
func probesOf(t testing.TB, name string, kind probe.Kind) flow.Probes {
	t.Helper()
	f, err := family.ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return flow.Probes{Config: probe.Config{Kind: kind, Sensors: 24, Steps: 5, DT: 0.01}, Family: f, Seed: 11}
}

func observed(t testing.TB, p flow.Probes) *flow.Observed {
	t.Helper()
	n, err := p.Normalise(t.Context(), 32)
	if err != nil {
		t.Fatal(err)
	}
	o, err := flow.NewObserved([]velocity.Input{{Name: "probes", Shape: p.Config.Shape()}}, p, n)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func condition(t testing.TB, c flow.Conditioner, subjects ...flow.Subject) []float32 {
	t.Helper()
	inputs := [][]float32{nil}
	if err := c.Condition(t.Context(), inputs, subjects); err != nil {
		t.Fatal(err)
	}
	return inputs[0]
}

var kinds = []struct {
	family string
	kind   probe.Kind
}{{"cn2d", probe.Trajectory}, {"cn2d", probe.Walk}, {"particles64d", probe.Pairs}}

// A function is seen alike by its number, by its stored fields and by its
// equation, alone and in company, with any number of threads, and what was there
// before stays.
func TestObservedIsAFunctionOfTheSubject(t *testing.T) {
	for _, k := range kinds {
		p := probesOf(t, k.family, k.kind)
		o := observed(t, p)
		made, err := p.Family.Function(p.Seed, 40)
		if err != nil {
			t.Fatal(err)
		}
		number := flow.Subject{Index: 40}
		want := condition(t, o, number)
		if len(want) != p.Config.Size() {
			t.Fatalf("%s: %d values", k.kind, len(want))
		}
		for name, s := range map[string]flow.Subject{
			"fields":   {Index: 40, Function: family.Function{Fields: made.Fields}},
			"equation": {Index: 40, Function: family.Function{System: made.System}},
		} {
			if !slices.Equal(condition(t, o, s), want) {
				t.Errorf("%s: other probes by its %s", k.kind, name)
			}
		}
		threads := runtime.GOMAXPROCS(1)
		company := condition(t, o, flow.Subject{Index: 3}, number, flow.Subject{Index: 4})
		runtime.GOMAXPROCS(threads)
		if !slices.Equal(company[len(want):2*len(want)], want) || slices.Equal(company[:len(want)], want) {
			t.Errorf("%s: other probes in company, or the same for every function", k.kind)
		}
		inputs := [][]float32{{7}}
		if err := o.Condition(t.Context(), inputs, []flow.Subject{number}); err != nil || inputs[0][0] != 7 || !slices.Equal(inputs[0][1:], want) {
			t.Errorf("%s: not appended, error %v", k.kind, err)
		}
	}
}

// Over the functions of the normalisation every feature has mean zero and
// deviation one, or zero where it is constant.
func TestObservedIsStandardised(t *testing.T) {
	for _, k := range kinds {
		p := probesOf(t, k.family, k.kind)
		var all []flow.Subject
		for i := range 32 {
			all = append(all, flow.Subject{Index: i})
		}
		rows := condition(t, observed(t, p), all...)
		features := p.Config.Features()
		for f := range features {
			var n, sum, squares float64
			for at := f; at < len(rows); at += features {
				v := float64(rows[at])
				n, sum, squares = n+1, sum+v, squares+v*v
			}
			mean, variance := sum/n, squares/n-sum/n*sum/n
			constant := k.kind != probe.Pairs && f >= 4 // the diffusion
			if math.Abs(mean) > 1e-4 || !constant && math.Abs(variance-1) > 1e-3 || constant && squares > 1e-9 {
				t.Errorf("%s, feature %d: mean %g, variance %g", k.kind, f, mean, variance)
			}
		}
	}
}

// The normalisation is one of the first functions, however many follow.
func TestNormaliseTakesTheFirst(t *testing.T) {
	p := probesOf(t, "particles64d", probe.Pairs)
	p.Config.Sensors = 2
	of := func(functions int) shard.Normalisation {
		n, err := p.Normalise(t.Context(), functions)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if of(1024)["probes[0]"] != of(1 << 20)["probes[0]"] || of(1024)["probes[2]"] == of(1023)["probes[2]"] {
		t.Error("not the first 1,024 functions, or all of them")
	}
}

// Probes that leave the grid meet the coefficients at its boundary; what explodes,
// has no noise or is not finite is refused with the function's number.
func TestObservedRefusesEquations(t *testing.T) {
	p := probesOf(t, "cn2d", probe.Trajectory)
	o := observed(t, p)
	grid := sde.Grid{Lo: -1, Hi: 1, N: 4}
	plane := func(drift, sigma float32) flow.Subject {
		return flow.Subject{Index: 9, Function: family.Function{System: sde.Plane{
			X: grid, Y: grid, Drift: slices.Repeat([]float32{drift}, 32), Diffusion: []float32{sigma},
		}}}
	}
	rows := condition(t, o, plane(400, 1)) // four units a step, out of a grid of two
	for _, v := range rows {
		if v-v != 0 {
			t.Fatal("a probe outside the grid is not finite")
		}
	}
	for name, c := range map[string]struct {
		subject flow.Subject
		is      error
		says    string
	}{
		"explosion":   {plane(1e30, 1), simulate.ErrDiverged, ""},
		"no noise":    {plane(1, 0), nil, "is not positive"},
		"not finite":  {plane(float32(math.NaN()), 1), sde.ErrNotFinite, ""},
		"short field": {flow.Subject{Index: 9, Function: family.Function{Fields: [][]float32{{1, 2}}}}, nil, "drift has 2 values"},
		"particles": {flow.Subject{Index: 9, Function: family.Function{
			System: sde.Particles{N: 2, Noise: 1, Force: sde.Tabulate(func(float64) float64 { return 0 }, 0, 1)},
		}}, probe.ErrSystem, ""},
	} {
		inputs := [][]float32{nil}
		err := o.Condition(t.Context(), inputs, []flow.Subject{{Index: 1}, c.subject})
		if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "function 9") {
			t.Errorf("%s: %v", name, err)
		}
		if inputs[0] != nil {
			t.Errorf("%s: half a batch is left", name)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := o.Condition(ctx, [][]float32{nil}, []flow.Subject{{Index: 1}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestNewObservedRefuses(t *testing.T) {
	p := probesOf(t, "cn2d", probe.Walk)
	n, err := p.Normalise(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	other := p
	other.Config.Sensors = 25
	broken := p
	broken.Config.DT = 0
	for want, c := range map[string]struct {
		inputs []velocity.Input
		probes flow.Probes
		n      shard.Normalisation
	}{
		"not probes alone":                  {inputs, p, n},
		"has shape [24 5 8], the probes":    {[]velocity.Input{{Name: "probes", Shape: p.Config.Shape()}}, other, n},
		`lacks the input "probes[0]"`:       {[]velocity.Input{{Name: "probes", Shape: p.Config.Shape()}}, p, normalisation},
		"dt: 0 is out of range":             {[]velocity.Input{{Name: "probes", Shape: p.Config.Shape()}}, broken, n},
		"has shape [24 8], the probes [24 ": {[]velocity.Input{{Name: "probes", Shape: []int{24, 8}}}, p, n},
	} {
		if _, err := flow.NewObserved(c.inputs, c.probes, c.n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// The paper's batch of cn2d: 512 functions with 256 sensors and 20 rows each, from
// stored fields.
func BenchmarkObserve512(b *testing.B) {
	p := probesOf(b, "cn2d", probe.Trajectory)
	p.Config.Sensors, p.Config.Steps = 256, 20
	o := observed(b, p)
	var subjects []flow.Subject
	for i := range 512 {
		made, err := p.Family.Function(p.Seed, i)
		if err != nil {
			b.Fatal(err)
		}
		subjects = append(subjects, flow.Subject{Index: i, Function: family.Function{Fields: made.Fields}})
	}
	inputs := [][]float32{nil}
	for b.Loop() {
		inputs[0] = inputs[0][:0]
		if err := o.Condition(b.Context(), inputs, subjects); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(512*256*20*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}
