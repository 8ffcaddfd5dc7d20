package allreduce

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Terms added in any order, in any grouping, have the same bits, and the sum is
// exact to a unit for each term.
func TestFixedPointDoesNotDependOnOrder(t *testing.T) {
	const terms, n = 8, 100
	random := rand.New(rand.NewPCG(1, 2))
	vectors := make([][]float32, terms)
	for k := range vectors {
		vectors[k] = make([]float32, n)
		for i := range vectors[k] {
			vectors[k][i] = float32(random.NormFloat64() * math.Pow(10, 6*random.Float64()-4))
		}
	}
	f := FixedPoint{Exponent: -40, Terms: terms}
	var want []float32
	for range 20 {
		random.Shuffle(terms, func(i, j int) { vectors[i], vectors[j] = vectors[j], vectors[i] })
		total := make([]int64, n)
		split := random.IntN(terms + 1) // as two ranks would
		for _, part := range [][][]float32{vectors[:split], vectors[split:]} {
			words := make([]int64, n)
			for _, v := range part {
				if !f.Add(words, v) {
					t.Fatal("does not fit")
				}
			}
			for i, w := range words {
				total[i] += w
			}
		}
		got := make([]float32, n)
		f.Floats(got, total)
		if want == nil {
			want = got
			for i := range got {
				exact := 0.0
				for _, v := range vectors {
					exact += float64(v[i])
				}
				if d := math.Abs(float64(got[i]) - exact); !(d <= math.Abs(exact)/(1<<24)+terms*0x1p-41) {
					t.Fatalf("sum %d is %g instead of %g", i, got[i], exact)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Fatal("another order gives other bits")
		}
	}
}

func TestFixedPointRefusesWhatDoesNotFit(t *testing.T) {
	f := FixedPoint{Exponent: -32, Terms: 4}
	most := float32(math.Ldexp(1, 60-32))
	for x, want := range map[float32]bool{
		0: true, most: true, -most: true, math.Nextafter32(most, 2*most): false, -2 * most: false,
		float32(math.Inf(1)): false, float32(math.NaN()): false,
	} {
		if got := f.Add(make([]int64, 1), []float32{x}); got != want {
			t.Errorf("%g fits: %v, want %v", x, got, want)
		}
	}
	words := make([]int64, 1)
	for range 4 {
		f.Add(words, []float32{most})
	}
	var sum [1]float32
	if f.Floats(sum[:], words); sum[0] != 4*most {
		t.Errorf("the largest sum is %g instead of %g", sum[0], 4*most)
	}
}
