package simulate_test

import (
	"context"
	"fmt"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// The Ornstein–Uhlenbeck process dX = −X dt + √2 dW has the invariant law N(0, 1). With
// the time step h the variance of the Euler–Maruyama chain is 1/(1 − h/2).
func ExampleChains() {
	equation := sde.Coefficients{
		Grid:      sde.Grid{Lo: -6, Hi: 6, N: 3}, // linear between nodes, so three are enough
		Drift:     []float32{6, 0, -6},
		Diffusion: []float32{1.41421356, 1.41421356, 1.41421356},
	}
	scheme := simulate.Scheme{DT: 0.01, BurnIn: 1000, Thin: 200, Chains: 256}
	samples := make([]float32, 1<<16) // [chains, samples of each]
	const seed, function = 1, 0
	if err := simulate.Chains(context.Background(), samples, equation, scheme, seed, function, "example"); err != nil {
		fmt.Println(err)
		return
	}
	var sum, squares float64
	for _, x := range samples {
		sum += float64(x)
		squares += float64(x) * float64(x)
	}
	n := float64(len(samples))
	fmt.Printf("mean %.1f, variance %.1f\n", sum/n, squares/n-(sum/n)*(sum/n))
	// Output: mean 0.0, variance 1.0
}
