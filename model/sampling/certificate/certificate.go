// Package certificate judges samples of an invariant law by the equation alone: no reference
// samples, no density of the network.
//
// An invariant law has E Lf = 0 for every f, with the generator Lf = b·∇f + ½ σσᵀ:∇²f. The
// generator test takes means of Lf over the samples. On the line the law is also known by
// quadrature, and the samples are compared with it; then the law decides. Every check has an effect, which says how
// wrong the samples are, and a z, which says how sure that is. A check fails if its effect is
// beyond a bound and beyond chance.
//
// The generator test is local: samples that are right in one well and lack another pass it,
// since no current flows between wells. The exact law shows that, and where it is not known short
// chains do, as far as they reach.
// docs/results/certificate.md has the power of the checks and their false alarms.
package certificate

import (
	"fmt"
	"math"
	"strings"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/model/sampling/wells"
)

// Verdict is what a user should do with samples.
type Verdict string

// Verdicts, the best first. NotJudged is that of samples about which nothing can be said: of
// too few, and of laws at a time, which are not invariant.
const (
	Good      Verdict = "good"
	Care      Verdict = "use with care"
	Refused   Verdict = "do not use"
	NotJudged Verdict = "not judged"
)

// Check is one comparison of the samples with their equation. All numbers are finite.
type Check struct {
	Name string `json:"name"`
	// Effect is the error of the samples without a unit; 0 is right.
	Effect float64 `json:"effect"`
	// Z is the effect in units of what chance gives: standard errors of a mean, √n times a
	// Kolmogorov–Smirnov distance, W2 over the root mean square W2 of as many exact draws. It
	// is 0 where there is no chance.
	Z float64 `json:"z"`
	// Bound is the effect that a check passes whatever its Z.
	Bound float64 `json:"bound"`
	Pass  bool    `json:"pass"`

	kind  kind
	about string // what is wrong if it fails
}

// Certificate is the verdict about samples and what it is founded on.
type Certificate struct {
	Verdict Verdict `json:"verdict"`
	// Checks are those that the equation allows, those of the exact law first.
	Checks []Check `json:"checks"`
	// Reasons say why the verdict is not good.
	Reasons []string `json:"reasons"`
	// Advice says what to do then.
	Advice string `json:"advice,omitempty"`
}

// Warnings are what a user must read: none if the samples are good.
func (c Certificate) Warnings() []string {
	if c.Verdict == Good || c.Verdict == NotJudged && len(c.Reasons) == 0 {
		return nil
	}
	text := fmt.Sprintf("%s: %s", c.Verdict, strings.Join(c.Reasons, "; "))
	if c.Advice != "" {
		text += "; " + c.Advice
	}
	return []string{text}
}

// Subject is what samples are judged by.
type Subject struct {
	// Equation is the one whose invariant law was asked for; nil if there is none, as of laws
	// at a time.
	Equation Equation
	// Law is its exact law; nil if it is not known.
	Law *Law
	// Grid is the model's, the same along all axes; the zero grid if it has none.
	Grid sde.Grid
	// Unlearned is the part of the law at whose nodes the equation has values that no function
	// of the training set has there; NaN if it is not known.
	Unlearned float64
	// Wells compares the samples with chains of the equation; nil: nothing does.
	Wells *wells.Search
	// Doubt says why the equation may have another law than the samples, whatever they are;
	// may be empty.
	Doubt string
}

// Equation is dX = b(X)dt + σ(X)dW as the generator test needs it: Line, Plane,
// Particles or Space.
type Equation interface {
	// Dim is the dimension of a state.
	Dim() int
	// test has the checks of samples [n, d], which are worth effective independent draws.
	test(x []float32, effective float64) []Check
}

const (
	// fewest are the samples below which nothing is judged: chance alone moves a mean by 0.2
	// deviations.
	fewest = 25
	// mostJudged bounds the samples that are looked at, at even distances.
	mostJudged = 1 << 17
	// mostOutside is the mass outside the model's grid, and that of values out of the training
	// set's range, without harm.
	mostOutside = 0.01
)

