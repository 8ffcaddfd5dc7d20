package evaluate

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
)

// Laws at physical times: the invariant law is far from them at first and is theirs
// at last, N(0,1) the other way about. The rows by time are the functions' own.
func TestPhysicalTimes(t *testing.T) {
	o := smoke(t, backendtest.Fast(t), "vn1d_time")
	rng := random.New(1, "test/parameters")
	for i := range o.State.Parameters {
		o.State.Parameters[i] += float32(0.1 * rng.NormFloat64())
	}
	r, shown, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []Kind
	for _, row := range r.Rows {
		kinds = append(kinds, row.Kind)
		if len(row.Times) != 8 || row.Times[0].From != 0.05 || row.Times[7].To != 50 {
			t.Fatalf("%s: intervals %+v", row.Name, row.Times)
		}
		for k, at := range row.Times {
			var inside []FunctionResult
			for i, f := range row.Functions {
				if i%8 == k { // one equation after the other, each at eight times
					inside = append(inside, f)
				}
			}
			for _, f := range inside {
				if !(f.Time >= at.From && f.Time < at.To) {
					t.Errorf("%s: function %d at %v is not in %v…%v", row.Name, f.Index, f.Time, at.From, at.To)
				}
			}
			if at.Functions != 2 || !(math.Abs(at.W2.Mean-(inside[0].W2+inside[1].W2)/2) <= 1e-12 && math.Abs(at.Sinkhorn.Mean-(inside[0].Sinkhorn+inside[1].Sinkhorn)/2) <= 1e-12) {
				t.Errorf("%s: %+v is not of %+v", row.Name, at, inside)
			}
		}
	}
	if want := []Kind{Floor, Split, Model, Shuffled, Longest, Untrained, Invariant, Moments, Normal}; !slices.Equal(kinds, want) {
		t.Fatalf("rows %v, want %v", kinds, want)
	}
	floor, _ := r.Row(Floor)
	for kind, far := range map[Kind]int{Invariant: 0, Normal: 7} {
		row, _ := r.Row(kind)
		near := 7 - far
		if !(row.Times[far].W2.Mean >= 1 && row.Times[near].W2.Mean <= 2*floor.Times[near].W2.Mean) {
			t.Errorf("%s: %+v", row.Name, row.Times)
		}
	}
	// Intervals over all times are of two equations, not of sixteen functions.
	f, err := family.ByName("vn1d_time")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Rows {
		units := ResamplingUnits(f, row.Functions)
		if len(units) != 16 || units[0] != units[7] || units[7] == units[8] {
			t.Fatalf("%s: functions are of the equations %v", row.Name, units)
		}
		first, second := describe(row.values(W2)[:8], nil).Mean, describe(row.values(W2)[8:], nil).Mean
		if got := row.Summary.W2; !(math.Abs(got.StdErr-math.Abs(first-second)/2) <= 1e-12) {
			t.Errorf("%s: standard error %v, the equations' means are %v and %v", row.Name, got.StdErr, first, second)
		}
	}
	// Given another time, the network draws other samples.
	model, _ := r.Row(Model)
	late, _ := r.Row(Longest)
	for i, f := range late.Functions {
		if reflect.DeepEqual(f, model.Functions[i]) {
			t.Errorf("function %d at %v: the longest time makes no difference", f.Index, f.Time)
		}
	}
	if len(shown.Evolutions) != 3 {
		t.Fatalf("%d evolutions", len(shown.Evolutions))
	}
	for _, e := range shown.Evolutions {
		if len(e.Times) != 8 || !slices.IsSorted(e.Times) || len(e.Reference) != 8 || len(e.Model) != 8 || len(e.Model[7]) != r.Samples || len(e.X) != len(e.PDF) {
			t.Errorf("equation %d: %d times, %d and %d sets", e.Equation, len(e.Times), len(e.Reference), len(e.Model))
		}
	}
	if a, b := shown.Evolutions[0], shown.Evolutions[2]; a.Equation == b.Equation || !(a.Sinkhorn <= b.Sinkhorn) {
		t.Errorf("equations %d and %d with %v and %v", a.Equation, b.Equation, a.Sinkhorn, b.Sinkhorn)
	}
}

// thrice is a family with three times for an equation.
type thrice struct {
	family.Family
	family.Timed
}

func (thrice) Equation(i int) int { return i / 3 }

// Which functions are of one equation, the family says.
func TestUnitsAreTheFamilys(t *testing.T) {
	functions := []FunctionResult{{Index: 6}, {Index: 7}, {Index: 8}, {Index: 9}}
	if got := ResamplingUnits(thrice{}, functions); !slices.Equal(got, []int{2, 2, 2, 3}) {
		t.Errorf("units %v", got)
	}
	if got := ResamplingUnits(thrice{}, functions[2:]); got != nil {
		t.Errorf("two equations with one function each are units %v", got)
	}
	if got := ResamplingUnits(struct{ family.Family }{}, functions); got != nil {
		t.Errorf("a family without times has units %v", got)
	}
}

// Ends belong to the later interval, the last to the last one.
func TestIntervals(t *testing.T) {
	at := func(times ...float64) (all []FunctionResult) {
		for _, time := range times {
			all = append(all, FunctionResult{Time: time, W2: time, Sinkhorn: 2 * time})
		}
		return all
	}
	got := intervals(at(1, 5, 2, 9, 10), []float64{1, 2, 4, 5, 10})
	want := map[float64]int{1: 1, 2: 1, 5: 3}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for _, i := range got {
		if i.Functions != want[i.From] || i.Sinkhorn.Mean != 2*i.W2.Mean {
			t.Errorf("%+v", i)
		}
	}
	if mean := got[2].W2.Mean; mean != 8 {
		t.Errorf("mean of the last %v", mean)
	}
}
