package simulate

import (
	"context"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// All engines take the plain one's steps of equations on the whole line, for
// every number of chains.
func TestEnginesAgreeOnFunctions(t *testing.T) {
	equation := vectorised(rough.DriftAt, rough.DiffusionAt)
	for _, e := range otherEngines(t) {
		for chains := 1; chains <= 130; chains++ {
			s := Scheme{DT: 0.05, BurnIn: 21, Thin: 3, Chains: chains}
			want, got := make([]float64, 3*chains), make([]float64, 3*chains)
			if err := plain.EulerMaruyamaFunc(context.Background(), want, equation, sde.WholeLine, s, 1, 2, "p", nil); err != nil {
				t.Fatal(err)
			}
			if err := e.EulerMaruyamaFunc(context.Background(), got, equation, sde.WholeLine, s, 1, 2, "p", nil); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(want, got) {
				t.Fatalf("%v: %d chains differ from the plain ones", e, chains)
			}
		}
	}
}
