package allreduce

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/ergoflow/ergoflow"
)

func TestQuantise(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for trial := range 300 {
		n := rng.IntN(3 * blockLength)
		v, meant, residual := make([]float32, n), make([]float32, n), make([]float32, n)
		for i := range v {
			v[i] = float32(rng.NormFloat64() * math.Pow(2, float64(rng.IntN(60)-30+trial/2-75)))
			residual[i] = v[i] * float32(rng.Float64())
			meant[i] = v[i] + residual[i]
		}
		b := make([]byte, format(Int8).bytes(n))
		quantise(b, v, residual)
		for i := range v {
			first := i / blockLength * blockLength
			var largest float64
			for _, x := range meant[first:min(first+blockLength, n)] {
				largest = max(largest, math.Abs(float64(x)))
			}
			// The step is the least power of two from largest/127 on, or 2⁻¹²⁶.
			if d := math.Abs(float64(residual[i])); !(d <= max(largest/127, 0x1p-127)) || v[i]+residual[i] != meant[i] {
				t.Fatalf("%v of at most %v became %v and kept back %v", meant[i], largest, v[i], residual[i])
			}
		}
		// Passing on changes nothing.
		again, same := make([]byte, len(b)), append([]float32(nil), v...)
		quantise(again, same, nil)
		if string(again) != string(b) {
			t.Fatalf("%d numbers passed on are other bytes", n)
		}
	}
}

func TestQuantiseWhatIsNotFinite(t *testing.T) {
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
		v, residual := make([]float32, 2*blockLength), make([]float32, 2*blockLength)
		v[3], v[blockLength] = bad, 1
		b := make([]byte, format(Int8).bytes(len(v)))
		quantise(b, v, residual)
		if b[0] != notFinite || b[1] == notFinite || v[4] == v[4] || v[blockLength] != 1 {
			t.Errorf("%v: exponents %d and %d, a neighbour is %v, the other block %v", bad, b[0], b[1], v[4], v[blockLength])
		}
	}
}

// Replicas hold the same bits after every sum, and what rounding takes away
// comes back: the mean of many sums is that of exact ones. Without feedback the
// small numbers beside a large one would be lost every time.
func TestErrorFeedbackLosesNothing(t *testing.T) {
	const n, steps = 5000, 400
	for _, world := range []int{2, 3, 4} {
		for _, topology := range []Topology{Mesh, Circle, Doubling} {
			t.Run(fmt.Sprintf("%d/%v", world, topology), func(t *testing.T) {
				rings := mustJoin(t, memoryCluster(t, world), 1, Options{Wire: Int8, Topology: topology})
				in := inputs(world, n, 3)
				for r := range in {
					for i := range in[r] {
						if in[r][i] *= 1e-3; i%blockLength == 0 {
							in[r][i] = 1 // a step of 2⁻⁶
						}
					}
				}
				total, _ := sumSteps(t, rings, in, steps)
				for i := range total {
					var want float64
					for r := range in {
						want += float64(in[r][i])
					}
					// Each rank keeps back half a step at most, of sums up to world.
					bound := float64(world) * float64(world) * 0x1p-6 / steps
					if d := math.Abs(total[i]/steps - want); !(d <= bound) {
						t.Fatalf("number %d: mean of the sums %v, exact %v, off by more than %v", i, total[i]/steps, want, bound)
					}
				}
				closeAll(t, rings)
			})
		}
	}
}

// sumSteps sums the same vectors in many steps. It returns the total of the sums, and the largest
// number in one. All ranks must have equal bits.
func sumSteps(t *testing.T, rings []*Ring, in [][]float32, steps ergoflow.Step) (total []float64, largest float64) {
	t.Helper()
	total = make([]float64, len(in[0]))
	for step := range steps {
		got := clone(in)
		if err := errors.Join(each(len(rings), func(r int) error { return rings[r].AllReduce(step, got[r]) })...); err != nil {
			t.Fatal(err)
		}
		for r := range got {
			if err := sameBits(got[r], got[0]); err != nil {
				t.Fatalf("step %d rank %d: %v", step, r, err)
			}
		}
		for i, x := range got[0] {
			total[i] += float64(x)
			largest = max(largest, float64(x))
		}
	}
	return total, largest
}
