package flow_test

import (
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/probe"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// In the frame of the units, a shard in any units gives the batches of the same shard in
// standard units: the noise and the times to the bit, the samples to rounding.
func TestFrameRemovesUnits(t *testing.T) {
	for _, dim := range []int{1, 2, 6} {
		for _, coupling := range flow.Couplings() {
			if coupling == flow.Quantile && dim > 1 || coupling == flow.Particles && dim == 1 {
				continue
			}
			want := assemble(t, assembler(t, plan, dim, coupling), open(t, functions, stored, dim), 5)
			for _, unit := range []shard.Standard{{Mean: 0, Std: 1e4}, {Mean: 3e-4, Std: 2e-4}, {Mean: 1000, Std: 0.7}} {
				scaled := write(t, functions, stored, dim, func(z float64) float64 { return unit.Mean + unit.Std*z })
				a := assembler(t, plan, dim, coupling)
				a.Frame = slices.Repeat(flow.Frame{unit}, dim)
				got := assemble(t, a, scaled, 5)
				if !slices.Equal(got.X0, want.X0) || !slices.Equal(got.T, want.T) {
					t.Errorf("%d dimensions, %s, unit %+v: another noise or other times", dim, coupling, unit)
				}
				rounding := 1e-6 * (1 + math.Abs(unit.Mean)/unit.Std)
				for i, x := range got.X1 {
					if !(math.Abs(float64(x-want.X1[i])) <= rounding) {
						t.Fatalf("%d dimensions, %s, unit %+v: sample %d is %g, want %g", dim, coupling, unit, i, x, want.X1[i])
					}
				}
			}
		}
	}
}

func TestFrameOf(t *testing.T) {
	if f, err := flow.FrameOf(shard.Normalisation{"drift": {Std: 2}}, 2); err != nil || len(f) > 0 {
		t.Errorf("a normalisation without states has the frame %v, error %v", f, err)
	}
	n := shard.Normalisation{shard.State(0): {Mean: 1, Std: 2}, shard.State(1): {Mean: -1, Std: 8}}
	f, err := flow.FrameOf(n, 2)
	if err != nil {
		t.Fatal(err)
	}
	x := []float32{3, -9, -1, 7}
	z := f.Standardised(x)
	if want := []float32{1, -1, -1, 1}; !slices.Equal(z, want) {
		t.Errorf("standardised states are %v, want %v", z, want)
	}
	if f.Restore(z); !slices.Equal(z, x) {
		t.Errorf("restored states are %v, want %v", z, x)
	}
	delete(n, shard.State(1))
	if _, err := flow.FrameOf(n, 2); err == nil {
		t.Error("a frame without its second coordinate is accepted")
	}
}

// The equation of y = s·x is dY = s·b(Y/s)dt + s·σ(Y/s)dW. Its potential has no unit; its
// score has 1/s, which the frame removes. Nor do they depend on the unit of time.
func TestDerivedFieldsHaveNoUnit(t *testing.T) {
	b := func(x float64) float64 { return x - x*x*x/3 }
	sigma := func(x float64) float64 { return 1 + 0.3*math.Sin(x) }
	inputs := onLine("potential", "score")
	of := func(s, time float64, n shard.Normalisation) [][]float32 {
		grid := sde.Grid{Lo: nodes.Lo * s, Hi: nodes.Hi * s, N: nodes.N}
		fields := [][]float32{make([]float32, nodes.N), make([]float32, nodes.N)}
		for i := range nodes.N {
			x := nodes.At(i)
			fields[0][i], fields[1][i] = float32(time*s*b(x)), float32(math.Sqrt(time)*s*sigma(x))
		}
		conditioner, err := flow.NewStored(inputs, lineFields, flow.Grid{Grid: grid}, n)
		if err != nil {
			t.Fatal(err)
		}
		values := make([][]float32, len(inputs))
		if err := conditioner.Condition(t.Context(), values, []flow.Subject{{Function: family.Function{Fields: fields}}}); err != nil {
			t.Fatal(err)
		}
		return values
	}
	want := of(1, 1, nil)
	for _, s := range []float64{1e4, 2e-4} {
		for _, time := range []float64{1, 1e-3, 1e3} {
			for k, values := range of(s, time, shard.Normalisation{shard.State(0): {Std: s}}) {
				for i, v := range values {
					if !(math.Abs(float64(v-want[k][i])) <= 1e-5) {
						t.Fatalf("unit %g, time %g: %s at node %d is %g, want %g", s, time, inputs[k].Name, i, v, want[k][i])
					}
				}
			}
		}
	}
}

// inUnits is a family of particles with other units of length and time.
type inUnits struct {
	family.Family
	length, rate float64
}

func (u inUnits) Function(seed uint64, i int) (family.Function, error) {
	f, err := u.Family.Function(seed, i)
	if err == nil {
		f.System = f.System.(sde.Particles).InUnits(u.length, u.rate)
	}
	return f, err
}

// Particles in other units of length and time give the same batches: probes, noise, times and
// samples. Powers of two scale without rounding, so they are the same to the bit.
func TestParticlesHaveNoUnit(t *testing.T) {
	particles, err := family.ByName("particles64d")
	if err != nil {
		t.Fatal(err)
	}
	of := func(length, rate float64) *flow.Batch {
		f := inUnits{particles, length, rate}
		c := probe.Config{Kind: probe.Pairs, Sensors: 40, Steps: 20, DT: 0.001 / rate}
		standards, err := flow.Standards(t.Context(), c, f, 1, numbers(50), probe.OverRows, flow.Raw)
		if err != nil {
			t.Fatal(err)
		}
		conditioner, err := flow.NewProbed(inputOf(c), c, f, 1, standards, flow.Raw)
		if err != nil {
			t.Fatal(err)
		}
		start := simulate.Start(strconv.FormatFloat(1.5*length, 'g', -1, 64))
		samples := make([]float32, functions*stored*f.Dim())
		if err := family.Sample(t.Context(), f, samples, family.SampleSpec{
			First: first, Count: functions, Seed: 1, Purpose: shard.Train,
			Scheme: simulate.Scheme{DT: 0.001 / rate, BurnIn: 20, Thin: 10, Chains: 16, Start: start},
		}, simulate.Fastest(), nil); err != nil {
			t.Fatal(err)
		}
		s, frame := storeSamples(t, samples, f.Dim())
		a := flow.NewAssembler(plan, f.Dim(), flow.Independent, conditioner)
		a.Frame = frame
		b := new(flow.Batch)
		b.Reset(plan.BatchSamples, f.Dim(), 1)
		a.Append(b, s, plan.Picks(5, 0))
		if err := a.Complete(t.Context(), b, 0); err != nil {
			t.Fatal(err)
		}
		return b
	}
	want := of(1, 1)
	for _, unit := range []struct{ length, rate float64 }{{0x1p13, 1}, {0x1p-12, 1}, {1, 0x1p6}, {1, 0x1p-6}} {
		got := of(unit.length, unit.rate)
		for name, values := range map[string][2][]float32{
			"probes": {got.Inputs[0], want.Inputs[0]}, "noise": {got.X0, want.X0}, "samples": {got.X1, want.X1}, "times": {got.T, want.T},
		} {
			if !slices.Equal(values[0], values[1]) {
				t.Errorf("lengths times %g, rates times %g: other %s", unit.length, unit.rate, name)
			}
		}
	}
}

// storeSamples writes the samples of a shard without fields, and opens it with the frame of its
// standardised states.
func storeSamples(t *testing.T, samples []float32, dim int) (*shard.Shard, flow.Frame) {
	t.Helper()
	store := shard.NewDir(t.TempDir())
	w, err := store.Create(shard.Header{
		Family: "test", Dataset: dataset, Purpose: shard.Train, First: first, Count: functions, Dim: dim, Samples: stored,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Samples(samples); err != nil {
		t.Fatal(err)
	}
	m, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	n := shard.Normalisation{}
	if err := n.AddStates(store, []shard.Manifest{m}); err != nil {
		t.Fatal(err)
	}
	frame, err := flow.FrameOf(n, dim)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(dataset, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, frame
}

// Of whitened and settled states each function has coordinates of its own: its samples, the probes
// that the network reads, and what is restored are those of its Gaussian closure, or of its chains.
func TestWhitened(t *testing.T) { testOwnStates(t, flow.Whitened, 0.05) }
func TestSettled(t *testing.T)  { testOwnStates(t, flow.Settled, 0.25) } // by a thousand states

func testOwnStates(t *testing.T, states flow.States, most float64) {
	if testing.Short() {
		t.Skip("-short: a long simulation by code that shorter tests run, too")
	}
	f, err := family.ByName(`{"name":"linear","dim":3,"box":[-9,9],"parameters":{"k":"uniform(1, 4)","m":"vector(normal(0, 3))"},"drift":"-k*(x - m)","diffusion":"1"}`)
	if err != nil {
		t.Fatal(err)
	}
	c := probe.Config{Kind: probe.Path, Sensors: 8, Steps: 4, DT: 0.01, Dim: 3, Terms: 9}
	standards, err := flow.Standards(t.Context(), c, f, 1, numbers(50), probe.OverRows, states)
	if err != nil {
		t.Fatal(err)
	}
	p, err := flow.NewProbed(inputOf(c), c, f, 1, standards, states)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		function, err := f.Function(1, i)
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float32, 4000*3)
		scheme := simulate.Scheme{DT: 0.002, BurnIn: 3000, Thin: 1, Chains: 4000}
		if err := simulate.Chains(t.Context(), x, function.System, scheme, 1, 0, "whitened"); err != nil {
			t.Fatal(err)
		}
		z := slices.Clone(x)
		if err := flow.Standardise(p, nil, flow.Subject{Index: i}, z); err != nil {
			t.Fatal(err)
		}
		mean, square := 0., 0.
		for _, v := range z {
			mean += float64(v) / float64(len(z))
			square += float64(v) * float64(v) / float64(len(z))
		}
		if math.Abs(mean) > most || math.Abs(square-1) > 1.6*most {
			t.Errorf("function %d: mean %.3f and mean square %.3f of its samples, want 0 and 1", i, mean, square)
		}
		volume, err := flow.Restore(p, nil, flow.Subject{Index: i, Function: function}, z)
		if err != nil || math.IsNaN(volume) {
			t.Fatal(volume, err)
		}
		for k, v := range z {
			if math.Abs(float64(v-x[k])) > 1e-3 {
				t.Fatalf("function %d: %v is restored as %v", i, x[k], v)
			}
		}
	}
	if states == flow.Settled {
		return // the scale is known to a tenth
	}
	// All functions are the same equation there, dz = −k·z dt + √(2k) dW: rows differ by k alone.
	inputs := make([][]float32, 1)
	if err := p.Condition(t.Context(), inputs, []flow.Subject{{Index: 0}, {Index: 1}}); err != nil {
		t.Fatal(err)
	}
	row := func(at int) []float64 {
		var v []float64
		for k, s := range standards {
			v = append(v, s.Mean+s.Std*float64(inputs[0][at+k]))
		}
		return v
	}
	for _, at := range []int{0, c.Size()} {
		v := row(at)
		k := v[6] * v[6] / 2
		for r := range 3 {
			if math.Abs(v[3+r]+k*v[r]) > 0.05*(1+k) {
				t.Errorf("the drift at z = %.3f is %.3f, want %.3f", v[r], v[3+r], -k*v[r])
			}
		}
	}
}