// Certify judges independent samples x [n, d].
func (s Subject) Certify(x []float32, d int) Certificate {
	return s.CertifyDependent(x, d, float64(len(x)/d))
}

// CertifyDependent judges samples that are worth effective independent draws, as those of
// chains are (diagnostics.Result.ESSBulk). NaN is not known: then they are not judged.
func (s Subject) CertifyDependent(x []float32, d int, effective float64) Certificate {
	all := len(x) / d
	if all == 0 || !(effective > 0) {
		return Certificate{Verdict: NotJudged, Checks: []Check{}, Reasons: []string{}}
	}
	if part := notFinite(x, d); part > 0 {
		return s.verdict([]Check{check(broken, "samples", part, 0, percent(part)+" of the samples are not finite")}, max(effective, fewest))
	}
	x = some(x, d)
	effective = min(effective, float64(len(x)/d)*effective/float64(all))
	var checks []Check
	if s.Law != nil {
		checks = append(checks, s.Law.test(x, effective)...)
	}
	if s.Equation != nil {
		tests := s.Equation.test(x, effective)
		for i, k := range tests {
			if s.Law != nil && k.kind == generator {
				tests[i] = k.as(beside)
			}
		}
		checks = append(checks, tests...)
	}
	if s.Wells != nil && effective >= fewest {
		checks = append(checks, chains(s.Wells, x, effective)...)
	}
	checks = append(checks, s.ranges(x, d)...)
	return s.verdict(checks, effective)
}

// notFinite is the part of samples that have a coordinate which is not.
func notFinite(x []float32, d int) float64 {
	count, last := 0, -1
	for i, v := range x {
		if v-v != 0 && i/d != last {
			count, last = count+1, i/d
		}
	}
	return float64(count*d) / float64(len(x))
}

// some are at most mostJudged of the samples.
func some(x []float32, d int) []float32 {
	n := len(x) / d
	if n <= mostJudged {
		return x
	}
	kept := make([]float32, 0, mostJudged*d)
	for i := range mostJudged {
		at := i * n / mostJudged * d
		kept = append(kept, x[at:at+d]...)
	}
	return kept
}

// ranges check what the model could not have learned.
func (s Subject) ranges(x []float32, d int) (checks []Check) {
	add := func(name, about string, part float64) {
		c := Check{Name: name, Effect: part, Bound: mostOutside, Pass: !(part > mostOutside), kind: outside}
		if !c.Pass {
			c.about = fmt.Sprintf(about, percent(part))
		}
		checks = append(checks, c)
	}
	if s.Grid.N > 0 {
		grid := fmt.Sprintf("the model's grid, %g…%g", s.Grid.Lo, s.Grid.Hi)
		if s.Law != nil {
			add("law outside the grid", "%s of the law is outside "+grid+", beyond which the model knows no formulas", s.Law.CDF(s.Grid.Lo)+1-s.Law.CDF(s.Grid.Hi))
		}
		count := 0
		for i := 0; i < len(x); i += d {
			for _, v := range x[i : i+d] {
				if !(float64(v) >= s.Grid.Lo && float64(v) <= s.Grid.Hi) {
					count++
					break
				}
			}
		}
		add("samples outside the grid", "%s of the samples are outside "+grid+", beyond which the model knows no formulas", float64(count)/float64(len(x)/d))
	}
	if !math.IsNaN(s.Unlearned) && s.Equation != nil {
		add("equation out of the training set's range", "%s of the law is where the equation has values that the training set has not", s.Unlearned)
	}
	return checks
}

// percent writes a part of one.
func percent(part float64) string {
	if part < 0.1 {
		return fmt.Sprintf("%.2g %%", 100*part)
	}
	return fmt.Sprintf("%.0f %%", 100*part)
}
