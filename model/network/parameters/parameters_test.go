package parameters_test

import (
	"math"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/model/network/parameters"
)

var layout = parameters.Layout{
	{Name: "a.weight", Shape: []int{100, 50}, FanIn: 100},
	{Name: "a.bias", Shape: []int{50}, FanIn: 100},
	{Name: "b.weight", Shape: []int{5, 4, 300}, FanIn: 20},
}

func TestOffsets(t *testing.T) {
	if got, want := layout.Offsets(), []int{0, 5000, 5050, 11050}; !slices.Equal(got, want) {
		t.Errorf("offsets %v, want %v", got, want)
	}
	if layout.Size() != 11050 {
		t.Errorf("size %d", layout.Size())
	}
}

// Uniform in ±1/√fan-in: bounds, mean 0 and variance 1/(3·fan-in).
func TestInitialise(t *testing.T) {
	theta := layout.Initialise(1)
	offsets := layout.Offsets()
	for i, tensor := range layout {
		bound := 1 / math.Sqrt(float64(tensor.FanIn))
		var sum, squares, largest float64
		part := theta[offsets[i]:offsets[i+1]]
		for _, x := range part {
			sum += float64(x)
			squares += float64(x) * float64(x)
			largest = max(largest, math.Abs(float64(x)))
		}
		n := float64(len(part))
		if !(largest <= bound && largest >= 0.9*bound) {
			t.Errorf("%s: largest is %g, bound %g", tensor.Name, largest, bound)
		}
		if !(math.Abs(sum/n) <= 4*bound/math.Sqrt(3*n)) {
			t.Errorf("%s: mean %g", tensor.Name, sum/n)
		}
		if ratio := squares / n / (bound * bound / 3); !(math.Abs(ratio-1) <= 4/math.Sqrt(n)) {
			t.Errorf("%s: variance is %g of what it should be", tensor.Name, ratio)
		}
	}
	if !slices.Equal(theta, layout.Initialise(1)) {
		t.Error("the same seed gives other parameters")
	}
	if slices.Equal(theta, layout.Initialise(2)) {
		t.Error("another seed gives the same parameters")
	}
}

// The other starts: constants, and a normal law whose mean, variance and fourth
// moment (three variances squared) are checked. What one tensor starts as does
// not move another.
func TestStarts(t *testing.T) {
	const n = 40_000
	starts := parameters.Layout{
		{Name: "silent", Shape: []int{n}, Start: parameters.Zeros},
		{Name: "gain", Shape: []int{n}, Start: parameters.Ones},
		{Name: "tokens", Shape: []int{n}, Start: parameters.Normal},
		{Name: "weight", Shape: []int{n}, FanIn: 4},
	}
	if err := starts.Validate(); err != nil {
		t.Fatal(err)
	}
	theta := starts.Initialise(3)
	for i := range n {
		if theta[i] != 0 || theta[n+i] != 1 {
			t.Fatalf("element %d starts as %g and %g, want 0 and 1", i, theta[i], theta[n+i])
		}
	}
	var moments [5]float64
	for _, x := range theta[2*n : 3*n] {
		for k := range moments {
			moments[k] += math.Pow(float64(x)/parameters.NormalStd, float64(k)) / n
		}
	}
	// Standard errors: of the mean 1/√n, of the variance √(2/n), of the fourth
	// moment √(96/n).
	for k, want := range map[int][2]float64{1: {0, 1}, 2: {1, 2}, 4: {3, 96}} {
		if !(math.Abs(moments[k]-want[0]) <= 4*math.Sqrt(want[1]/n)) {
			t.Errorf("moment %d is %g, want %g", k, moments[k], want[0])
		}
	}
	starts[0].Start = parameters.Normal
	if other := starts.Initialise(3); !slices.Equal(other[n:], theta[n:]) || slices.Equal(other[:n], theta[2*n:3*n]) {
		t.Error("tensors are not drawn independently of one another")
	}
}

func TestValidate(t *testing.T) {
	if err := layout.Validate(); err != nil {
		t.Error(err)
	}
	for name, bad := range map[string]parameters.Layout{
		"no name":  {{Shape: []int{1}, FanIn: 1}},
		"twice":    {{Name: "a", Shape: []int{1}, FanIn: 1}, {Name: "a", Shape: []int{1}, FanIn: 1}},
		"negative": {{Name: "a", Shape: []int{-1}, FanIn: 1}},
		"no fan":   {{Name: "a", Shape: []int{1}}},
		"no start": {{Name: "a", Shape: []int{1}, FanIn: 1, Start: "cauchy"}},
	} {
		if bad.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
