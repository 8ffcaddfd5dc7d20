package allreduce

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"google.golang.org/grpc/mem"
)

func TestBFloat16RoundsToNearestEven(t *testing.T) {
	for h := range 1 << 16 {
		x := fromBFloat16(uint16(h))
		if back := toBFloat16(x); math.IsNaN(float64(x)) {
			if !math.IsNaN(float64(fromBFloat16(back))) {
				t.Fatalf("NaN %#x became %v", h, fromBFloat16(back))
			}
			continue
		} else if back != uint16(h) {
			t.Fatalf("%#x is %v and comes back as %#x", h, x, back)
		}
		// Between two neighbours of the same sign: nearest, ties to even.
		next := fromBFloat16(uint16(h) + 1)
		if math.IsNaN(float64(next)) || math.IsInf(float64(next), 0) || math.Signbit(float64(next)) != math.Signbit(float64(x)) {
			continue
		}
		bits := uint32(h) << 16
		for _, low := range []uint32{1, 0x7fff, 0x8000, 0x8001, 0xffff} {
			want := uint16(h)
			if low > 0x8000 || low == 0x8000 && h&1 == 1 {
				want++
			}
			if got := toBFloat16(math.Float32frombits(bits | low)); got != want {
				t.Fatalf("%#x: rounded to %#x, want %#x", bits|low, got, want)
			}
		}
	}
	if got := fromBFloat16(toBFloat16(math.MaxFloat32)); !math.IsInf(float64(got), 1) {
		t.Errorf("the largest float32 became %v", got)
	}
	for _, x := range []float32{float32(math.Inf(1)), float32(math.Inf(-1))} {
		if got := fromBFloat16(toBFloat16(x)); got != x {
			t.Errorf("%v became %v", x, got)
		}
	}
	// A NaN whose upper half alone reads as infinity.
	if got := fromBFloat16(toBFloat16(math.Float32frombits(0x7f800001))); !math.IsNaN(float64(got)) {
		t.Errorf("NaN became %v", got)
	}
}

// However the network cuts a message, the same numbers come out.
func TestFoldCarriesNumbersAcrossPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, wire := range []Wire{Float32, BFloat16} {
		for _, n := range []int{0, 1, 2, 7, 33, 100} {
			v := make([]float32, n)
			for i := range v {
				v[i] = float32(rng.NormFloat64())
			}
			wire.round(v)
			message := encodeMessage(wire, header{phase: phaseReduce, length: uint32(n * wire.size())}, v)
			for trial := range 200 {
				var data mem.BufferSlice
				for rest := message; len(rest) > 0; {
					k := min(len(rest), 1+rng.IntN(1+trial))
					data, rest = append(data, mem.SliceBuffer(rest[:k])), rest[k:]
				}
				var f frame
				if err := f.decode(data); err != nil {
					t.Fatal(err)
				}
				copied, added := make([]float32, n), make([]float32, n)
				for i := range added {
					added[i] = float32(i)
				}
				wire.fold(copied, &f, false)
				wire.fold(added, &f, true)
				for i := range v {
					if copied[i] != v[i] || added[i] != float32(i)+v[i] {
						t.Fatalf("%v, %d numbers in %d pieces: element %d is %v copied, %v added to %d; want %v",
							wire, n, len(data), i, copied[i], added[i], i, v[i])
					}
				}
			}
		}
	}
}

func BenchmarkFold(b *testing.B) {
	for _, wire := range []Wire{Float32, BFloat16} {
		for _, add := range []bool{false, true} {
			b.Run(fmt.Sprintf("%v/add=%v", wire, add), func(b *testing.B) {
				v := make([]float32, chunkBytes/wire.size())
				src := make([]byte, chunkBytes)
				b.SetBytes(int64(4 * len(v)))
				for b.Loop() {
					wire.apply(v, src, add)
				}
			})
		}
	}
	b.Run("encode", func(b *testing.B) {
		v, dst := make([]float32, chunkBytes/2), make([]byte, chunkBytes)
		b.SetBytes(int64(4 * len(v)))
		for b.Loop() {
			encodeBFloat16(dst, v)
		}
	})
}
