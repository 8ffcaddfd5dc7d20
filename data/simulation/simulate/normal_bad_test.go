package simulate

import (
	"math"
	"math/bits"
	"slices"
	"testing"
)

// The battery must reject bad words. Each is made from a good
// one, v, and the bad one before it; good makes more.
func TestWordBatteryRejects(t *testing.T) {
	longStatistics(t)
	const count = 1 << 16
	var x xoshiro
	good := func() uint32 { return x.next() }
	again := func(unwanted bool, v uint32) uint32 { return pick(unwanted, good(), v) }
	ascend, eight, sixteen := ascending(), parity(8, 30), parity(16, 31)
	for _, bad := range []struct {
		name string
		next func(v, last uint32) uint32
		test string
	}{
		// Numerical Recipes' generator; bit k has period 2ᵏ⁺¹.
		{"congruential", func(_, last uint32) uint32 { return 1664525*last + 1013904223 }, "changes of bit 0"},
		{"congruential, low bits on top", func(_, last uint32) uint32 {
			return bits.RotateLeft32(1664525*bits.RotateLeft32(last, 16)+1013904223, 16)
		}, "upper halves"},
		{"RANDU", func(_, last uint32) uint32 { return 65539 * (last>>1 | 1) << 1 }, "triples"},
		{"Weyl sequence", func(_, last uint32) uint32 { return last + 0x9e3779b9 }, "birthday spacings"},
		{"Weyl sequence on top", func(v, last uint32) uint32 { return (last+0x9e3779b9)&0xff000000 | v>>8 }, "pairs"},
		{"multiples of 500", func(v, _ uint32) uint32 { return v / 500 * 500 }, "collisions"},
		{"one in 100 repeated", func(v, last uint32) uint32 { return pick(v%100 == 0, last, v) }, "collisions"},
		{"biased bit", func(v, _ uint32) uint32 { return v | pick[uint32](good()%20 == 0, 1<<7, 0) }, "ones in bit 7"},
		{"bit from the last word", func(v, last uint32) uint32 { return v&^1 | last>>20&1 }, "rotation by 12 of the word 1 back"},
		{"even weights", func(v, _ uint32) uint32 { return v ^ uint32(bits.OnesCount32(v)&1) }, "weights"},
		{"heavy after heavy", func(v, last uint32) uint32 {
			return pick(bits.OnesCount32(last) > 17, v|1<<uint(good()%32), v)
		}, "weights of four"},
		{"reluctant to fall", func(v, last uint32) uint32 { return again(v < last && good()%2 == 0, v) }, "runs"},
		{"fives in order", func(v, _ uint32) uint32 { return ascend(v, good) }, "orders of five"},
		{"no two small ones", func(v, last uint32) uint32 { return again(v < 1<<28 && last < 1<<28, v) }, "gaps"},
		{"parity of eight", func(v, _ uint32) uint32 { return eight(v) }, "eights"},
		{"parity of sixteen", func(v, _ uint32) uint32 { return sixteen(v) }, "sixteen top bits"},
		{"a last digit missing", func(v, _ uint32) uint32 { return pick(v&0xf == 7, v^1, v) }, "lower halves"},
		{"lower digits rise", func(v, last uint32) uint32 {
			return again(v>>8&0xff < last>>8&0xff, v)
		}, "pairs of lower digits"},
	} {
		x = xoshiro{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}
		last := uint32(1)
		v := wordBattery(func(dst []uint32) {
			for i := range dst {
				last = bad.next(good(), last)
				dst[i] = last
			}
		}, count)
		if !v.rejects(bad.test) {
			t.Errorf("%s: %s", bad.name, v.missed(bad.test))
		}
	}
}

func pick[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}

// ascending sorts one group of five in five.
func ascending() func(v uint32, good func() uint32) uint32 {
	var five []uint32
	return func(v uint32, good func() uint32) uint32 {
		if len(five) == 0 {
			five = []uint32{v, good(), good(), good(), good()}
			if good()%5 == 0 {
				slices.Sort(five)
			}
		}
		v = five[0]
		five = five[1:]
		return v
	}
}

// parity makes a bit of every group of t words the exclusive or of the others'.
func parity(t, bit int) func(v uint32) uint32 {
	sum, i := uint32(0), 0
	return func(v uint32) uint32 {
		if i++; i%t == 0 {
			v = v&^(1<<bit) | sum&(1<<bit)
			sum = 0
			return v
		}
		sum ^= v
		return v
	}
}

// changed makes normals from good ones.
func changed(change func(x float32) float32) normalSource {
	source := chainNormals(5)
	return func(dst []float32) {
		source(dst)
		for i, x := range dst {
			dst[i] = change(x)
		}
	}
}

