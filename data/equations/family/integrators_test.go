package family

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// The examples have the integrators that docs/decisions/integrators.md recommends for them.
func TestIntegratorsOfExamples(t *testing.T) {
	want := map[string]simulate.Integrator{
		"duffing": simulate.BAOAB, "langevin": simulate.BAOAB,
		"muller_brown": simulate.LeimkuhlerMatthews, "phi4": simulate.LeimkuhlerMatthews, "logistic_posterior": simulate.LeimkuhlerMatthews,
		"fitzhugh_nagumo": simulate.Heun, "lorenz63": simulate.Heun, "lorenz96": simulate.Heun,
		"ornstein_uhlenbeck": simulate.Heun, "toggle_switch": simulate.Heun, "van_der_pol": simulate.Heun,
	}
	files, err := filepath.Glob("../../../docs/families/*.yaml")
	if err != nil || len(files) < len(want) {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		integrator, listed := want[strings.TrimSuffix(filepath.Base(file), ".yaml")]
		if !listed {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			function, err := defined(t, string(text)).Function(1, i)
			if err != nil {
				t.Fatal(err)
			}
			if got := simulate.Suited(function.System.(sde.Space)); got != integrator {
				t.Errorf("%s, function %d: %v, want %v", file, i, got, integrator)
			}
		}
	}
}
