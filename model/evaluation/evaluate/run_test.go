package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
	"github.com/ergoflow/ergoflow/model/evaluation/metrics"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// smoke evaluates the initial state of a smoke preset.
func smoke(t *testing.T, b *backend.Backend, name string) Options {
	t.Helper()
	e, err := experiment.Load(name, "smoke", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	st := state.Fresh(e.Velocity().Layout(), e.Seed)
	st.Normalisation = shard.Normalisation{"drift": {Std: 3}, "diffusion": {Mean: 1, Std: 1}, "log_time": {Std: 2}}
	return Options{Experiment: e, State: st, Backend: b, Store: shard.NewDir(t.TempDir()), Simulator: simulate.Fastest()}
}

// withoutTimes is a row without its wall times.
func withoutTimes(r Row) Row {
	r.SetupSeconds, r.SolveSeconds = 0, 0
	return r
}

func TestKnownRows(t *testing.T) {
	b := backendtest.Fast(t)
	for _, name := range []string{"vn1d", "rare1d"} {
		t.Run(name, func(t *testing.T) {
			o := smoke(t, b, name)
			var stages []string
			o.Progress = func(stage string, done, total int) {
				if total != 8 || done < 1 || done > total {
					t.Errorf("%s: %d of %d", stage, done, total)
				}
				if !slices.Contains(stages, stage) {
					stages = append(stages, stage)
				}
			}
			r, shown, err := Run(context.Background(), o)
			if err != nil {
				t.Fatal(err)
			}
			var kinds []Kind
			rows := map[Kind]Row{}
			for _, row := range r.Rows {
				kinds = append(kinds, row.Kind)
				rows[row.Kind] = row
				if len(row.Functions) != 8 || row.Functions[0].Index != o.Experiment.Data.Functions {
					t.Errorf("%s: functions %v", row.Name, row.Functions)
				}
			}
			want := []Kind{Floor, Split, MCMC, Model, Shuffled, Untrained, Moments, Normal}
			if name == "rare1d" { // draws, not chains: nothing to split
				want = slices.DeleteFunc(want, func(k Kind) bool { return k == Split })
			}
			if !slices.Equal(kinds, want) {
				t.Fatalf("rows %v, want %v", kinds, want)
			}
			if want := 1 + 2*len(want); len(stages) != want {
				t.Errorf("%d stages, want %d: %v", len(stages), want, stages)
			}
			// A second reference set is closer than a network that learned nothing.
			floor, model := rows[Floor].Summary, rows[Model].Summary
			if !(floor.W2.Mean < model.W2.Mean/2 && floor.Sinkhorn.Mean < model.Sinkhorn.Mean/2) {
				t.Errorf("floor %+v is not far below the untrained model %+v", floor, model)
			}
			// The state is the untrained one, and both rows start from the same noise.
			if !reflect.DeepEqual(rows[Model].Functions, rows[Untrained].Functions) {
				t.Error("the initial state and the untrained row differ")
			}
			// The moments row has the reference's variance by construction.
			if v := rows[Moments].Summary.VarianceRatio.Mean; !(math.Abs(v-1) <= 0.1) {
				t.Errorf("moment-matched normal has %v times the variance", v)
			}
			checkNormalRow(t, o, rows[Normal])
			if len(shown.Percentiles) != 3 || shown.Kernels != nil {
				t.Fatalf("%d percentiles, %d kernels", len(shown.Percentiles), len(shown.Kernels))
			}
			for i, p := range shown.Percentiles {
				if p.Percent != 25*(i+1) || len(p.Model) != r.Samples || len(p.MCMC) != r.Samples || len(p.Reference) != r.Samples {
					t.Errorf("percentile %d: %d, %d, %d samples", p.Percent, len(p.Reference), len(p.MCMC), len(p.Model))
				}
				if i > 0 && !(p.Function.Sinkhorn >= shown.Percentiles[i-1].Function.Sinkhorn) {
					t.Error("percentiles do not increase")
				}
				if last := p.CDF[len(p.CDF)-1]; !(p.CDF[0] <= 1.001e-5 && 1-last <= 1.001e-5) || !rising(p.X) || !rising(p.CDF) {
					t.Errorf("the curves reach from %g to 1-%g", p.CDF[0], 1-last)
				}
				if lo, hi := slices.Min(p.Model), slices.Max(p.Model); !(p.X[0] <= float64(lo) && p.X[len(p.X)-1] >= float64(hi)) {
					t.Errorf("the curves do not cover the model's samples")
				}
				if area := trapezoid(p.X, p.PDF); !(math.Abs(area-1) <= 1e-3) {
					t.Errorf("the density of function %d integrates to %v", p.Function.Index, area)
				}
			}
			if _, err := json.Marshal(r); err != nil {
				t.Error(err)
			}
		})
	}
}

// rising allows for rounding.
func rising(v []float64) bool {
	for i := range len(v) - 1 {
		if v[i+1] < v[i]-1e-12 {
			return false
		}
	}
	return true
}

func trapezoid(x, y []float64) (area float64) {
	for i := range len(x) - 1 {
		area += (x[i+1] - x[i]) * (y[i+1] + y[i]) / 2
	}
	return area
}

// The N(0,1) row equals the metrics applied to the same draws by hand.
func checkNormalRow(t *testing.T, o Options, row Row) {
	t.Helper()
	d := o.Experiment.Data
	s, err := o.Store.Open(d.Hash(), d.HeldOutShard())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	f, err := family.ByName(d.Family)
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range row.Functions {
		x := make([]float32, o.Experiment.Evaluation.Samples)
		rng := random.New(o.Experiment.Seed, "evaluate/normal", uint64(got.Index))
		for j := range x {
			x[j] = float32(rng.NormFloat64())
		}
		w2, err := metrics.W2(x, s.Samples(i))
		if err != nil {
			t.Fatal(err)
		}
		sinkhorn, err := metrics.Sinkhorn(metrics.Line(x), metrics.Line(s.Samples(i)), metrics.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got.W2 != w2 || got.Sinkhorn != sinkhorn {
			t.Errorf("function %d: W2 %v and Sinkhorn %v, want %v and %v", got.Index, got.W2, got.Sinkhorn, w2, sinkhorn)
		}
		law, err := f.(family.KnownLaw).Law(d.Seed, got.Index)
		if err != nil {
			t.Fatal(err)
		}
		// Between two laws W2 is at least the difference of their means.
		const points = 1000
		var mean float64
		for k := range points {
			mean += law.Quantile((float64(k)+0.5)/points) / points
		}
		if gap := math.Abs(mean); !(got.W2Exact >= gap-0.2) {
			t.Errorf("function %d: W2 to the exact law is %v, the means differ by %v", got.Index, got.W2Exact, gap)
		}
	}
}

// The numbers depend neither on the number of threads nor on whether the
// held-out shard was there.
func TestDeterministic(t *testing.T) {
	o := smoke(t, backendtest.Fast(t), "vn1d")
	o.Experiment.Evaluation.Functions, o.Experiment.Evaluation.Samples = 3, 128
	first, _, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	second, _, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range first.Rows {
		if !reflect.DeepEqual(withoutTimes(first.Rows[i]), withoutTimes(second.Rows[i])) {
			t.Errorf("%s differs:\n%+v\n%+v", first.Rows[i].Name, first.Rows[i], second.Rows[i])
		}
	}
}

func TestCancelled(t *testing.T) {
	o := smoke(t, backendtest.Fast(t), "vn1d")
	for _, at := range []string{"reference: sample", "floor: compare", "mcmc: sample", "model: sample"} {
		ctx, cancel := context.WithCancel(context.Background())
		o.Progress = func(stage string, _, _ int) {
			if stage == at {
				cancel()
			}
		}
		o.Store = shard.NewDir(t.TempDir())
		if _, _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled in %q: %v", at, err)
		}
		cancel()
	}
}

// A damaged reference would make every row wrong.
func TestDamagedReference(t *testing.T) {
	o := smoke(t, nil, "vn1d")
	f, err := family.ByName(o.Experiment.Data.Family)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := heldOut(t.Context(), o, f, nil); err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(o.Store.Root(), "*", "*.safetensors"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("%v, error %v", paths, err)
	}
	b, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1] ^= 0x40
	if err := os.WriteFile(paths[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := heldOut(t.Context(), o, f, nil); !errors.Is(err, shard.ErrCorrupt) || !strings.Contains(err.Error(), paths[0]) {
		t.Errorf("error %v, want ErrCorrupt and the path", err)
	}
}

func TestBrokenState(t *testing.T) {
	b := backendtest.Fast(t)
	o := smoke(t, b, "vn1d")
	for i := range o.State.Parameters {
		o.State.Parameters[i] = 1e30
	}
	if _, _, err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "model: ") {
		t.Errorf("a state that overflows: %v", err)
	}
	o = smoke(t, b, "vn1d")
	normalisation := o.State.Normalisation
	o.State = state.Fresh(o.State.Layout[1:], 1)
	o.State.Normalisation = normalisation
	if _, _, err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "network") {
		t.Errorf("a state of another network: %v", err)
	}
	o = smoke(t, b, "vn1d")
	delete(o.State.Normalisation, "diffusion")
	if _, _, err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "normalisation") {
		t.Errorf("a state without a field's normalisation: %v", err)
	}
	o = smoke(t, b, "vn1d")
	o.Experiment.Evaluation.Blur = math.NaN()
	if _, _, err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "evaluation.blur") {
		t.Errorf("NaN blur: %v", err)
	}
}
