package simulator

import (
	"context"
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/data/sde"
	"github.com/ergoflow/ergoflow/data/simulate"
	"github.com/ergoflow/ergoflow/model/backend"
	"github.com/ergoflow/ergoflow/model/backend/backendtest"
)

func TestX(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		s, err := New(b)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		scheme := simulate.Scheme{DT: 0.01, BurnIn: 7, Thin: 3, Chains: 5, Start: 2}
		batch := simulate.Batch{First: 3, Count: 4, Scheme: scheme, Seed: 1, Purpose: "test", System: func(i int) (sde.System, error) {
			c := sde.Coefficients{Grid: sde.Grid{Lo: -3, Hi: 4 + float64(i), N: 64}}
			for k := range 64 {
				c.Drift = append(c.Drift, float32(math.Sin(float64(k*i))))
				c.Diffusion = append(c.Diffusion, 1+.2*float32(math.Cos(float64(k*i))))
			}
			return c, nil
		}}
		got, want := make([]float32, 4*5*20), make([]float32, 4*5*20)
		if err := s.Simulate(context.Background(), got, batch, nil); err != nil {
			t.Fatal(err)
		}
		e, _ := simulate.NewEngine("go")
		if err := e.Simulate(context.Background(), want, batch, nil); err != nil {
			t.Fatal(err)
		}
		worst := 0.
		for i := range got {
			worst = max(worst, math.Abs(float64(got[i]-want[i])))
		}
		t.Log(worst, got[:5], want[:5])
	})
}
