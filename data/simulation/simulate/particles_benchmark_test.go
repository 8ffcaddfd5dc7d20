package simulate

import (
	"context"
	"errors"
	"testing"
)

func TestBenchmarkParticles(t *testing.T) {
	for _, n := range []int{-1, 1, 1025} {
		if _, err := BenchmarkParticles(context.Background(), n, 1); err == nil {
			t.Errorf("%d particles are accepted", n)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := BenchmarkParticles(ctx, 32, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	measured, err := measureParticles(context.Background(), 3, 100, 1)
	if err != nil || len(measured) != 2*len(Engines()) {
		t.Fatalf("%d measurements, error %v", len(measured), err)
	}
	for i, m := range measured {
		what := []string{"particle steps, 3 particles", "pair forces, 3 particles"}[i%2]
		if m.Engine != Engines()[i/2] || m.What != what || m.Size != "16×16" || m.Unit != "pairs" || !(m.Rate > 0) {
			t.Errorf("measurement %d is %+v", i, m)
		}
	}
}
