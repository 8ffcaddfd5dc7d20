package random

import (
	"math"
	"math/bits"
	"testing"
)

// Streams are part of every data set's and checkpoint's identity: they may
// never change.
func TestGolden(t *testing.T) {
	for _, c := range []struct {
		seed    uint64
		purpose string
		index   []uint64
		want    [3]uint64
	}{
		{0, "", nil, [3]uint64{0x8de5c45fa2cafce0, 0xa4349e960a638911, 0x5e019b3332270a15}},
		{1, "vn1d/coefficients", []uint64{0}, [3]uint64{0x3b4138c08ac043b6, 0xdebaaeb7a791aa21, 0x1db40a7d137885a6}},
		{1, "vn1d/coefficients", []uint64{1}, [3]uint64{0x2f94c86b179d2833, 0x51c2862d9a1d8678, 0x9bfc516288cb0205}},
		{1, "flow", []uint64{64511, 127}, [3]uint64{0x862cc9bb7cb2dc42, 0xe717d213fbf29900, 0xfa1010cb3a102865}},
		{math.MaxUint64, "train", []uint64{math.MaxUint64}, [3]uint64{0xb20a19ab58f0f7d8, 0xa6e6336061dbcbd7, 0x2b8ffd51f5a1f333}},
	} {
		rng := New(c.seed, c.purpose, c.index...)
		got := [3]uint64{rng.Uint64(), rng.Uint64(), rng.Uint64()}
		if got != c.want {
			t.Errorf("New(%d, %q, %d) gives %#x, want %#x", c.seed, c.purpose, c.index, got, c.want)
		}
	}
}

// Every argument counts, and no two short index lists share a key.
func TestKeysDiffer(t *testing.T) {
	seen := make(map[[2]uint64]string)
	add := func(name string, seed uint64, purpose string, index ...uint64) {
		hi, lo := Key(seed, purpose, index...)
		if other, ok := seen[[2]uint64{hi, lo}]; ok {
			t.Fatalf("%s and %s share a key", name, other)
		}
		seen[[2]uint64{hi, lo}] = name
	}
	add("none", 0, "")
	add("seed", 1, "")
	add("purpose", 0, "a")
	add("order", 0, "ab")
	add("order", 0, "ba")
	add("index", 0, "", 0)
	add("indices", 0, "", 0, 0)
	for i := range uint64(1000) {
		for j := range uint64(100) {
			add("pair", 7, "pair", i, j)
		}
	}
}

// Flipping one bit of the seed or of an index flips half of the key's 128 bits:
// over 64 positions the mean number of flips is 64 with standard error
// √(128/4)/√64 = 0.71.
func TestAvalanche(t *testing.T) {
	for _, c := range []struct {
		name string
		key  func(v uint64) (uint64, uint64)
	}{
		{"seed", func(v uint64) (uint64, uint64) { return Key(v, "p", 3) }},
		{"index", func(v uint64) (uint64, uint64) { return Key(3, "p", v) }},
		{"first of two", func(v uint64) (uint64, uint64) { return Key(3, "p", v, 5) }},
	} {
		hi, lo := c.key(12345)
		var sum float64
		for bit := range 64 {
			a, b := c.key(12345 ^ 1<<bit)
			sum += float64(bits.OnesCount64(a^hi) + bits.OnesCount64(b^lo))
		}
		if mean := sum / 64; !(math.Abs(mean-64) <= 4*0.71) {
			t.Errorf("%s: a flipped bit moves %.2f of 128 bits on average, want 64 ± 2.8", c.name, mean)
		}
	}
}

// Streams with neighbouring indices are uncorrelated: the first draws of
// 100,000 streams look like one uniform sample.
func TestNeighbours(t *testing.T) {
	const n = 100_000
	var sum, square, product, last float64
	for i := range uint64(n) {
		u := New(1, "neighbours", i).Float64() - 0.5
		sum += u
		square += u * u
		product += u * last
		last = u
	}
	se := math.Sqrt(1. / 12 / n)
	if mean := sum / n; !(math.Abs(mean) <= 4*se) {
		t.Errorf("mean of first draws is %.2g, standard error %.2g", mean, se)
	}
	if v := square / n; !(math.Abs(v-1./12) <= 4*math.Sqrt(1./180/n)) {
		t.Errorf("variance of first draws is %v, want 1/12", v)
	}
	if c := product / n; !(math.Abs(c) <= 4./12/math.Sqrt(n)) {
		t.Errorf("covariance of neighbouring streams is %.2g, standard error %.2g", c, 1./12/math.Sqrt(n))
	}
}

func BenchmarkNew(b *testing.B) {
	var s float64
	for i := range b.N {
		s += New(1, "flow", uint64(i), 3).Float64()
	}
	_ = s
}
