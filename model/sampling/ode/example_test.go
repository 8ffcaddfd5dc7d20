package ode_test

import (
	"context"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/model/sampling/ode"
)

// Two points of the line move along dx/dt = −x for two units of time. The exact
// solution is x(2) = x(0)e⁻².
func Example() {
	decay := func(dst, x []float32, _ float64) error {
		for i := range x {
			dst[i] = -x[i]
		}
		return nil
	}
	fmt.Printf("exact    %.4f %.4f\n", math.Exp(-2), -3*math.Exp(-2))
	for _, name := range []string{"euler-8", "rk4-4", "dopri5"} {
		solver, err := ode.Parse(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		x := []float32{1, -3}
		evaluations, err := solver.Integrate(context.Background(), decay, x, 0, 2)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%-8s %.4f %.4f after %d evaluations\n", solver, x[0], x[1], evaluations)
	}
	// Output:
	// exact    0.1353 -0.4060
	// euler-8  0.1001 -0.3003 after 8 evaluations
	// rk4-4    0.1355 -0.4066 after 16 evaluations
	// dopri5   0.1353 -0.4060 after 38 evaluations
}
