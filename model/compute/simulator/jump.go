package simulator

import (
	"math/bits"

	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
)

// A chain of n particles has one generator, which makes 2n numbers a step. Drawing
// them one after the other would leave a device idle. So every particle has a copy of
// the generator at the position of its own numbers. After drawing these, the copy
// jumps over the numbers of the other particles. A jump is linear over the bits of
// the state, so the new state is the exclusive or of sixteen table entries, one for
// each byte of the old state.
const (
	jumpRows = 16 * 256 // of byte 0 of word 0, byte 1, …, byte 3 of word 3
	jumpSize = 4 * jumpRows
)

// advanced is the state of a generator after that many numbers.
func advanced(s [4]uint32, numbers int) [4]uint32 {
	for range numbers {
		shifted := s[1] << 9
		s[2] ^= s[0]
		s[3] ^= s[1]
		s[1] ^= s[2]
		s[0] ^= s[3]
		s[2] ^= shifted
		s[3] = bits.RotateLeft32(s[3], 11)
	}
	return s
}

// uploadJump uploads the table of the jump over that many numbers.
func uploadJump(b *backend.Backend, numbers int) (backend.Buffer, error) {
	table := make([]uint32, 0, jumpSize)
	for word := range 4 {
		for first := 0; first < 32; first += 8 {
			var images [8][4]uint32
			for bit := range images {
				var s [4]uint32
				s[word] = 1 << (first + bit)
				images[bit] = advanced(s, numbers)
			}
			for value := range 256 {
				var sum [4]uint32
				for bit, image := range images {
					if value>>bit&1 == 1 {
						for w := range sum {
							sum[w] ^= image[w]
						}
					}
				}
				table = append(table, sum[:]...)
			}
		}
	}
	return b.UploadUint32(table, jumpRows, 4)
}

// jump looks up the states after a jump.
func (s generators) jump(table *graph.Node) generators {
	g := table.Graph()
	var sum *graph.Node // [functions, chains, particles, 4]
	for word := range s {
		for b := range 4 {
			value := graph.BitwiseAnd(shiftRight(s[word], uint32(8*b)), graph.Const(g, uint32(255)))
			row := graph.Add(graph.ConvertDType(value, dtypes.Int32), graph.Const(g, int32(256*(4*word+b))))
			if image := gather(table, row); sum == nil {
				sum = image
			} else {
				sum = graph.BitwiseXor(sum, image)
			}
		}
	}
	var after generators
	for word := range after {
		after[word] = graph.Squeeze(graph.Slice(sum, graph.AxisRange().Spacer(), graph.AxisElem(word)), -1)
	}
	return after
}
