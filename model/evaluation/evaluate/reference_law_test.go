package evaluate

import (
	"math"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/random"
)

// A reference in one of two wells is not of the law, and one in both is. Functions whose law cells cannot
// resolve do not count.
func TestReferenceLaw(t *testing.T) {
	definition, err := family.Parse([]byte(`
name: wells
dim: 2
box: [[-3, 3], [-3, 3]]
drift: ["x0 - x0^3 - x1", "x0^3 - x0 - x1"]
diffusion: 0.25
`))
	if err != nil {
		t.Fatal(err)
	}
	wells, err := definition.Family()
	if err != nil {
		t.Fatal(err)
	}
	rng := random.New(1, "evaluate/reference law")
	in := func(left float64) heldOutFunction {
		function, err := wells.Function(1, 0)
		if err != nil {
			t.Fatal(err)
		}
		f := heldOutFunction{function: function}
		for range 1024 { // of exp(−32(x⁴/4 − x²/2 + y²/2)), which is nearly normal in each well
			side := 1.
			if rng.Float64() < left {
				side = -1
			}
			f.reference = append(f.reference, float32(side*(0.986+0.127*rng.NormFloat64())), float32(0.177*rng.NormFloat64()))
		}
		return f
	}
	var o Options
	r, err := o.referenceLaw(t.Context(), wells, []heldOutFunction{in(0.5), in(0), in(0.5), in(0.8)})
	if err != nil || r == nil || r.Resolved != 4 || r.Off != 2 || math.Abs(r.Largest-0.5) > 0.03 || r.Median < 0.1 || r.Median > 0.2 {
		t.Fatalf("%+v, error %v", r, err)
	}
	if note := r.note(4); !strings.Contains(note, "the references of 2 are off beyond chance") {
		t.Error(note)
	}
	o.Experiment.Data.ReferenceDraws = data.Exact
	if r, err := o.referenceLaw(t.Context(), wells, []heldOutFunction{in(0)}); r != nil || err != nil {
		t.Errorf("exact draws: %+v, error %v", r, err)
	}
}
