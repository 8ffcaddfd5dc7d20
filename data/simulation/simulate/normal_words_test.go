package simulate

import (
	"math"
	"math/bits"
	"slices"
	"testing"
)

// wordBattery tests count 32-bit words of a stream for independent uniform
// ones, the upper bits above all: one or two digits of many words, and all
// digits of some. Knuth, The Art of Computer Programming 2, 3.3.2, has most of
// these tests; birthday spacings are Marsaglia's.
func wordBattery(source wordSource, count int) (v verdicts) {
	words := make([]uint32, count)
	source(words)
	v.add(chiSquare(tuples(words, 1, 16, 16), nil), "upper halves")
	v.add(chiSquare(tuples(words, 1, 0, 16), nil), "lower halves")
	v.add(chiSquare(tuples(words, 2, 24, 8), nil), "pairs")
	v.add(chiSquare(tuples(words, 2, 8, 8), nil), "pairs of lower digits")
	v.add(chiSquare(tuples(words, 3, 27, 5), nil), "triples")
	v.add(chiSquare(tuples(words, 8, 30, 2), nil), "eights")
	v.add(chiSquare(tuples(words, 16, 31, 1), nil), "sixteen top bits")
	v.add(chiSquare(orders(words), nil), "orders of five")
	v.add(gaps(words, 1<<28), "gaps")
	v.add(runs(words), "runs")
	v.add(collisions(words[:min(len(words), 1<<20)]), "collisions")
	v.add(birthdays(words), "birthday spacings")
	weights(&v, words)
	return v
}

// tuples counts groups of t words by digits bits of each, from a bit on.
func tuples(words []uint32, t, from, digits int) []int {
	cells := make([]int, 1<<(t*digits))
	for ; len(words) >= t; words = words[t:] {
		cell := uint32(0)
		for _, w := range words[:t] {
			cell = cell<<digits | w>>from&(1<<digits-1)
		}
		cells[cell]++
	}
	return cells
}

// orders counts the 120 orders of five words.
func orders(words []uint32) []int {
	cells := make([]int, 120)
	for ; len(words) >= 5; words = words[5:] {
		cell := 0
		for i := range 5 {
			lower := 0
			for _, w := range words[i+1 : 5] {
				if w < words[i] {
					lower++
				}
			}
			cell = cell*(5-i) + lower // digits of the factorial number system
		}
		cells[cell]++
	}
	return cells
}

// gaps tests the numbers of words between those below limit.
func gaps(words []uint32, limit uint32) float64 {
	p := float64(limit) / (1 << 32)
	cells := make([]int, 64)
	probabilities := make([]float64, len(cells))
	rest := 1.0
	for i := range cells {
		probabilities[i] = rest * p
		rest *= 1 - p
	}
	probabilities[len(cells)-1] += rest
	gap := 0
	for _, w := range words {
		if w >= limit {
			gap++
			continue
		}
		cells[min(gap, len(cells)-1)]++
		gap = 0
	}
	return chiSquare(cells, probabilities)
}

// runs tests the lengths of ascending runs; the word that ends one is in none,
// which makes them independent: length r has probability r/(r+1)!.
func runs(words []uint32) float64 {
	cells, probabilities := make([]int, 8), make([]float64, 8)
	factorial, rest := 1.0, 1.0
	for i := range cells {
		factorial *= float64(i + 2)
		probabilities[i] = float64(i+1) / factorial
		rest -= probabilities[i]
	}
	probabilities[len(cells)-1] += rest
	for i := 0; i < len(words); i++ {
		length := 1
		for i++; i < len(words) && words[i] > words[i-1]; i++ {
			length++
		}
		if i < len(words) {
			cells[min(length, len(cells))-1]++
		}
	}
	return chiSquare(cells, probabilities)
}

// collisions tests how many of n words were there before: n − 2³²(1−(1−2⁻³²)ⁿ).
func collisions(words []uint32) float64 {
	sorted := slices.Clone(words)
	slices.Sort(sorted)
	n := float64(len(sorted))
	found := len(sorted) - len(slices.Compact(sorted))
	return poisson(found, n+(1<<32)*math.Expm1(n*math.Log1p(-1./(1<<32))))
}

