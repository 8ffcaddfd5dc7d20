package family

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// The surface of the example with a = b = 1 is the published one: its drift is 0 at the minima and
// saddles that Müller and Brown print (Theoretica Chimica Acta 53, 1979).
func TestMullerBrownIsPublished(t *testing.T) {
	text, err := os.ReadFile("../../../docs/families/muller_brown.yaml")
	if err != nil {
		t.Fatal(err)
	}
	ones := strings.NewReplacer("a: uniform(0.8, 1.2)", "a: uniform(1, 1.000001)", "b: uniform(0.8, 1.2)", "b: uniform(1, 1.000001)").Replace(string(text))
	if ones == string(text) {
		t.Fatal("the example has other parameters")
	}
	function, err := defined(t, ones).Function(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	drift, _ := function.System.(sde.Space).Coefficients([]float64{-0.558, 1.442, 0.623, 0.028, -0.050, 0.467, -0.822, 0.624, 0.212, 0.293})
	for i, b := range drift {
		if math.Abs(b) > 0.01 { // the coordinates are printed with three digits
			t.Errorf("coordinate %d of the drift at stationary point %d is %.4f", i%2, i/2, b)
		}
	}
}
