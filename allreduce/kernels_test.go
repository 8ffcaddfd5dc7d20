package allreduce

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// awkward are numbers of every kind, NaNs of both sorts among them.
func awkward(rng *rand.Rand, n int) []float32 {
	special := []uint32{0, 1, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0xffffffff, 0x7f7fffff, 0x7f7f8000, 0x3f808000, 0x3f818000}
	v := make([]float32, n)
	for i := range v {
		v[i] = math.Float32frombits(rng.Uint32())
		if rng.IntN(4) == 0 {
			v[i] = math.Float32frombits(special[rng.IntN(len(special))])
		}
	}
	return v
}

func sameBits(a, b []float32) error {
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) && !(a[i] != a[i] && b[i] != b[i]) {
			return fmt.Errorf("element %d of %d is %x, plain %x", i, len(a), math.Float32bits(a[i]), math.Float32bits(b[i]))
		}
	}
	return nil
}

func TestKernelsEqualPlain(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for n := range 150 {
		for range 20 {
			x, y := awkward(rng, n), awkward(rng, n)
			got, want := append([]float32(nil), x...), append([]float32(nil), x...)
			addTo(got, y)
			addToPlain(want, y)
			if err := sameBits(got, want); err != nil {
				t.Fatalf("addTo: %v", err)
			}
			b, plain := make([]byte, 2*n), make([]byte, 2*n)
			encodeBFloat16(b, y)
			encodeBFloat16Plain(plain, y)
			if !bytes.Equal(b, plain) {
				t.Fatalf("encodeBFloat16 of %v: %x, plain %x", y, b, plain)
			}
			if largestBits(y) != largestBitsPlain(y) {
				t.Fatalf("largestBits of %v: %x, plain %x", y, largestBits(y), largestBitsPlain(y))
			}
			scale := math.Float32frombits(uint32(1+rng.IntN(248)) << 23)
			small, smallPlain := make([]float32, n), make([]float32, n)
			for i := range small {
				small[i] = scale * float32(rng.Float64()*254-127)
			}
			copy(smallPlain, small)
			kept, keptPlain, q, qPlain := make([]float32, n), make([]float32, n), make([]byte, n), make([]byte, n)
			roundInt8(q, small, kept, scale, 1/scale)
			roundInt8Plain(qPlain, smallPlain, keptPlain, scale, 1/scale)
			if err := errors.Join(sameBits(small, smallPlain), sameBits(kept, keptPlain)); err != nil || !bytes.Equal(q, qPlain) {
				t.Fatalf("roundInt8 in steps of %v: %v, %v, plain %v", scale, err, q, qPlain)
			}
			for _, add := range []bool{false, true} {
				copy(got, x)
				copy(want, x)
				decodeInt8(got, q, scale, add)
				decodeInt8Plain(want, q, scale, add)
				if err := sameBits(got, want); err != nil {
					t.Fatalf("decodeInt8: %v", err)
				}
			}
			shifted := append(make([]byte, 1), b...)[1:]
			for _, src := range [][]byte{b, shifted} {
				decodeBFloat16(got, src)
				decodeBFloat16Plain(want, src)
				if err := sameBits(got, want); err != nil {
					t.Fatalf("decodeBFloat16: %v", err)
				}
				copy(got, x)
				copy(want, x)
				addBFloat16(got, src)
				addBFloat16Plain(want, src)
				if err := sameBits(got, want); err != nil {
					t.Fatalf("addBFloat16: %v", err)
				}
			}
		}
	}
}

// The plain kernel is right, too.
func TestAddTo(t *testing.T) {
	for n := range 100 {
		dst, src := make([]float32, n), make([]float32, n)
		for i := range dst {
			dst[i], src[i] = float32(i), 1/float32(i+3)
		}
		addTo(dst, src)
		for i, x := range dst {
			if x != float32(i)+1/float32(i+3) {
				t.Fatalf("length %d element %d: %v", n, i, x)
			}
		}
	}
}
