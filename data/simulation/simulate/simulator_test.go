package simulate

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// A batch has its functions' samples one after the other, each what
// Chains gives for that function, and stops at the first error.
func TestSimulate(t *testing.T) {
	const first, count, width = 7, 9, 2 * 3 * 20
	systems := []sde.System{smoothPlane(1, true), smoothPlane(4, false)}
	b := Batch{
		First: first, Count: count, Seed: 3, Purpose: "batch",
		System: func(i int) (sde.System, error) { return systems[i%2], nil },
		Scheme: Scheme{DT: 0.01, BurnIn: 20, Thin: 5, Chains: 20},
	}
	for _, e := range engines {
		dst := make([]float32, count*width)
		reports := 0
		err := e.Simulate(context.Background(), dst, b, func(done, total int) {
			if reports++; done != reports || total != count {
				t.Errorf("%v: report %d says %d of %d", e, reports, done, total)
			}
		})
		if err != nil || reports != count {
			t.Fatalf("%v: %d reports, error %v", e, reports, err)
		}
		for i := range count {
			want := make([]float32, width)
			if err := Chains(context.Background(), want, systems[(first+i)%2], b.Scheme, b.Seed, uint64(first+i), b.Purpose); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(dst[i*width:(i+1)*width], want) {
				t.Errorf("%v: function %d differs", e, first+i)
			}
		}
	}

	broken := b
	broken.System = func(i int) (sde.System, error) {
		if i == first+4 {
			return nil, errDeliberate
		}
		return systems[0], nil
	}
	if err := plain.Simulate(context.Background(), make([]float32, count*width), broken, nil); !errors.Is(err, errDeliberate) {
		t.Errorf("failing system: %v", err)
	}
	for _, n := range []int{0, count*width + 1, count * (width - 1)} {
		if err := plain.Simulate(context.Background(), make([]float32, n), b, nil); err == nil || !strings.Contains(err.Error(), "cannot be divided") && !strings.Contains(err.Error(), "not a whole number") {
			t.Errorf("%d values: %v", n, err)
		}
	}
}
