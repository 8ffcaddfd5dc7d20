package request

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/model/sampling/certificate"
	"github.com/ergoflow/ergoflow/model/sampling/repair"
)

// A target is repaired by its formulas, by a table on the line, or by one in the plane. A law
// beyond the model's grid is good once repaired, and a doubt stays without holding auto up.
func TestRepair(t *testing.T) {
	for _, test := range []struct {
		experiment       string
		drift, diffusion []string // none: function 3
		want             certificate.Verdict
		words            string
	}{
		{"vn1d", []string{"-2*(x-1)"}, []string{"1"}, certificate.Good, ""},
		{"vn1d", []string{"-(x-4.9)"}, []string{"0.3"}, certificate.Good, ""},
		{"vn1d", []string{"-x + 0.01*x^3"}, []string{"0.5"}, certificate.Care, "no invariant law on the whole line"},
		{"rare1d", []string{"-x"}, []string{"0.5"}, certificate.Good, ""},
		{"cn2d", []string{"-x - y", "x - y"}, []string{"sqrt(2)"}, certificate.Good, ""},
		{"cn2d", nil, nil, certificate.Good, ""},
		{"particles64d", nil, nil, certificate.Good, ""},
	} {
		e := loadSet(t, test.experiment)
		f, err := e.Family()
		if err != nil {
			t.Fatal(err)
		}
		target, err := Request{Function: 3, Drift: test.drift, Diffusion: test.diffusion}.Resolve(t.Context(), e, f, nil)
		if err != nil {
			t.Fatal(err)
		}
		n := 4096
		if f.Dim() > 2 {
			n = 512
		}
		rng, x := rand.New(rand.NewPCG(1, 2)), make([]float32, n*f.Dim())
		for i := range x {
			x[i] = float32(0.3 + 2*rng.NormFloat64())
		}
		if v := target.Certify(x).Verdict; v != certificate.Refused {
			t.Errorf("%s %q: %s before the repair", test.experiment, test.drift, v)
		}
		r, c, err := target.Repair(t.Context(), x, repair.Options{Limit: 2 * time.Minute})
		if reasons := strings.Join(c.Reasons, "\n"); err != nil || !r.Settled || c.Verdict != test.want || !strings.Contains(reasons, test.words) || (reasons == "") != (test.words == "") {
			t.Errorf("%s %q: %+v, %s, %q, %v", test.experiment, test.drift, r, c.Verdict, c.Reasons, err)
		}
	}
	e := loadSet(t, "vn1d_time")
	f, err := e.Family()
	if err != nil {
		t.Fatal(err)
	}
	target, err := Request{Function: 3}.Resolve(t.Context(), e, f, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := target.Repair(t.Context(), make([]float32, 100), repair.Options{}); !errors.Is(err, ErrNotInvariant) {
		t.Errorf("a law at a time: %v", err)
	}
}
