package evaluate

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
	"github.com/ergoflow/ergoflow/model/experiment"
)

// The floor is a second reference of the same law. Taken as independent, the draws of its
// chains are found to differ; as many as they are worth are not. Exact draws are worth their
// number.
func TestKSOfTheFloor(t *testing.T) {
	b := backendtest.Fast(t)
	o := smoke(t, b, "vn1d")
	e, err := experiment.Load("vn1d", "smoke", "", []string{"data.held_out=96", "evaluation.functions=96"})
	if err != nil {
		t.Fatal(err)
	}
	o.Experiment, o.Kinds = e, []Kind{Floor, Split}
	for _, draws := range []data.Draws{"", data.Exact} {
		o.Experiment.Data.ReferenceDraws = draws
		r, _, err := Run(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range r.Rows {
			taken, heeded := row.Summary.KSRejected, row.Summary.KSEffectiveRejected
			if heeded == nil || *heeded > 0.12 { // 5 % expected, 2.2 % standard deviation
				t.Errorf("%s, draws %q: rejects %v of its functions", row.Name, draws, heeded)
				continue
			}
			t.Logf("%s, draws %q: %.3f as independent, %.3f of effective sizes", row.Name, draws, taken, *heeded)
			if draws == "" && row.Kind == Floor && taken < 0.2 {
				t.Errorf("as if independent, it rejects %v only: the test tests nothing", taken)
			}
			for _, f := range row.Functions {
				if !(f.KSPEffective >= f.KSP) || draws == data.Exact && f.KSPEffective != f.KSP {
					t.Errorf("%s, draws %q: p %v, of effective sizes %v", row.Name, draws, f.KSP, f.KSPEffective)
				}
			}
		}
		if table := r.Table().Markdown(); !strings.Contains(table, "KS rejected") || strings.Contains(table, "p < 5 %") {
			t.Error(table)
		}
	}
}

// Results of earlier versions know no effective sizes: then nothing is rejected.
func TestRejectedIsNotKnownOfOldResults(t *testing.T) {
	old := FunctionResult{KS: 0.5, KSP: 1e-9}
	rare := FunctionResult{KS: 0.5, KSP: 1e-9, KSPEffective: math.SmallestNonzeroFloat64}
	common := FunctionResult{KS: 0.5, KSP: 1e-9, KSPEffective: 0.3}
	for _, tt := range []struct {
		functions []FunctionResult
		want      float64 // -1: not known
	}{
		{[]FunctionResult{old}, -1}, {[]FunctionResult{rare, old}, -1}, {[]FunctionResult{rare}, 1}, {[]FunctionResult{common, rare, common, common}, 0.25},
	} {
		if got := rejected(tt.functions); (got == nil) != (tt.want < 0) || got != nil && *got != tt.want {
			t.Errorf("%+v: %v, want %v", tt.functions, got, tt.want)
		}
	}
	if !old.BelowLevel() || !common.BelowLevel() {
		t.Error("p as if independent is below 5 % of both")
	}
	r := tableResults(t)
	if note := strings.Join(r.Table().Notes, "\n"); strings.Contains(note, "reject") || !strings.Contains(note, "taken as independent") {
		t.Error(note)
	}
}
