package simulator

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// outputs are numbers of a generator at all ends of half-octaves and in
// the tail, with both signs, and some more.
func outputs() []uint32 {
	var rs []uint32
	for k := range 31 {
		for _, at := range []uint32{1 << k, 3 << k >> 1} {
			rs = append(rs, at-1, at, at+1)
		}
	}
	for _, end := range []uint32{simulate.CubicFirst, 1<<31 - 64} { // from the latter on float32(v) would be 2³¹
		for d := range uint32(130) {
			rs = append(rs, end-65+d)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		rs = append(rs, rng.Uint32(), rng.Uint32N(simulate.CubicFirst))
	}
	rs = append(rs, 0, 1<<31-1)
	for _, r := range rs {
		rs = append(rs, r^1<<31)
	}
	return rs
}

// words turns states of generators into arrays, with one function.
func upload(t *testing.T, b *backend.Backend, states [][4]uint32) []backend.Buffer {
	var buffers []backend.Buffer
	for w := range 4 {
		words := make([]uint32, len(states))
		for i, s := range states {
			words[i] = s[w]
		}
		buffer, err := b.UploadUint32(words, 1, len(words))
		if err != nil {
			t.Fatal(err)
		}
		buffers = append(buffers, buffer)
	}
	return buffers
}

// same reads whether two arrays are equal word by word.
func same(words, want []*graph.Node) *graph.Node {
	g := words[0].Graph()
	differences := graph.Const(g, float32(0))
	for i, w := range words {
		differences = graph.Add(differences, graph.ReduceAllSum(graph.ConvertDType(graph.NotEqual(w, want[i]), dtypes.Float32)))
	}
	return differences
}

// Normals are the processor's up to the rounding of one cubic, those without a
// cubic to the last bit, and generators are the same afterwards.
func TestNormals(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		rs := outputs()
		rng := rand.New(rand.NewPCG(3, 4))
		before, after := make([][4]uint32, len(rs)), make([][4]uint32, len(rs))
		for i, r := range rs {
			low := rng.Uint32()
			before[i] = [4]uint32{r - low, rng.Uint32(), rng.Uint32(), low}
			after[i] = advanced(before[i], 1)
		}
		words := slices.Repeat([]shapes.Shape{shapes.Make(dtypes.Uint32, 1, len(rs))}, 4)
		p, err := b.Compile("normals", slices.Concat(words, words, []shapes.Shape{backend.Shape(inverseSize)}), func(in []*graph.Node) []*graph.Node {
			s, z := generators(in[:4]).next(inverseOf(in[8]))
			return []*graph.Node{z, same(s[:], in[4:8])}
		})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		inverse, err := uploadInverse(b)
		if err != nil {
			t.Fatal(err)
		}
		inputs := append(append(upload(t, b, before), upload(t, b, after)...), inverse)
		defer backend.Free(inputs...)
		out, err := p.Run(inputs...)
		if err != nil {
			t.Fatal(err)
		}
		defer backend.Free(out...)
		got, differences := make([]float32, len(rs)), make([]float32, 1)
		if err := backend.Download(got, out[0]); err != nil {
			t.Fatal(err)
		}
		if err := backend.Download(differences, out[1]); err != nil {
			t.Fatal(err)
		}
		if differences[0] != 0 {
			t.Errorf("%v words of generators are wrong after a number", differences[0])
		}
		for i, r := range rs {
			want, v := simulate.Normal(r), r&(1<<31-1)
			tolerance := 5e-7
			if v < simulate.CubicFirst {
				tolerance = 0
			}
			if !(math.Abs(float64(got[i]-want)) <= tolerance) || math.Signbit(float64(got[i])) != math.Signbit(float64(want)) {
				t.Errorf("the normal of %#x is %v, want %v", r, got[i], want)
			}
		}
	})
}

// A jump leads to the same state as drawing the numbers one by one.
func TestJump(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		before := [][4]uint32{{1, 2, 3, 4}, {0, 0, 0, 1}, {math.MaxUint32, math.MaxUint32, math.MaxUint32, math.MaxUint32}}
		for chain := range uint64(20) {
			before = append(before, simulate.Generator(1, "jump", 0, chain))
		}
		words := slices.Repeat([]shapes.Shape{shapes.Make(dtypes.Uint32, 1, len(before))}, 4)
		p, err := b.Compile("jump", slices.Concat(words, words, []shapes.Shape{shapes.Make(dtypes.Uint32, jumpRows, 4)}), func(in []*graph.Node) []*graph.Node {
			s := generators(in[:4]).jump(in[8])
			return []*graph.Node{same(s[:], in[4:8])}
		})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		for _, numbers := range []int{1, 2, 62, 2046} {
			after := make([][4]uint32, len(before))
			for i, s := range before {
				after[i] = advanced(s, numbers)
			}
			table, err := uploadJump(b, numbers)
			if err != nil {
				t.Fatal(err)
			}
			inputs := append(append(upload(t, b, before), upload(t, b, after)...), table)
			out, err := p.Run(inputs...)
			if err != nil {
				t.Fatal(err)
			}
			differences := make([]float32, 1)
			if err := backend.Download(differences, out[0]); err != nil {
				t.Fatal(err)
			}
			if differences[0] != 0 {
				t.Errorf("%v words of generators are wrong after a jump over %d numbers", differences[0], numbers)
			}
			backend.Free(append(inputs, out...)...)
		}
	})
}
