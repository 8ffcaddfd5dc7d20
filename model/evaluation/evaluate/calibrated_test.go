package evaluate

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/model/evaluation/observables"
)

// sampled is a normal law that can be sampled.
type sampled struct{ onLine }

func (g sampled) Sample(dst []float32, rng *rand.Rand) {
	for i := range dst {
		dst[i] = float32(g.m + g.s*rng.NormFloat64())
	}
}

// A right sampler is calibrated on the line, where exact draws are of the law, in the plane,
// where they are of the reference, and of particles. Too narrow ones are not, and the note says
// so.
func TestCalibrate(t *testing.T) {
	const functions, n = 150, 200
	for _, name := range []string{"vn1d", "cn2d", "particles64d"} {
		f, err := family.ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		d := f.Dim()
		for _, width := range []float64{1, 0.5} {
			held := make([]heldOutFunction, functions)
			samples, observed := make([][]float32, functions), make([]*observables.Observed, functions)
			for i := range held {
				rng := random.New(1, "evaluate/calibrate", uint64(i))
				mean := 3 * rng.NormFloat64()
				if d > 2 {
					mean = 0
				}
				draw := func(width float64) []float32 {
					x := make([]float32, n*d)
					sampled{onLine{mean, width}}.Sample(x, rng)
					return x
				}
				held[i].index, held[i].reference = i, draw(1)
				samples[i] = draw(width)
				if d == 1 {
					held[i].law = sampled{onLine{mean, 1}}
					clear(held[i].reference) // is not looked at
				}
				if d > 2 {
					energy := func(x []float32) (sum float64) {
						for _, v := range x {
							sum += float64(v) * float64(v)
						}
						return sum
					}
					if held[i].observed, err = observables.Observe(held[i].reference, d/2, 1, energy); err != nil {
						t.Fatal(err)
					}
					if observed[i], err = observables.Observe(samples[i], d/2, 1, energy); err != nil {
						t.Fatal(err)
					}
					observed[i].Thin(rankedAmong)
				}
			}
			found, err := calibrate(f, 1, held, samples, observed)
			if want := map[int]int{1: 1, 2: 3, 64: 2}[d]; err != nil || len(found) != want {
				t.Fatalf("%s: %+v, %v", name, found, err)
			}
			for _, c := range found {
				if c.Inside != (width == 1) || len(c.Ranks) != functions || c.Draws != rankedAmong {
					t.Errorf("%s, width %g: %s is inside %v, p %.3g, %d ranks", name, width, c.Of, c.Inside, c.P, len(c.Ranks))
				}
			}
			note := Row{Name: "model", Calibration: found}.calibrationNote()
			if strings.Contains(note, "outside the band") != (width < 1) || strings.Contains(note, "too narrow") != (width < 1 && d <= 2) {
				t.Errorf("%s, width %g: %s", name, width, note)
			}
			if few, err := calibrate(f, 1, held[:8], samples[:8], observed[:8]); err != nil || few != nil {
				t.Errorf("%s: eight functions have %+v, %v", name, few, err)
			}
		}
	}
	timed, err := family.ByName("vn1d_time")
	if err != nil {
		t.Fatal(err)
	}
	if found, err := calibrate(timed, 1, make([]heldOutFunction, 20), nil, nil); err != nil || found != nil {
		t.Errorf("laws at times have %+v, %v", found, err)
	}
}
