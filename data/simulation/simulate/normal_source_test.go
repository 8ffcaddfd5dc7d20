package simulate

import (
	"encoding/binary"
	"flag"
	"io"
	"maps"
	"math"
	"math/bits"
	"os"
	"slices"
	"strings"
	"testing"
)

// normalSource makes the next normals of a stream, len(dst) of them.
type normalSource func(dst []float32)

// wordSource makes the next 32-bit words of a stream.
type wordSource func(dst []uint32)

// blockNormals is what sources make at once: len(dst) is a multiple of it.
const blockNormals = lanes * window

// chainNormals are those of one chain, step by step.
func chainNormals(seed uint64) normalSource {
	n := new(normals)
	n.seed(0, seed, "noise", 0, 0)
	return func(dst []float32) {
		for i := range dst {
			if i%window == 0 {
				n.fill(1)
			}
			dst[i] = n.values[i%window*lanes]
		}
	}
}

// interleavedNormals are those of 64 chains of each of functions functions:
// step by step, chain by chain within a step, a window of each function in turn.
func interleavedNormals(seed uint64, functions int) normalSource {
	all := make([]normals, functions)
	for f := range all {
		for l := range lanes {
			all[f].seed(l, seed, "noise", uint64(f), uint64(l))
		}
	}
	f := 0
	return func(dst []float32) {
		for ; len(dst) > 0; dst = dst[blockNormals:] {
			engines[0].fill(&all[f], lanes)
			copy(dst, all[f].values[:])
			f = (f + 1) % functions
		}
	}
}

// xoshiro is the generator of one lane, written a second time.
type xoshiro [4]uint32

func (x *xoshiro) next() uint32 {
	r, t := x[0]+x[3], x[1]<<9
	x[2] ^= x[0]
	x[3] ^= x[1]
	x[1] ^= x[2]
	x[0] ^= x[3]
	x[2] ^= t
	x[3] = bits.RotateLeft32(x[3], 11)
	return r
}

func (n *normals) generator(lane int) xoshiro {
	return xoshiro{n.s0[lane], n.s1[lane], n.s2[lane], n.s3[lane]}
}

// chainOutputs are the generator's outputs behind chainNormals.
func chainOutputs(seed uint64) wordSource {
	n := new(normals)
	n.seed(0, seed, "noise", 0, 0)
	x := n.generator(0)
	return func(dst []uint32) {
		for i := range dst {
			dst[i] = x.next()
		}
	}
}

// interleavedOutputs are the generators' outputs behind 64 chains of each
// function, a step of each function in turn.
func interleavedOutputs(seed uint64, functions int) wordSource {
	all := make([]xoshiro, functions*lanes)
	n := new(normals)
	for i := range all {
		n.seed(0, seed, "noise", uint64(i/lanes), uint64(i%lanes))
		all[i] = n.generator(0)
	}
	next := 0
	return func(dst []uint32) {
		for i := range dst {
			dst[i] = all[next].next()
			next = (next + 1) % len(all)
		}
	}
}

// ranks maps normals to words of 32 bits, uniform if they are: each half has the
// first 16 binary digits of Φ(ξ) for one normal. Finer digits would show that ξ
// is a float32 with an error of 2.6e-5.
func ranks(source normalSource) wordSource {
	var buffer []float32
	return func(dst []uint32) {
		buffer = slices.Grow(buffer[:0], 2*len(dst))[:2*len(dst)]
		source(buffer)
		for i := range dst {
			dst[i] = rank(buffer[2*i])<<16 | rank(buffer[2*i+1])
		}
	}
}

// rank is ⌊2¹⁶Φ(x)⌋ by linear interpolation, which is off by at most 3e-8 in Φ.
func rank(x float32) uint32 {
	u := (float64(x) + rankBound) * rankNodes
	i := int(u)
	t := u - float64(i)
	return uint32(rankTable[i] + t*(rankTable[i+1]-rankTable[i]))
}

const (
	rankBound = 8 // beyond every normal
	rankNodes = 1024
)

var rankTable = func() (table [2*rankBound*rankNodes + 1]float64) {
	for i := range table {
		table[i] = 65536 * cumulative(float64(i)/rankNodes-rankBound)
	}
	return table
}()

// cumulative is Φ.
func cumulative(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// streams are the input of external test batteries: docs/benchmarks/noise.
var streams = map[string]func(seed uint64) wordSource{
	"chain":          func(seed uint64) wordSource { return ranks(chainNormals(seed)) },
	"functions":      func(seed uint64) wordSource { return ranks(interleavedNormals(seed, 64)) },
	"chain-bits":     chainOutputs,
	"functions-bits": func(seed uint64) wordSource { return interleavedOutputs(seed, 64) },
}

var (
	streamName = flag.String("stream", "", "write words to standard output until the reader leaves: "+
		strings.Join(slices.Sorted(maps.Keys(streams)), ", "))
	streamSeed = flag.Uint64("stream-seed", 1, "seed of the stream's normals")
)

// Ranks are those of exact Φ. With -stream, the test binary is the source of
// words for a battery.
func TestWords(t *testing.T) {
	if *streamName != "" {
		source, ok := streams[*streamName]
		if !ok {
			t.Fatalf("no stream %q", *streamName)
		}
		write(os.Stdout, source(*streamSeed))
		return
	}
	normals, words := make([]float32, blockNormals), make([]uint32, blockNormals/2)
	chainNormals(1)(normals)
	streams["chain"](1)(words)
	for i, w := range words {
		for j, got := range [2]uint32{w >> 16, w & 0xffff} {
			x := float64(normals[2*i+j])
			if want := 65536 * cumulative(x); !(math.Abs(float64(got)+0.5-want) <= 0.503) {
				t.Fatalf("word %d: %v has rank %d, want ⌊%v⌋", i, x, got, want)
			}
		}
	}
}

// write ends when nobody reads any more.
func write(w io.Writer, source wordSource) {
	words, block := make([]uint32, 1<<15), make([]byte, 4<<15)
	for {
		source(words)
		for i, v := range words {
			binary.LittleEndian.PutUint32(block[4*i:], v)
		}
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

// The outputs are those behind the normals, in the same order.
func TestOutputsMatchNormals(t *testing.T) {
	const functions = 3
	for name, c := range map[string]struct {
		words   wordSource
		normals normalSource
		order   func(i int) int // of the normal of word i
	}{
		"chain": {chainOutputs(1), chainNormals(1), func(i int) int { return i }},
		"functions": {interleavedOutputs(1, functions), interleavedNormals(1, functions), func(i int) int {
			step, f, l := i/(functions*lanes), i/lanes%functions, i%lanes
			return (step/window*functions+f)*blockNormals + step%window*lanes + l
		}},
	} {
		words, values := make([]uint32, 2*functions*blockNormals), make([]float32, 2*functions*blockNormals)
		c.words(words)
		c.normals(values)
		for i, r := range words {
			want := exactNormal(float64(r &^ (1 << 31)))
			if r>>31 == 1 {
				want = -want
			}
			if got := float64(values[c.order(i)]); !(math.Abs(got-want) <= 2.6e-5) {
				t.Fatalf("%s: normal %d is %v, output %#x wants %v", name, i, got, r, want)
			}
		}
	}
}
