package evaluate

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
)

// A held-out function is the family's of its number, with the fields and the samples
// that the shard has of it.
func TestHeldOutFunctions(t *testing.T) {
	for _, name := range []string{"vn1d", "vn1d_time"} {
		o := smoke(t, nil, name)
		d := o.Experiment.Data
		f, functions := heldOutOf(t, o)
		stored, err := o.Store.Open(d.Hash(), d.HeldOutShard())
		if err != nil {
			t.Fatal(err)
		}
		defer stored.Close()
		if len(functions) != o.Experiment.Evaluation.Functions {
			t.Fatalf("%s: %d functions", name, len(functions))
		}
		for i, got := range functions {
			if got.index != d.Functions+i {
				t.Errorf("%s: held-out function %d has the number %d", name, i, got.index)
			}
			want, err := f.Function(d.Seed, d.Functions+i)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got.function, want) {
				t.Errorf("%s: function %d is another", name, got.index)
			}
			for k, field := range got.function.Fields {
				if !slices.Equal(field, stored.Field(k, i)) {
					t.Errorf("%s: function %d has another %s than the shard", name, got.index, f.Fields()[k].Name)
				}
			}
			if !slices.Equal(got.reference, stored.Samples(i)) {
				t.Errorf("%s: function %d has another reference than the shard", name, got.index)
			}
		}
	}
}

// Where an exact law cannot be computed, the evaluation goes without exact laws, and
// the table says why.
func TestLawsThatCannotBeComputed(t *testing.T) {
	definition, err := family.Parse([]byte(`
name: quiet
dim: 1
grid: {lo: -4, hi: 4, nodes: 64}
parameters:
  m: uniform(0.5, 1)
drift: m - x
diffusion: max(0.0005, abs(x) - 0.2)
`))
	if err != nil {
		t.Fatal(err)
	}
	o := smoke(t, backendtest.Fast(t), "vn1d")
	o.Experiment.Data.Family = definition.String()
	o.Kinds = []Kind{Floor, Model}
	r, shown, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.LawUnknown, "too steep to integrate") || r.ReferenceToExact != nil || r.Mixed != nil {
		t.Errorf("law: %q; references %v from it", r.LawUnknown, r.ReferenceToExact)
	}
	if len(r.Rows) != 2 || !(r.Rows[0].Summary.W2.Mean > 0) || r.Rows[1].Summary.W2Exact.Mean != 0 {
		t.Errorf("rows %+v", r.Rows)
	}
	for _, p := range shown.Percentiles {
		if p.X != nil {
			t.Errorf("function %d is shown with a density", p.Function.Index)
		}
	}
	if table := r.Table().Markdown(); !strings.Contains(table, "No comparison with exact laws") || strings.Contains(table, "exact law mean") {
		t.Error(table)
	}
}
