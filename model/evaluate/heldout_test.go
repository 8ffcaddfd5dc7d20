package evaluate

import (
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/family"
	"github.com/ergoflow/ergoflow/model/backend/backendtest"
)

// Exact laws are an extra: where one cannot be computed, samples are judged without
// any, and the table says why.
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
	if len(r.Rows) != 2 || r.Rows[0].Summary.W2.Mean <= 0 || r.Rows[1].Summary.W2Exact.Mean != 0 {
		t.Errorf("rows %+v", r.Rows)
	}
	for _, p := range shown.Percentiles {
		if p.X != nil {
			t.Errorf("function %d is shown with a density", p.Function.Index)
		}
	}
	if table := r.Table().Markdown(); !strings.Contains(table, "Nothing is compared with exact laws") || strings.Contains(table, "exact law mean") {
		t.Error(table)
	}
}
