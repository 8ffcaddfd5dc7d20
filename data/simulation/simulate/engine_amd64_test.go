package simulate

import (
	"math"
	"math/bits"
	"testing"

	"golang.org/x/sys/cpu"
)

// A kernel that always left its lanes to the plain code would be right, and
// slow: it does so for tails alone, 2⁻¹⁶ of the normals.
func TestKernelsSeldomGiveUp(t *testing.T) {
	for _, k := range []struct {
		name      string
		cubics    func(n *normals, first int, c *inverseTable) uint32
		width     int
		available bool
	}{
		{"AVX-512", cubicsAVX512, 16, cpu.X86.HasAVX512F},
		{"AVX2", cubicsAVX2, 8, cpu.X86.HasAVX2},
	} {
		if !k.available {
			continue
		}
		n := new(normals)
		for l := range lanes {
			n.seed(l, 1, "give up", 0, uint64(l))
		}
		const calls = 1 << 16
		givenUp := 0.0
		for i := range calls {
			first := i * k.width % lanes
			tails := k.cubics(n, first, inverses)
			givenUp += float64(bits.OnesCount32(tails))
			n.fillTails(first, tails)
		}
		expected := float64(calls*k.width*window) / (1 << 16)
		if !(math.Abs(givenUp-expected) <= 5*math.Sqrt(expected)) {
			t.Errorf("%s: %v of %d lanes are given up, want about %v", k.name, givenUp, calls*k.width, expected)
		}
	}
}
