package evaluate

import (
	"context"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
	"github.com/ergoflow/ergoflow/model/evaluation/controls"
	"github.com/ergoflow/ergoflow/model/evaluation/observables"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// observedSmoke evaluates the initial state of an experiment with sensors.
func observedSmoke(t *testing.T, name string) Options {
	t.Helper()
	o := smoke(t, backendtest.Fast(t), "vn1d")
	e, err := experiment.Load(name, "smoke", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	o.Experiment, o.State = e, state.Fresh(e.Velocity().Layout(), e.Seed)
	f, err := e.Family()
	if err != nil {
		t.Fatal(err)
	}
	if o.State.Normalisation, err = e.Normalisation(context.Background(), f, o.Store); err != nil {
		t.Fatal(err)
	}
	return o
}

func kindsOf(r *Results) (kinds []Kind, rows map[Kind]Row) {
	rows = map[Kind]Row{}
	for _, row := range r.Rows {
		kinds = append(kinds, row.Kind)
		rows[row.Kind] = row
	}
	return kinds, rows
}

// A row of shuffled sensors is the model on functions that have one another's
// coefficients, from the noise of their own places.
func TestShuffledSensors(t *testing.T) {
	o := smoke(t, backendtest.Fast(t), "vn1d")
	o.Experiment.Evaluation.Functions, o.Experiment.Evaluation.Samples = 3, 64
	rng := random.New(1, "test/parameters")
	for i := range o.State.Parameters {
		o.State.Parameters[i] += float32(0.1 * rng.NormFloat64())
	}
	f, err := family.ByName(o.Experiment.Data.Family)
	if err != nil {
		t.Fatal(err)
	}
	functions, err := heldOut(context.Background(), o, f, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	rows, release, err := networks(o, f, functions)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	drawn := map[Kind][][]float32{}
	for _, m := range rows {
		if drawn[m.row.Kind], _, err = m.draw(context.Background(), func(int, int) {}); err != nil {
			t.Fatal(err)
		}
	}
	others, err := controls.Derangement(3, o.Experiment.Data.Seed)
	if err != nil {
		t.Fatal(err)
	}
	exchanged := slices.Clone(functions)
	for i, j := range others {
		exchanged[i].function = functions[j].function
	}
	n := &network{Options: o, family: f}
	defer n.close()
	want, _, err := n.draw(o.State, exchanged, subjects(exchanged))(context.Background(), func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(drawn[Shuffled], want) {
		t.Error("shuffled sensors are not those of the other functions")
	}
	// The untrained row has its own parameters, on a device that had the state's.
	initial := state.Fresh(o.Experiment.Velocity().Layout(), o.Experiment.Seed)
	initial.Normalisation = o.State.Normalisation
	first := &network{Options: o, family: f}
	defer first.close()
	untrained, _, err := first.draw(initial, functions, subjects(functions))(context.Background(), func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(drawn[Untrained], untrained) {
		t.Error("the untrained row is not of the initial parameters")
	}
	for i := range want {
		if reflect.DeepEqual(drawn[Model][i], drawn[Shuffled][i]) {
			t.Errorf("function %d: the model draws the same samples for another input", i)
		}
	}
}

var inSpace = []Kind{Floor, Split, MCMC, Model, Shuffled, Untrained, Pooled, Moments, Normal}

func TestRowsOfThePlane(t *testing.T) {
	o := observedSmoke(t, "cn2d")
	r, shown, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	kinds, rows := kindsOf(r)
	if !slices.Equal(kinds, inSpace) {
		t.Fatalf("rows %v, want %v", kinds, inSpace)
	}
	floor, model := rows[Floor].Summary, rows[Model].Summary
	if !(floor.Sinkhorn.Mean < model.Sinkhorn.Mean/2 && floor.SlicedW2.Mean < model.SlicedW2.Mean/2) || model.W2 != (Statistic{}) {
		t.Errorf("floor %+v is not far below the untrained model %+v", floor, model)
	}
	if !(floor.Energy.Mean > 0 && floor.Energy.Mean < model.Energy.Mean/2 && floor.MarginalW2.Mean < model.MarginalW2.Mean/2 && floor.WorstMarginalW2.Mean > floor.MarginalW2.Mean) {
		t.Errorf("floor %+v is not far below the untrained model %+v", floor, model)
	}
	// The initial velocity is zero for every input.
	if !reflect.DeepEqual(rows[Model].Functions, rows[Shuffled].Functions) || *rows[Shuffled].ModelCloser != 0 {
		t.Error("the initial state depends on its sensors")
	}
	if *rows[Floor].ModelCloser != 0 || rows[Model].ModelCloser != nil {
		t.Errorf("the untrained model is closer than the floor for %d functions", *rows[Floor].ModelCloser)
	}
	if len(shown.Percentiles) != 3 || len(shown.Percentiles[0].Model) != 2*r.Samples || len(shown.Percentiles[2].MCMC) != 2*r.Samples || shown.Kernels != nil {
		t.Errorf("shown: %d percentiles, kernels %v", len(shown.Percentiles), shown.Kernels)
	}
}

func TestRowsOfParticles(t *testing.T) {
	o := observedSmoke(t, "particles64d")
	r, shown, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	kinds, rows := kindsOf(r)
	if !slices.Equal(kinds, inSpace) {
		t.Fatalf("rows %v, want %v", kinds, inSpace)
	}
	if !r.Particles() || r.Distances()[0].Name != Features.Name {
		t.Errorf("the leading distance of particles is %s", r.Distances()[0].Name)
	}
	f, err := family.ByName(o.Experiment.Data.Family)
	if err != nil {
		t.Fatal(err)
	}
	functions, err := heldOut(context.Background(), o, f, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	_, observed, err := functions[0].observables(functions[0].reference)
	if want := min(rankedAmong, observed.States); err != nil || len(observed.Features) != want*observables.FeatureCount {
		t.Fatalf("%d features of %d states are kept, %v", len(observed.Features), want, err)
	}
	// The preset has fewer functions than a calibration needs.
	many, samples := slices.Repeat(functions[:1], fewestRanked), slices.Repeat([][]float32{functions[0].reference}, fewestRanked)
	if c, err := calibrate(f, 1, many, samples, slices.Repeat([]*observables.Observed{observed}, fewestRanked)); err != nil || len(c) != 2 || len(c[1].Ranks) != fewestRanked {
		t.Errorf("the calibration is %+v, %v", c, err)
	}
	for kind, row := range rows {
		s := row.Summary.Observables
		if s == nil || !(s.FeatureW2.Mean > 0) || !(s.Pooled.RadialError > 0) || !(s.Pooled.Energy.KS > 0) || s.FeatureW2.MeanInterval == nil {
			t.Fatalf("%s: %+v", kind, s)
		}
		if row.Summary.Sinkhorn != (Statistic{}) || row.Summary.Energy != (Statistic{}) || row.Summary.MarginalW2 != (Statistic{}) || !(row.Summary.SlicedW2.Mean > 0) {
			t.Errorf("%s: Sinkhorn %+v, sliced W2 %+v of coordinates", kind, row.Summary.Sinkhorn, row.Summary.SlicedW2)
		}
		// All functions have as many states: the pooled mean is the mean of means.
		var mean, target float64
		for _, f := range row.Functions {
			mean += f.Observables.Energy.Model.Mean / float64(len(row.Functions))
			target += f.Observables.Energy.Target.Mean / float64(len(row.Functions))
		}
		if e := s.Pooled.Energy; !(math.Abs(e.Model.Mean-mean) <= 1e-6*math.Abs(mean) && math.Abs(e.RelativeMean-(mean-target)/math.Abs(target)) <= 1e-6*math.Abs(e.RelativeMean)) {
			t.Errorf("%s: pooled energies %+v, means of the functions %v and %v", kind, e, mean, target)
		}
	}
	if f, m := rows[Floor].Summary.Observables.FeatureW2, rows[Normal].Summary.Observables.FeatureW2; !(f.Mean <= m.Mean/4) {
		t.Errorf("the floor %+v is not far below N(0,I) %+v", f, m)
	}
	// The row of halves is what observables say of the halves.
	dim, half := r.Dim, r.Samples/2*r.Dim
	var firsts, seconds [][]float32
	for i, f := range functions {
		firsts, seconds = append(firsts, f.reference[:half]), append(seconds, f.reference[half:])
		first, err := observables.Observe(f.reference[:half], dim/2, 1, f.potential.Energy)
		if err != nil {
			t.Fatal(err)
		}
		second, err := observables.Observe(f.reference[half:], dim/2, 1, f.potential.Energy)
		if err != nil {
			t.Fatal(err)
		}
		want, err := observables.FeatureDistance(first, second, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := rows[Split].Functions[i].Observables.FeatureW2; got != want {
			t.Errorf("function %d: halves are %v apart, the row says %v", f.index, want, got)
		}
	}
	want, err := observables.MarginalKL(firsts, seconds, dim/2)
	if got := rows[Split].Summary.Observables.Pooled.MarginalKL; err != nil || got != want || !(got < rows[Split].Summary.Observables.MarginalKL.Mean) {
		t.Errorf("pooled marginals of the halves are %v apart, the row says %v, and of functions %v; %v", want, got, rows[Split].Summary.Observables.MarginalKL.Mean, err)
	}
	checkKernels(t, r, shown, functions)
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}

// Figures have every function once, under its kind of potential.
func checkKernels(t *testing.T, r *Results, shown FigureData, functions []heldOutFunction) {
	t.Helper()
	if shown.Percentiles != nil {
		t.Error("percentiles of samples that no figure shows")
	}
	count := 0
	for _, k := range shown.Kernels {
		count += k.Functions
		if n := k.Functions * r.Samples; len(k.ReferenceEnergies) != n || len(k.ModelEnergies) != n || len(k.R) != len(k.ReferenceG) || len(k.R) != len(k.ModelG) {
			t.Errorf("%s: %d and %d energies of %d states", k.Name, len(k.ReferenceEnergies), len(k.ModelEnergies), n)
		}
		if !slices.ContainsFunc(functions, func(f heldOutFunction) bool { return f.potential.Kernel == k.Name }) {
			t.Errorf("no function has the kernel %s", k.Name)
		}
	}
	if count != len(functions) {
		t.Errorf("%d kernels of %d", count, len(functions))
	}
}
