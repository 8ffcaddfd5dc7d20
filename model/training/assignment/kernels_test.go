package assignment

import (
	"math"
	"slices"
	"testing"
)

// sets are those that this processor has, the plain one first.
func sets() []instructions {
	var s []instructions
	for set := plain; set <= widest(); set++ {
		s = append(s, set)
	}
	return s
}

// Every instruction set computes the plain kernels' numbers, bit for bit, ties
// and infinities included.
func TestKernelsAgree(t *testing.T) {
	r := source(1)
	for _, stride := range []int{8, 16, 64, 200} {
		for round := range 50 {
			row, v := make([]float32, stride), make([]float64, stride)
			distance, from := make([]float64, stride), make([]int64, stride)
			for j := range stride {
				row[j] = float32(r.IntN(10 + 1000*(round%2))) // few values: many ties
				v[j] = float64(r.IntN(5))
				distance[j] = float64(r.IntN(9))
				switch r.IntN(8) {
				case 0:
					v[j], distance[j] = math.Inf(-1), math.Inf(1) // closed
				case 1:
					row[j], distance[j] = float32(math.Inf(1)), math.Inf(1) // beyond n
				}
			}
			y := make([]float64, 3*stride)
			for i := range y {
				y[i] = r.NormFloat64()
			}
			x := []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
			least, at, second := twoLeastPlain(row, v)
			wantDistance, wantFrom := slices.Clone(distance), slices.Clone(from)
			nearest, column := relaxPlain(wantDistance, wantFrom, row, v, 1.5, 7)
			wantRow := make([]float32, stride)
			squaredDistancesPlain(wantRow, x, y)
			for _, set := range sets() {
				if l, a, s := twoLeast(set, row, v); l != least || a != at || s != second {
					t.Errorf("%v: two least %v at %d, %v; plain %v at %d, %v", set, l, a, s, least, at, second)
				}
				d, f := slices.Clone(distance), slices.Clone(from)
				if l, a := relax(set, d, f, row, v, 1.5, 7); l != nearest || a != column || !slices.Equal(d, wantDistance) || !slices.Equal(f, wantFrom) {
					t.Errorf("%v: relax %v at %d, plain %v at %d", set, l, a, nearest, column)
				}
				got := make([]float32, stride)
				if squaredDistances(set, got, x, y); !slices.Equal(got, wantRow) {
					t.Errorf("%v: costs %v, plain %v", set, got, wantRow)
				}
			}
		}
	}
}

// The match, not only its cost, is the same on every instruction set.
func TestSetsAgree(t *testing.T) {
	eachCloud(t, []int{5, 33, 64}, func(t *testing.T, x, y []float32, n, d int) {
		want, wantCost := solve(t, &Solver{set: plain}, x, y, d)
		for _, set := range sets() {
			got, cost := solve(t, &Solver{set: set}, x, y, d)
			if !slices.Equal(got, want) || cost != wantCost {
				t.Errorf("%v: %v at %v, plain %v at %v", set, got, cost, want, wantCost)
			}
		}
	})
}
