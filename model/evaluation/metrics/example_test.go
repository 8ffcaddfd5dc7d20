package metrics_test

import (
	"fmt"
	"log"

	"github.com/ergoflow/ergoflow/model/evaluation/metrics"
)

// A translation by (3, 0) of four points in the plane. The Sinkhorn divergence is
// half the squared distance; sliced W2 is the root mean square, over directions θ,
// of the translation along θ.
func Example() {
	x := metrics.Cloud{N: 4, D: 2, X: []float32{0, 0, 1, 0, 0, 1, 1, 1}}
	y := metrics.Cloud{N: 4, D: 2, X: []float32{3, 0, 4, 0, 3, 1, 4, 1}}
	sinkhorn, err := metrics.SinkhornConverged(x, y, metrics.ConvergedOptions{Blur: 0.05})
	if err != nil {
		log.Fatal(err)
	}
	w2, err := metrics.W2Assignment(x, y)
	if err != nil {
		log.Fatal(err)
	}
	sliced, err := metrics.SlicedW2(x, y, 4096, 0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("Sinkhorn %.3f, W2 %.3f, sliced W2 %.1f\n", sinkhorn.Value, w2, sliced)
	// Output: Sinkhorn 4.500, W2 3.000, sliced W2 2.1
}

// Samples on the line: the exact distance, and a test of whether one law could
// have drawn both.
func ExampleW2() {
	x, y := []float32{0.1, 0.9, 0.4, 0.6}, []float32{1.1, 1.9, 1.4, 1.6}
	w2, err := metrics.W2(x, y)
	if err != nil {
		log.Fatal(err)
	}
	ks, p, err := metrics.KS(x, y)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("W2 %.2f, KS %.2f with p = %.3f\n", w2, ks, p)
	// Output: W2 1.00, KS 1.00 with p = 0.029
}
