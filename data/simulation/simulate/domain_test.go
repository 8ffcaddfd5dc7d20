package simulate

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

func TestParseDomain(t *testing.T) {
	for text, want := range map[string]sde.Range{
		"(0, inf)": {Ends: sde.Open, Lo: 0, Hi: math.Inf(1)}, " ( -inf,inf ) ": sde.WholeLine, "(-1.5, +Inf)": {Ends: sde.Open, Lo: -1.5, Hi: math.Inf(1)}, "(2, 3e5)": {Ends: sde.Open, Lo: 2, Hi: 3e5},
	} {
		d, err := ParseDomain(text)
		if err != nil || d != want {
			t.Errorf("%q: %v, %v", text, d, err)
		}
		if again, err := ParseDomain(d.String()); err != nil || again != d {
			t.Errorf("%q is written as %q: %v", text, d, err)
		}
	}
	for _, text := range []string{"", "0, inf", "[0, inf)", "(0, 1", "(0)", "(1, 1)", "(1, 0)", "(nan, 1)", "(0, 1e7)", "(a, b)", "(0, 1, 2)"} {
		if d, err := ParseDomain(text); err == nil {
			t.Errorf("%q was read as %v", text, d)
		}
	}
}

// A chain that leaves the domain is named at the step where it does, even if it would be back
// before the next sample; one that starts outside is refused.
func TestChainsLeaveTheirDomain(t *testing.T) {
	back := vectorised(func(x float64) float64 { // from 0.05 beyond 0, and back at once
		if x < 0 {
			return 1000
		}
		return -x
	}, func(float64) float64 { return 1 })
	domain := sde.Range{Ends: sde.Open, Lo: 0, Hi: math.Inf(1)}
	s := Scheme{DT: 0.01, BurnIn: 1000, Thin: 1, Chains: 70, Start: "uniform(0.5, 1.5)"}
	for _, e := range engines {
		x := make([]float64, s.Chains)
		err := e.EulerMaruyamaFunc(context.Background(), x, back, domain, s, 1, 0, "test", nil)
		var left *DivergedError
		if !errors.Is(err, ErrLeftDomain) || errors.Is(err, ErrDiverged) || !errors.As(err, &left) || !(left.From > 0 && left.To <= 0) || !strings.Contains(err.Error(), "left the domain (0, inf)") {
			t.Errorf("%v: %v", e, err)
		}
		if err := e.EulerMaruyamaFunc(context.Background(), x, back, sde.WholeLine, s, 1, 0, "test", nil); err != nil {
			t.Errorf("%v without a domain: %v", e, err)
		}
	}
	s.Start = "normal(1, 1)"
	if err := plain.EulerMaruyamaFunc(context.Background(), make([]float64, s.Chains), back, domain, s, 1, 0, "test", nil); err == nil || !strings.Contains(err.Error(), "from -6 to 8, out of the domain (0, inf)") {
		t.Errorf("a start outside: %v", err)
	}
}
