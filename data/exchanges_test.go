package data

import (
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// The pilot run warns of temperatures that are too far apart, in the dimension where they are.
func TestPilotRunOfTempering(t *testing.T) {
	for name, c := range map[string]struct {
		tempering simulate.Tempering
		warning   string
	}{
		"near": {simulate.Tempering{Temperatures: 8, Hottest: 8, Every: 10}, ""},
		"far":  {simulate.Tempering{Temperatures: 2, Hottest: 100, Every: 10}, "% of the exchanges between the temperatures 1 and 100"},
		"none": {simulate.Tempering{}, ""},
	} {
		d := tiny()
		d.Family = `{"name":"a","dim":8,"box":[-3,3],"drift":"-x","diffusion":"1"}`
		f, err := family.ByName(d.Family)
		if err != nil {
			t.Fatal(err)
		}
		d.Reference = simulate.Scheme{DT: 0.05, BurnIn: 200, Thin: 10, Chains: 64, Start: d.DefaultStart(f), Tempering: c.tempering}
		warning, err := d.exchangesWarning(t.Context(), f, simulatedPart{[]string{"data.reference"}, d.Reference, 64}, d.Reference.BurnIn)
		if err != nil || !strings.Contains(warning, c.warning) || c.warning == "" && warning != "" {
			t.Errorf("%s: %q, %v", name, warning, err)
		}
	}
}
