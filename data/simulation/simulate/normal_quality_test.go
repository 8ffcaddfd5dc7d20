package simulate

import (
	"fmt"
	"math"
	"testing"
)

// law tests count normals of a stream for N(0, 1).
func law(source normalSource, count int) (v verdicts) {
	cells := make([]int, 1<<16) // of Φ(ξ)
	limits := []float64{2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6}
	tails := make([][2]int, len(limits))
	type tail struct {
		from  float64
		cells [2][]int
	}
	var inside []tail // the law beyond a limit, in cells of equal probability
	for i, n := range []int{1 << 12, 1 << 8, 1 << 4} {
		inside = append(inside, tail{float64(2 + i), [2][]int{make([]int, n), make([]int, n)}})
	}
	const sum = lanes
	sums := make([]int, 1<<8) // of Φ(Σξ/8) for 64 consecutive normals
	block := make([]float32, blockNormals)
	for range count / blockNormals {
		source(block)
		total := 0.0
		for i, value := range block {
			x := float64(value)
			cells[rank(value)]++
			if total += x; i%sum == sum-1 {
				sums[int(cumulative(total/math.Sqrt(sum))*float64(len(sums)))]++
				total = 0
			}
			side, beyond := 0, x
			if x < 0 {
				side, beyond = 1, -x
			}
			if beyond <= limits[0] {
				continue
			}
			for i, limit := range limits {
				if beyond > limit {
					tails[i][side]++
				}
			}
			for _, t := range inside {
				if beyond > t.from {
					n := len(t.cells[side])
					t.cells[side][min(n-1, int(cumulative(-beyond)/cumulative(-t.from)*float64(n)))]++
				}
			}
		}
	}
	v.add(chiSquare(coarser(cells, 1<<12), nil), "Φ(ξ) in 4096 cells")
	v.add(chiSquare(coarser(cells, 1<<6), nil), "Φ(ξ) in 64 cells")
	v.add(kolmogorov(cells), "Kolmogorov–Smirnov")
	v.add(andersonDarling(cells), "Anderson–Darling")
	v.add(chiSquare(sums, nil), "sums of %d", sum)
	for side, sign := range []string{"", "−"} {
		for i, limit := range limits {
			v.add(binomial(tails[i][side], count, cumulative(-limit)), "beyond %s%v", sign, limit)
		}
		for _, t := range inside {
			v.add(chiSquare(t.cells[side], nil), "law beyond %s%v", sign, t.from)
		}
	}
	return v
}

// coarser joins cells to n.
func coarser(cells []int, n int) []int {
	joined := make([]int, n)
	for i, c := range cells {
		joined[i*n/len(cells)] += c
	}
	return joined
}

// The error of the inverse, at most 2.6e-5, moves χ² in 256, 4,096 and 65,536
// cells by 2.3e-7, 1.1e-6 and 1.7e-5 per normal, most of it where two cubics
// join. At 2²⁵ normals that is less than half of the spread in 4,096 cells.
func TestNormalLaw(t *testing.T) {
	law(interleavedNormals(1, 4), draws(1<<25)).check(t, "chains of functions")
	law(chainNormals(2), draws(1<<22)).check(t, "one chain")
}

// moment functions of a normal, with mean 0 and variance 1: products of those
// of independent normals have them too.
var moments = []struct {
	name string
	of   func(x float64) float64
}{
	{"ξ", func(x float64) float64 { return x }},
	{"ξ²", func(x float64) float64 { return (x*x - 1) / math.Sqrt2 }},
	{"|ξ|", func(x float64) float64 {
		mean := math.Sqrt(2 / math.Pi)
		return (math.Abs(x) - mean) / math.Sqrt(1-mean*mean)
	}},
	{"sign", func(x float64) float64 { return math.Copysign(1, x) }},
}

// series are the moment functions of a sequence of normals.
type series [][]float64

func newSeries(x []float32) series {
	s := make(series, len(moments))
	for m := range moments {
		s[m] = make([]float64, len(x))
		for i, v := range x {
			s[m][i] = moments[m].of(float64(v))
		}
	}
	return s
}

// correlate tests the correlations between a sequence and another one that is
// read lag later.
func correlate(v *verdicts, a, b series, lag int, name string) {
	for _, pair := range [][2]int{{0, 0}, {1, 1}, {2, 2}, {3, 3}, {0, 1}, {1, 0}} {
		x, y := a[pair[0]], b[pair[1]][lag:]
		x = x[:len(y)]
		var sum float64
		for i, u := range x {
			sum += u * y[i]
		}
		v.add(twoSided(sum/math.Sqrt(float64(len(x)))), "%s with %s, %s", moments[pair[0]].name, moments[pair[1]].name, name)
	}
}

// serial tests the correlations within a stream at many lags.
func serial(source normalSource, count int) (v verdicts) {
	x := make([]float32, count)
	source(x)
	s := newSeries(x)
	for lag := 1; lag <= 64; lag++ {
		correlate(&v, s, s, lag, fmt.Sprintf("lag %d", lag))
	}
	for lag := 128; lag <= 1<<14; lag *= 2 {
		correlate(&v, s, s, lag, fmt.Sprintf("lag %d", lag))
	}
	return v
}

// In the interleaved stream a lag of l < 64 is to the chain l further on (or to
// the next step), 64 is one step, 1,024 the next function.
func TestSerialCorrelation(t *testing.T) {
	longStatistics(t)
	serial(chainNormals(3), 1<<19).check(t, "one chain")
	serial(interleavedNormals(3, 4), 1<<19).check(t, "chains of functions")
}

// seeder starts the generator of a lane.
type seeder func(n *normals, lane int, seed, function, chain uint64)

func seedLane(n *normals, lane int, seed, function, chain uint64) {
	n.seed(lane, seed, "noise", function, chain)
}

// neighbours tests the correlations of streams with those whose seed, function
// or chain differ in one bit or by one, at lags of up to two steps either way.
func neighbours(seed seeder, count int) (v verdicts) {
	draw := func(ids [][3]uint64) []series {
		streams := make([][]float32, len(ids))
		n := new(normals)
		for first := 0; first < len(ids); first += lanes {
			group := ids[first:min(first+lanes, len(ids))]
			for l, id := range group {
				seed(n, l, id[0], id[1], id[2])
			}
			for range count / window {
				engines[0].fill(n, len(group))
				for l := range group {
					for k := range window {
						streams[first+l] = append(streams[first+l], n.values[k*lanes+l])
					}
				}
			}
		}
		all := make([]series, len(ids))
		for i, x := range streams {
			all[i] = newSeries(x)
		}
		return all
	}
	origin := [3]uint64{1, 12345, 678}
	ids, names := [][3]uint64{origin}, []string{""}
	for i, name := range []string{"seed", "function", "chain"} {
		for bit := range 64 {
			id := origin
			id[i] ^= 1 << bit
			ids, names = append(ids, id), append(names, fmt.Sprintf("bit %d of the %s", bit, name))
		}
		id := origin
		id[i]++
		ids, names = append(ids, id), append(names, "next "+name)
	}
	all := draw(ids)
	for i, other := range all {
		if i == 0 {
			continue
		}
		for lag := range 3 {
			correlate(&v, all[0], other, lag, fmt.Sprintf("%s, lag %d", names[i], lag))
			correlate(&v, other, all[0], lag, fmt.Sprintf("%s, lag −%d", names[i], lag))
		}
	}
	return v
}

func TestNeighbouringStreams(t *testing.T) {
	neighbours(seedLane, draws(1<<13)).check(t, "neighbours")
}
