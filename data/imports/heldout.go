package imports

import (
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/family"
)

// sameEquation is how far apart, relative to the root mean square of a field, values of two
// equations are that count as one: float32 rounding, of formulas too, is a hundredth of that.
const sameEquation = 1e-5

// heldOut are the fields of held-out functions.
type heldOut struct {
	family       family.Family
	seed         uint64
	first, count int
	fields       [][][]float32
	slack        [][]float64 // by function and field
}

func newHeldOut(spec Spec) *heldOut {
	return &heldOut{family: spec.Family, seed: spec.Seed, first: spec.HeldOutFirst, count: spec.HeldOut}
}

// prepare makes the fields.
func (h *heldOut) prepare() error {
	if h.fields != nil {
		return nil
	}
	fields, slack := make([][][]float32, h.count), make([][]float64, h.count)
	for i := range fields {
		f, err := h.family.Function(h.seed, h.first+i)
		if err != nil {
			return fmt.Errorf("held-out functions: %w", err)
		}
		fields[i] = f.Fields
		for _, values := range f.Fields {
			square := 0.
			for _, v := range values {
				square += float64(v) * float64(v)
			}
			slack[i] = append(slack[i], sameEquation*math.Sqrt(square/float64(len(values))))
		}
	}
	h.fields, h.slack = fields, slack
	return nil
}

// find returns the number of the held-out function with these fields, after prepare.
func (h *heldOut) find(fields [][]float32) (number int, ok bool) {
	for i, other := range h.fields {
		same := true
		for k := 0; same && k < len(fields); k++ {
			same = within(fields[k], other[k], h.slack[i][k])
		}
		if same {
			return h.first + i, true
		}
	}
	return 0, false
}

func within(a, b []float32, slack float64) bool {
	if len(a) != len(b) {
		return false
	}
	for i, v := range a {
		if math.Abs(float64(v)-float64(b[i])) > slack {
			return false
		}
	}
	return true
}
