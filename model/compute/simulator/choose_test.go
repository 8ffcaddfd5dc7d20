package simulator

import (
	"errors"
	"testing"

	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
)

func TestChoose(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		for engine, want := range map[string]string{
			"": simulate.Fastest().String(), backend.Auto: simulate.Fastest().String(), "go": "go", Engine: "device " + b.Name,
		} {
			if by, err := Choose(b, engine); err != nil || by.String() != want {
				t.Errorf("%q: %v, %v, want %s", engine, by, err, want)
			}
		}
		if by, err := Choose(b, "sse2"); !errors.Is(err, simulate.ErrEngine) || by != nil {
			t.Errorf("sse2: %v, %v", by, err)
		}
	})
}