func TestLawRejects(t *testing.T) {
	longStatistics(t)
	uniform := chainOutputs(6)
	twelve := make([]uint32, 12)
	for name, bad := range map[string]struct {
		source normalSource
		test   string
	}{
		"clipped at 3.9":     {changed(func(x float32) float32 { return max(-3.9, min(3.9, x)) }), "beyond −4"},
		"tail too heavy":     {changed(func(x float32) float32 { return pick(x > 2, 2+1.2*(x-2), x) }), "law beyond 2"},
		"far tail too heavy": {changed(func(x float32) float32 { return pick(x < -3, 1.1*x, x) }), "law beyond −3"},
		"standard deviation": {changed(func(x float32) float32 { return 1.02 * x }), "Anderson–Darling"},
		"mean":               {changed(func(x float32) float32 { return x + 0.01 }), "Kolmogorov–Smirnov"},
		"a cell left out":    {changed(func(x float32) float32 { return pick(x > 0.5 && x < 0.505, x+0.005, x) }), "Φ(ξ) in 4096 cells"},
		"coarse":             {changed(func(x float32) float32 { return float32(math.Round(float64(x)*64) / 64) }), "Φ(ξ) in 64 cells"},
		"sum of twelve uniforms": {func(dst []float32) {
			for i := range dst {
				uniform(twelve)
				sum := -6.0
				for _, w := range twelve {
					sum += (float64(w) + 0.5) / (1 << 32)
				}
				dst[i] = float32(sum)
			}
		}, "beyond 3"},
		"chains that agree a little": {shared(0.1), "sums of 64"},
	} {
		if v := law(bad.source, 1<<19); !v.rejects(bad.test) {
			t.Errorf("%s: %s", name, v.missed(bad.test))
		}
	}
}

// shared has correlation ρ² between all normals of 64, each standard.
func shared(rho float64) normalSource {
	source := chainNormals(8)
	own := chainNormals(9)
	common := make([]float32, window)
	return func(dst []float32) {
		own(dst)
		for i := range dst {
			if i%lanes == 0 {
				source(common)
			}
			dst[i] = float32(rho)*common[0] + float32(math.Sqrt(1-rho*rho))*dst[i]
		}
	}
}

func TestSerialRejects(t *testing.T) {
	longStatistics(t)
	var last, swing float32
	var next normalSource
	fresh := make([]float32, window)
	for name, bad := range map[string]struct {
		change func(x float32) float32
		test   string
	}{
		"autoregressive": {func(x float32) float32 { last = 0.04*last + x; return last }, "ξ with ξ, lag 1"},
		// The size persists, the sign is free.
		"volatility clusters": {func(x float32) float32 {
			swing = 0.2*swing + 0.98*x
			next(fresh)
			return float32(math.Copysign(float64(swing), float64(fresh[0])))
		}, "|ξ| with |ξ|, lag 1"},
		"signs persist": {func(x float32) float32 {
			next(fresh)
			v := pick(fresh[0] > 1.5, float32(math.Copysign(float64(x), float64(last))), x)
			last = v
			return v
		}, "sign with sign, lag 1"},
		"leverage": {func(x float32) float32 {
			v := pick(last < -1, 1.2*x, x)
			last = x
			return v
		}, "ξ with ξ², lag 1"},
	} {
		last, swing, next = 0, 0, chainNormals(7)
		v := serial(changed(bad.change), 1<<16)
		if !v.rejects(bad.test) {
			t.Errorf("%s: %s", name, v.missed(bad.test))
		}
	}
}

// Ways to seed chains that look harmless.
func TestNeighboursRejects(t *testing.T) {
	longStatistics(t)
	for name, bad := range map[string]struct {
		seed seeder
		test string
	}{
		"chains start a step apart": {func(n *normals, lane int, seed, function, chain uint64) {
			n.seed(lane, seed, "noise", function, 0)
			x := n.generator(lane)
			for range chain % 1024 {
				x.next()
			}
			n.s0[lane], n.s1[lane], n.s2[lane], n.s3[lane] = x[0], x[1], x[2], x[3]
		}, "ξ with ξ, next chain, lag −1"},
		"identifiers as the state": {func(n *normals, lane int, seed, function, chain uint64) {
			n.s0[lane], n.s1[lane], n.s2[lane], n.s3[lane] = uint32(seed), uint32(function), uint32(function>>32), uint32(chain)|1
		}, "ξ with ξ, bit 40 of the chain, lag 0"},
	} {
		if !neighbours(bad.seed, 1<<9).rejects(bad.test) {
			t.Errorf("%s: %s does not see it", name, bad.test)
		}
	}
	added := func(n *normals, lane int, seed, function, chain uint64) {
		n.seed(lane, seed, "noise", function+chain, 0)
	}
	if !wordBattery(firstOutputs(added, 1), 1<<20).rejects("collisions") {
		t.Error("functions and chains added: collisions does not see it")
	}
}
