package probe

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Walks of one point are uniform in the rectangle, where a linear drift has a
// known mean and deviation; what is constant has the deviation 1.
func TestStandards(t *testing.T) {
	system := func(i int) (sde.System, error) {
		p := plane(func(x, y float64) [2]float64 { return [2]float64{2*x + 1, 3 * y} }, 1, ones)
		p.Diffusion = []float32{math.Sqrt2}
		return p, nil
	}
	c := Config{Kind: Walk, Sensors: 500, Steps: 1, DT: 0.01}
	got, err := c.Standards(context.Background(), numbers(200), system, 1, "test", OverRows)
	if err != nil {
		t.Fatal(err)
	}
	same, err := c.Standards(context.Background(), numbers(200), system, 1, "test", BetweenFunctions)
	if err != nil || !slices.Equal(same, got) {
		t.Errorf("of functions that do not differ: %v, want %v, error %v", same, got, err)
	}
	dx, dy := 10/math.Sqrt(12), 2/math.Sqrt(12)
	want := [][2]float64{{1, dx}, {0, dy}, {3, 2 * dx}, {0, 3 * dy}, {math.Sqrt2, 1}, {0, 1}, {0, 1}, {math.Sqrt2, 1}}
	for k, w := range want {
		if !(math.Abs(got[k].Mean-w[0]) <= 5*w[1]/math.Sqrt(100_000) && math.Abs(got[k].Std/w[1]-1) <= 0.01) {
			t.Errorf("feature %d: %+v, want %v", k, got[k], w)
		}
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	alone, err := c.Standards(context.Background(), numbers(200), system, 1, "test", OverRows)
	if err != nil || !slices.Equal(alone, got) {
		t.Errorf("on one goroutine: %v, want %v, error %v", alone, got, err)
	}
}

// The part that all functions share does not set the scale of their differences:
// drifts c_i + 30x have the deviation of c, not the 30 times larger one of x.
func TestStandardsTellFunctionsApart(t *testing.T) {
	const functions = 400
	offset := func(i int) float64 { return float64(i%5) - 2 } // variance 2
	system := func(i int) (sde.System, error) {
		return plane(func(x, y float64) [2]float64 { return [2]float64{offset(i) + 30*x, offset(i) * y} }, 1, ones), nil
	}
	for _, c := range []Config{{Kind: Walk, Sensors: 50, Steps: 20, DT: 0.01}, {Kind: Trajectory, Sensors: 50, Steps: 20, DT: 0.001}} {
		got, err := c.Standards(context.Background(), numbers(functions), system, 1, "test", BetweenFunctions)
		if err != nil {
			t.Fatal(err)
		}
		if want := math.Sqrt2; !(math.Abs(got[2].Std/want-1) <= 1e-3) {
			t.Errorf("%s: scale of a drift with deviation %g between functions: %g", c.Kind, want, got[2].Std)
		}
		// Over rows x counts, uniform in [−5, 5] where probes start.
		over, err := c.Standards(context.Background(), numbers(functions), system, 1, "test", OverRows)
		if err != nil {
			t.Fatal(err)
		}
		if want := 30 * 10 / math.Sqrt(12); c.Kind == Walk && !(math.Abs(over[2].Std/want-1) <= 0.1) {
			t.Errorf("%s: over rows a drift with 30x has the scale %g, want about %g", c.Kind, over[2].Std, want)
		}
		// In y the functions differ by offset·y, y in [−1, 1]: of which they all make the deviation.
		if want := math.Sqrt(2.0 / 3); !(math.Abs(got[3].Std/want-1) <= 0.2) {
			t.Errorf("%s: scale of a drift that differs by a factor: %g, want about %g", c.Kind, got[3].Std, want)
		}
	}
}

func TestStandardsRefusals(t *testing.T) {
	deliberate := errors.New("deliberate")
	failing := func(i int) (sde.System, error) {
		if i == 3 {
			return nil, deliberate
		}
		return spring(1), nil
	}
	c := Config{Kind: Pairs, Sensors: 5, Steps: 5, DT: 0.001}
	if _, err := c.Standards(context.Background(), numbers(5), failing, 1, "test", BetweenFunctions); !errors.Is(err, deliberate) {
		t.Errorf("failing function: %v", err)
	}
	if _, err := c.Standards(context.Background(), nil, failing, 1, "test", BetweenFunctions); err == nil {
		t.Error("standards of no functions")
	}
	c.Steps = 0
	if _, err := c.Standards(context.Background(), numbers(3), failing, 1, "test", BetweenFunctions); err == nil || !strings.Contains(err.Error(), "steps is 0") {
		t.Errorf("no rows: %v", err)
	}
}

// numbers are 0 … n−1.
func numbers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
