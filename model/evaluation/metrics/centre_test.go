package metrics

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"testing"
)

// farCase has samples of float64 and their distances by SciPy: testdata/far_golden.py.
type farCase struct {
	Name      string
	Dimension int
	X, Y      []float64
	Blur      float64
	W2        float64
	KS        float64
	KSP       float64 `json:"ks_p"`
	Converged float64 `json:"sinkhorn_converged"`
}

func (c farCase) clouds() (x, y CloudOf[float64]) {
	cloud := func(x []float64) CloudOf[float64] {
		return CloudOf[float64]{N: len(x) / c.Dimension, D: c.Dimension, X: x}
	}
	return cloud(c.X), cloud(c.Y)
}

func readFar(t *testing.T) (cases []farCase) {
	b, err := os.ReadFile("testdata/far.json")
	if err == nil {
		err = json.Unmarshal(b, &cases)
	}
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// Far from 0 compared with their spread, clouds keep their distances.
func TestMetricsFarFromZero(t *testing.T) {
	for _, c := range readFar(t) {
		first, second := c.clouds()
		x, y, rounding, err := Centre(first, second)
		if err != nil {
			t.Fatal(err)
		}
		near := func(name string, got, want, tolerance float64, err error) {
			if err != nil || !(math.Abs(got-want) <= tolerance*want) {
				t.Errorf("%s: %s is %v (%v), want %v", c.Name, name, got, err, want)
			}
		}
		if !(rounding <= 1e-6*c.W2) {
			t.Errorf("%s: rounding moves the points by %v, W2 is %v", c.Name, rounding, c.W2)
		}
		converged, err := SinkhornConverged(x, y, ConvergedOptions{Blur: c.Blur, Tolerance: 1e-7})
		near("converged sinkhorn", converged.Value, c.Converged, 1e-5, err)
		if c.Dimension > 1 {
			w2, err := W2Assignment(x, y)
			near("W2", w2, c.W2, 1e-5, err)
			continue
		}
		w2, err := W2(c.X, c.Y)
		near("W2", w2, c.W2, 1e-9, err)
		sliced, err := SlicedW2(x, y, 1, 0)
		near("sliced W2", sliced, c.W2, 1e-5, err)
		ks, p, err := KS(c.X, c.Y)
		near("KS", ks, c.KS, 1e-12, err)
		near("KS p", p, c.KSP, 1e-9, err)
	}
}

// Coordinates that float32 holds stay as they are, on each axis by itself.
func TestCentreMovesOnlyWhatFloat32DoesNotHold(t *testing.T) {
	x := CloudOf[float64]{N: 2, D: 2, X: []float64{1e6, 1e6 + 1e-3, 3, 1e6 + 2e-3}}
	y := CloudOf[float64]{N: 1, D: 2, X: []float64{7, 1e6 + 3e-3}}
	a, b, rounding, err := Centre(x, y)
	if err != nil || !(rounding <= 1e-9) {
		t.Fatalf("rounding %v, error %v", rounding, err)
	}
	for _, axis := range [][]float32{{a.X[0], 1e6}, {a.X[2], 3}, {b.X[0], 7}} {
		if axis[0] != axis[1] {
			t.Errorf("coordinate %v, want %v", axis[0], axis[1])
		}
	}
	for i, got := range []float64{float64(a.X[3] - a.X[1]), float64(b.X[1] - a.X[1])} {
		if want := float64(i+1) * 1e-3; !(math.Abs(got-want) <= 1e-9) {
			t.Errorf("difference %v on the second axis, want %v", got, want)
		}
	}
}

// Modes that are far apart compared with their own width lose it, and rounding says so.
func TestCentreTellsWhatItLoses(t *testing.T) {
	x := line([]float64{-1e6, -1e6 + 1e-3, 1e6, 1e6 + 1e-3})
	y := line([]float64{-1e6 + 5e-4, -1e6 + 2e-3, 1e6, 1e6 + 2e-3})
	a, b, rounding, err := Centre(x, y)
	if err != nil {
		t.Fatal(err)
	}
	exact, _ := W2(x.X, y.X)
	got, _ := W2(a.X, b.X)
	if difference := math.Abs(got - exact); !(rounding > 0.1*exact && difference <= rounding) {
		t.Errorf("W2 %v, of rounded points %v, rounding %v", exact, got, rounding)
	}
}

func TestCentreRefuses(t *testing.T) {
	good := line([]float64{1, 2})
	for name, tt := range map[string]struct {
		x    CloudOf[float64]
		want error
	}{
		"empty":         {line[float64](nil), ErrEmpty},
		"NaN":           {line([]float64{1, math.NaN()}), ErrNonFinite},
		"infinite":      {line([]float64{math.Inf(-1)}), ErrNonFinite},
		"above float32": {line([]float64{1e300, 0, 0.1}), ErrRange},
		"dimensions":    {CloudOf[float64]{N: 1, D: 2, X: []float64{1, 2}}, ErrShape},
		"no dimension":  {CloudOf[float64]{N: 3, D: 0}, ErrShape},
		"short":         {CloudOf[float64]{N: 3, D: 1, X: []float64{1}}, ErrShape},
	} {
		if _, _, _, err := Centre(tt.x, good); !errors.Is(err, tt.want) {
			t.Errorf("%s first: %v, want %v", name, err, tt.want)
		}
		if _, _, _, err := Centre(good, tt.x); !errors.Is(err, tt.want) {
			t.Errorf("%s second: %v, want %v", name, err, tt.want)
		}
	}
	x := slices.Clone(good.X)
	if _, _, _, err := Centre(good, good); err != nil || !slices.Equal(x, good.X) {
		t.Errorf("%v, was %v (%v)", good.X, x, err)
	}
}
