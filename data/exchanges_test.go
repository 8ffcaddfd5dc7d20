package data

import (
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// The pilot run warns of temperatures that are too far apart, in the dimension where they are.
func TestPilotRunOfTempering(t *testing.T) {
	near, far := simulate.Tempering{Temperatures: 8, Hottest: 8, Every: 10}, simulate.Tempering{Temperatures: 2, Hottest: 100, Every: 10}
	rare := far
	rare.Every = 1000 // more steps than there are
	box := `{"name":"a","dim":8,"box":[-3,3],"drift":"-x","diffusion":"1"}`
	for _, c := range []struct {
		family    string
		tempering simulate.Tempering
		warning   string
	}{
		{box, near, ""},
		{box, far, "% of the exchanges between the temperatures 1 and 100"},
		{box, rare, ""},
		{box, simulate.Tempering{}, ""},
		{"particles64d", simulate.Tempering{Temperatures: 16, Hottest: 3, Every: 10}, ""},
		{"particles64d", far, "% of the exchanges between the temperatures 1 and 100"},
	} {
		d := tiny()
		d.Family = c.family
		f, err := family.ByName(d.Family)
		if err != nil {
			t.Fatal(err)
		}
		d.Reference = simulate.Scheme{DT: 0.05, BurnIn: 200, Thin: 10, Chains: 64, Start: d.DefaultStart(f), Tempering: c.tempering}
		if c.family != box { // whose energies fall for a while
			d.Reference.BurnIn = 2000
			d.Reference.Integrator, d.Reference.DT, d.Reference.Start = simulate.MALA, 0.0005, "1.5"
		}
		warning, err := d.exchangesWarning(t.Context(), f, simulatedPart{[]string{"data.reference"}, d.Reference, 64}, d.Reference.BurnIn)
		if err != nil || !strings.Contains(warning, c.warning) || c.warning == "" && warning != "" {
			t.Errorf("%s, %v: %q, %v", c.family, c.tempering, warning, err)
		}
	}
}
