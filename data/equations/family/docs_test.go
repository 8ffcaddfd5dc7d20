package family

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// The families of docs/families.md compile and can be simulated.
func TestDocumentedFamilies(t *testing.T) {
	text, err := os.ReadFile("../../../docs/families.md")
	if err != nil {
		t.Fatal(err)
	}
	families := 0
	for _, block := range strings.Split(string(text), "```yaml\n")[1:] {
		definition, _, _ := strings.Cut(block, "```")
		if !strings.Contains(definition, "drift:") {
			continue // the configuration of an experiment
		}
		families++
		f := defined(t, definition)
		if _, ok := f.(Spatial); ok {
			continue // TestExamplesInSpace has it
		}
		const functions, chains = 16, 64
		for i := range functions {
			if warning, err := f.(Interpolated).CheckInterpolation(1, i); warning != "" || err != nil {
				t.Errorf("between nodes: warning %q, error %v", warning, err)
			}
		}
		s := simulate.Scheme{DT: 0.01, BurnIn: 2000, Thin: 10, Chains: chains}
		dst := make([]float32, functions*chains*f.Dim())
		if err := Sample(context.Background(), f, dst, SampleSpec{0, functions, 1, s, "test", false}, simulate.Fastest(), nil); err != nil {
			t.Fatal(err)
		}
		outside := 0
		for _, x := range dst {
			if x < -4 || x > 4 {
				outside++
			}
		}
		if outside > len(dst)/1000 {
			t.Errorf("%s: %d of %d coordinates are outside the grid", f.Name(), outside, len(dst))
		}
	}
	if families < 2 {
		t.Errorf("%d families in the documentation", families)
	}
}
