package allreduce

import "github.com/ergoflow/ergoflow"

// limbs of 16 bits: sums of up to 256 of them are exact in float32.
const limbs = 4

// AllReduceInt64 is AllReduce for 64-bit integers. Sums wrap around; they do not
// depend on the number of ranks or their order.
func (r *Ring) AllReduceInt64(step ergoflow.Step, v []int64) error {
	if r.id.World == 1 {
		return r.AllReduce(step, nil)
	}
	parts := make([]float32, limbs*len(v))
	for i, x := range v {
		for k := range limbs {
			parts[limbs*i+k] = float32(uint16(x >> (16 * k)))
		}
	}
	if err := r.AllReduce(step, parts); err != nil {
		return err
	}
	for i := range v {
		v[i] = 0
		for k := range limbs {
			v[i] += int64(parts[limbs*i+k]) << (16 * k)
		}
	}
	return nil
}