// birthdays tests how often spacings between 4,096 sorted words occur twice,
// n³/4m = 4 times in a year of m = 2³² days, over all blocks of so many.
func birthdays(words []uint32) float64 {
	const n = 1 << 12
	block := make([]uint32, n)
	repeated, years := 0, 0
	for ; len(words) >= n; words = words[n:] {
		copy(block, words)
		slices.Sort(block)
		last := block[n-1] // the spacings go round the year
		for i := n - 1; i > 0; i-- {
			block[i] -= block[i-1]
		}
		block[0] -= last
		slices.Sort(block)
		for i, s := range block[1:] {
			if s == block[i] {
				repeated++
			}
		}
		years++
	}
	return poisson(repeated, float64(years)*n*n*n/4/(1<<32))
}

// weights tests numbers of ones: in words, in four successive words, in each
// bit, and where a word equals a rotation of itself or of an earlier one.
func weights(v *verdicts, words []uint32) {
	const steps = 3
	var ones [33]int
	var each, changed [32]int
	var rotated [steps][32]int // distance in the stream, rotation
	var classes [81]int
	class := 0
	for i, w := range words {
		weight := bits.OnesCount32(w)
		ones[weight]++
		class = class*3 + weightClass(weight)
		if i%4 == 3 {
			classes[class]++
			class = 0
		}
		for b := range each {
			each[b] += int(w >> b & 1)
		}
		for d := range min(steps, i+1) {
			before := words[i-d]
			for s := range rotated[d] {
				rotated[d][s] += bits.OnesCount32(w ^ bits.RotateLeft32(before, s))
			}
		}
		if i > 0 {
			for b := range changed {
				changed[b] += int((w ^ words[i-1]) >> b & 1)
			}
		}
	}
	var law [33]float64
	var split [3]float64
	for k := range law {
		a, _ := math.Lgamma(33)
		b, _ := math.Lgamma(float64(k) + 1)
		c, _ := math.Lgamma(float64(33 - k))
		law[k] = math.Exp(a-b-c) / (1 << 32)
		split[weightClass(k)] += law[k]
	}
	// Rare weights are joined: fewer than 7 ones have probability 3e-4.
	v.add(chiSquare(joinEnds(ones[:], 7), joinEnds(law[:], 7)), "weights")
	quarters := make([]float64, len(classes))
	for i := range quarters {
		quarters[i] = split[i%3] * split[i/3%3] * split[i/9%3] * split[i/27]
	}
	v.add(chiSquare(classes[:], quarters), "weights of four")
	n := len(words)
	for b := range each {
		v.add(binomial(each[b], n, 0.5), "ones in bit %d", b)
		v.add(binomial(changed[b], n-1, 0.5), "changes of bit %d", b)
	}
	for d := range rotated {
		for s, sum := range rotated[d] {
			if d == 0 && (s == 0 || s >= 16) {
				continue // itself, or what another rotation sees; half of it counts twice
			}
			trials := float64(n-d) * 32
			v.add(twoSided((float64(sum)-trials/2)/math.Sqrt(trials/4)), "rotation by %d of the word %d back", s, d)
		}
	}
}

func weightClass(ones int) int {
	switch {
	case ones < 15:
		return 0
	case ones < 18:
		return 1
	}
	return 2
}

// joinEnds adds the first and last n cells to the next ones.
func joinEnds[T int | float64](cells []T, n int) []T {
	inner := slices.Clone(cells[n : len(cells)-n])
	for i := range n {
		inner[0] += cells[i]
		inner[len(inner)-1] += cells[len(cells)-1-i]
	}
	return inner
}

// firstOutputs are the words with which chains begin, 1,024 of each function:
// what the hash of (seed, function, chain) makes of neighbours.
func firstOutputs(start seeder, seed uint64) wordSource {
	n := new(normals)
	i := uint64(0)
	return func(dst []uint32) {
		for k := range dst {
			start(n, 0, seed, i>>10, i&1023)
			x := n.generator(0)
			dst[k] = x.next()
			i++
		}
	}
}

func TestWordBattery(t *testing.T) {
	longStatistics(t)
	const count = 1 << 20
	for name, stream := range streams {
		wordBattery(stream(4), count).check(t, name)
	}
	wordBattery(firstOutputs(seedLane, 4), count).check(t, "first outputs")
}
