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
func TestDecodeCarriesNumbersAcrossPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, wire := range []Wire{Float32, BFloat16, Int8} {
		for _, n := range []int{0, 1, 2, 7, 33, 100, 600} {
			v := make([]float32, n)
			for i := range v {
				v[i] = float32(rng.NormFloat64())
			}
			x := floats{v: v, wire: wire, residual: make([]float32, n)}
			message := messageOf(x, publish)
			for trial := range 200 {
				f := cutUp(t, message, func() int { return 1 + rng.IntN(1+trial) })
				copied, added := make([]float32, n), make([]float32, n)
				for i := range added {
					added[i] = float32(i)
				}
				floats{v: copied, wire: wire}.decode(0, n, f, false)
				floats{v: added, wire: wire}.decode(0, n, f, true)
				for i := range v {
					if copied[i] != v[i] || added[i] != float32(i)+v[i] {
						t.Fatalf("%v, %d numbers in %d pieces: element %d is %v copied, %v added to %d; want %v",
							wire, n, len(f.data), i, copied[i], added[i], i, v[i])
					}
				}
			}
		}
	}
}

func TestDecodeCarriesWordsAcrossPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	v := make([]int64, 101)
	for i := range v {
		v[i] = int64(rng.Uint64())
	}
	message := messageOf(words{v: v}, publish)
	for trial := range 200 {
		f := cutUp(t, message, func() int { return 1 + rng.IntN(1+trial) })
		got := make([]int64, len(v))
		words{v: got}.decode(0, len(v), f, false)
		words{v: got}.decode(0, len(v), f, true)
		for i := range v {
			if got[i] != 2*v[i] {
				t.Fatalf("%d pieces: element %d is %d, want twice %d", len(f.data), i, got[i], v[i])
			}
		}
	}
}

// messageOf is all of x in one message.
func messageOf(x vector, how mode) []byte {
	n := x.length()
	h := header{phase: phaseReduce, format: x.format(), length: uint32(x.format().bytes(n))}
	return encodeMessage(h, func(scratch func() []byte) []byte { return x.encode(how, 0, n, scratch) })
}

// cutUp decodes a message that arrives in pieces of those sizes.
func cutUp(t testing.TB, message []byte, size func() int) *frame {
	t.Helper()
	var data mem.BufferSlice
	for rest := message; len(rest) > 0; {
		k := min(len(rest), size())
		data, rest = append(data, mem.SliceBuffer(rest[:k])), rest[k:]
	}
	var f frame
	if err := f.decode(data); err != nil {
		t.Fatal(err)
	}
	return &f
}

func TestFormatsFillAMessage(t *testing.T) {
	for f := format(Float32); f <= formatInt64; f++ {
		for _, bytes := range []int{chunkBytes, localChunkBytes} {
			if n := f.most(bytes); f.bytes(n) > bytes || f.bytes(n+blockLength) <= bytes {
				t.Errorf("%v: %d numbers take %d of %d bytes", f, n, f.bytes(n), bytes)
			}
		}
	}
}

func TestParseWire(t *testing.T) {
	for _, w := range []Wire{Float32, BFloat16, Int8} {
		if got, err := ParseWire(w.String()); err != nil || got != w {
			t.Errorf("%v: %v, %v", w, got, err)
		}
	}
	if _, err := ParseWire("f64"); err == nil {
		t.Error("f64: no error")
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, wire := range []Wire{Float32, BFloat16, Int8} {
		v := make([]float32, format(wire).most(localChunkBytes))
		x := floats{v: v, wire: wire, residual: make([]float32, len(v))}
		var data mem.BufferSlice
		// Cut and aligned as frames are.
		for rest := append(make([]byte, grpcPrefixBytes), messageOf(x, publish)...)[grpcPrefixBytes:]; len(rest) > 0; {
			k := min(len(rest), frameBytes)
			if data == nil {
				k = min(len(rest), frameBytes-grpcPrefixBytes)
			}
			data, rest = append(data, mem.SliceBuffer(rest[:k])), rest[k:]
		}
		var f frame
		if err := f.decode(data); err != nil {
			b.Fatal(err)
		}
		for _, add := range []bool{false, true} {
			b.Run(fmt.Sprintf("%v/add=%v", wire, add), func(b *testing.B) {
				b.SetBytes(int64(4 * len(v)))
				for b.Loop() {
					x.decode(0, len(v), &f, add)
				}
			})
		}
		scratch := make([]byte, localChunkBytes)
		b.Run(fmt.Sprintf("%v/encode", wire), func(b *testing.B) {
			b.SetBytes(int64(4 * len(v)))
			for b.Loop() {
				x.encode(contribute, 0, len(v), func() []byte { return scratch })
			}
		})
	}
}
