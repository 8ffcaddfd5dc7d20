package flow_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/network/velocity"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// In the plane every sample keeps its two numbers together and its function. Optimal
// transport pairs noise with samples; the independent coupling leaves both as drawn.
func TestPlane(t *testing.T) {
	s := open(t, functions, stored, 2)
	coupled := assemble(t, assembler(t, plan, 2, flow.OptimalTransport), s, 1)
	drawn := assemble(t, assembler(t, plan, 2, flow.Independent), s, 1)
	for _, b := range []*flow.Batch{coupled, drawn} {
		if err := b.Validate(); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(coupled.X1, drawn.X1) || !slices.Equal(coupled.T, drawn.T) || slices.Equal(coupled.X0, drawn.X0) {
		t.Error("coupling changes more than the order of the noise, or nothing")
	}
	size := 2 * plan.BatchSamples
	for f, pick := range plan.Picks(1, 0) {
		lo, hi := f*size, (f+1)*size
		own := pointsOf(s.Samples(pick.Function), 2)
		for _, p := range pointsOf(drawn.X1[lo:hi], 2) {
			if _, ok := slices.BinarySearchFunc(own, p, slices.Compare); !ok {
				t.Fatalf("function %d: sample %v is none of its own", f, p)
			}
		}
		if !slices.EqualFunc(pointsOf(coupled.X0[lo:hi], 2), pointsOf(drawn.X0[lo:hi], 2), slices.Equal) {
			t.Errorf("function %d has other noise when coupled", f)
		}
		if got, want := cost(coupled.X0[lo:hi], coupled.X1[lo:hi]), cost(drawn.X0[lo:hi], drawn.X1[lo:hi]); !(got < want) {
			t.Errorf("function %d: coupled pairs cost %v, independent ones %v", f, got, want)
		}
	}
}

// numbered conditions on something that a shard does not hold: the function's number.
type numbered struct{ err error }

func (n numbered) Condition(_ context.Context, inputs [][]float32, subjects []flow.Subject) error {
	for _, s := range subjects {
		inputs[0] = append(inputs[0], float32(s.Index), -1)
	}
	return n.err
}

// A conditioner gets the number in the data set of the function of each pick.
func TestConditionerIsToldTheFunction(t *testing.T) {
	s := open(t, functions, stored, 1)
	var b flow.Batch
	a := flow.NewAssembler(plan, 1, flow.OptimalTransport, numbered{})
	for range 2 { // the second time in memory that was used
		b.Reset(plan.BatchSamples, 1, 1)
		a.Append(&b, s, plan.Picks(2, 0)[:3])
		a.Append(&b, s, plan.Picks(2, 0)[3:])
		if err := a.Complete(t.Context(), &b, 0); err != nil {
			t.Fatal(err)
		}
	}
	var want []float32
	for _, pick := range plan.Picks(2, 0) {
		want = append(want, float32(first+pick.Function), -1)
	}
	if !slices.Equal(b.Inputs[0], want) {
		t.Errorf("inputs %v, want %v", b.Inputs[0], want)
	}
	broken := errors.New("broken")
	if err := flow.NewAssembler(plan, 1, flow.OptimalTransport, numbered{broken}).Complete(t.Context(), &b, 0); !errors.Is(err, broken) {
		t.Errorf("a conditioner that fails: %v", err)
	}
}

// The inputs for functions of a shard are those for the same functions later, outside
// the shard.
func TestStoredIsTheSameAfterwards(t *testing.T) {
	s := open(t, functions, stored, 1)
	b := assemble(t, assembler(t, plan, 1, flow.OptimalTransport), s, 0)
	conditioner, err := flow.NewStored(inputs, fields, flow.Grid{}, normalisation)
	if err != nil {
		t.Fatal(err)
	}
	var subjects []flow.Subject
	for _, pick := range plan.Picks(0, 0) {
		f := family.Function{Fields: [][]float32{s.Field(0, pick.Function), s.Field(1, pick.Function)}}
		subjects = append(subjects, flow.Subject{Index: first + pick.Function, Function: f})
	}
	again := make([][]float32, 2)
	if err := conditioner.Condition(t.Context(), again, subjects); err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(again, b.Inputs, slices.Equal) {
		t.Error("other inputs")
	}
}

func TestStoredRefuses(t *testing.T) {
	for want, bad := range map[string]struct {
		input         velocity.Input
		normalisation shard.Normalisation
	}{
		`input "probes" is no stored field`:      {velocity.Input{Name: "probes", Shape: []int{grid}}, normalisation},
		`input "drift" has shape [9]`:            {velocity.Input{Name: "drift", Shape: []int{9}}, normalisation},
		`normalisation lacks the input "drift"`:  {inputs[0], shard.Normalisation{"diffusion": {Std: 1}}},
		`normalisation lacks the input "drift" `: {inputs[0], nil},
	} {
		_, err := flow.NewStored([]velocity.Input{bad.input}, fields, flow.Grid{}, bad.normalisation)
		if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	conditioner, err := flow.NewStored(inputs, fields, flow.Grid{}, normalisation)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range map[string][][]float32{"no fields": nil, "short field": {make([]float32, grid), make([]float32, grid-1)}} {
		subject := flow.Subject{Index: 7, Function: family.Function{Fields: values}}
		if err := conditioner.Condition(t.Context(), make([][]float32, 2), []flow.Subject{subject}); err == nil || !strings.Contains(err.Error(), "function 7") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBatchValidate(t *testing.T) {
	s := open(t, functions, stored, 2)
	for name, spoil := range map[string]func(*flow.Batch){
		"no functions":  func(b *flow.Batch) { b.Functions = 0 },
		"no dimension":  func(b *flow.Batch) { b.Dim = 0 },
		"other dim":     func(b *flow.Batch) { b.Dim = 1 },
		"input missing": func(b *flow.Batch) { b.Inputs[1] = nil },
		"input cut":     func(b *flow.Batch) { b.Inputs[1] = b.Inputs[1][1:] },
		"times cut":     func(b *flow.Batch) { b.T = b.T[1:] },
		"noise cut":     func(b *flow.Batch) { b.X0 = b.X0[1:] },
	} {
		b := assemble(t, assembler(t, plan, 2, flow.Independent), s, 0)
		spoil(b)
		if b.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
