package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/ergoflow/ergoflow/data/equations/exact"
	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/fokkerplanck"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/internal/arrayfile"
	"github.com/ergoflow/ergoflow/model/sampling/certificate"
)

// planarLaw is the document of `exact --json` in the plane.
type planarLaw struct {
	Drift      []string              `json:"drift"`
	Diffusion  []string              `json:"diffusion"`
	Parameters expression.Parameters `json:"parameters,omitempty"`
	Mean       [2]float64            `json:"mean"`
	Covariance [2][2]float64         `json:"covariance"`
	Quantiles  map[string][2]float64 `json:"quantiles"`
	Accuracy   float64               `json:"accuracy"`
	*lawDraws
	Density string `json:"density,omitempty"`
}

// inPlane reads the equation of two drifts.
func (f *exactFlags) inPlane() (s sde.Space, out planarLaw, err error) {
	if out.Parameters, err = readParameters(f.parameters); err != nil {
		return s, out, err
	}
	if f.domain != wholeLine {
		return s, out, withHint(usagef("--domain is for equations on the line"), "in the plane --box says where the law is")
	}
	var compiled [2][]*expression.Expression
	for k, part := range []struct {
		flag     string
		formulas []string
		to       *[]string
	}{{"drift", f.drift, &out.Drift}, {"diffusion", f.diffusion, &out.Diffusion}} {
		for _, formula := range part.formulas {
			e, err := out.Parameters.Compile(formula, "x", "y")
			if err != nil {
				return s, out, usage(withKnownNames(fmt.Errorf("--%s: %w", part.flag, err)))
			}
			compiled[k], *part.to = append(compiled[k], e), append(*part.to, e.String())
		}
	}
	if n := len(f.diffusion); n != 1 && n != 2 && n != 4 {
		return s, out, withHint(usagef("--diffusion is given %d times", n), "give it once for σ·I, twice for a diagonal, or four times for a matrix, row after row")
	}
	var sides [2]sde.Interval
	box := f.box
	switch {
	case len(box) == 0:
		box = []string{"(-4, 4)"}
	case len(box) > len(sides):
		return s, out, usagef("--box is given %d times, but there are two coordinates", len(box))
	}
	for c := range sides {
		r, err := simulate.ParseDomain(box[min(c, len(box)-1)])
		if err == nil && math.IsInf(r.Width(), 0) {
			err = errors.New("its ends must be numbers")
		}
		if err != nil {
			return s, out, usage(fmt.Errorf("--box: %w", err))
		}
		sides[c] = sde.Interval{Lo: r.Lo, Hi: r.Hi}
	}
	return sde.InPlane(certificate.OfFormulas(compiled[0], compiled[1]).At, sides[0], sides[1]), out, nil
}

// runInPlane finds the law and writes the files.
func (f *exactFlags) runInPlane(ctx context.Context) (out planarLaw, err error) {
	s, out, err := f.inPlane()
	if err != nil {
		return out, err
	}
	law, err := fokkerplanck.Solve(s, nil)
	if err != nil {
		return out, withHint(err, "if there is an invariant law, say where it is: --box \"(LO, HI)\" for both coordinates, or one for each")
	}
	out.Mean, out.Covariance = law.Moments()
	out.Quantiles = make(map[string][2]float64)
	for _, p := range exact.Probabilities {
		out.Quantiles[exact.Key(p)] = [2]float64{law.Quantile(0, p), law.Quantile(1, p)}
	}
	out.Accuracy, out.Density = law.Error, f.density
	if f.density != "" {
		var x, y, density []float64
		for _, c := range law.Cells() {
			x, y, density = append(x, c.X), append(y, c.Y), append(density, c.Density)
		}
		if err := arrayfile.WriteColumns(ctx, f.density, []string{"x", "y", "density"}, x, y, density); err != nil {
			return out, err
		}
	}
	out.lawDraws, err = f.draw(ctx, func(rng *rand.Rand) arrayfile.Samples {
		x := make([]float32, 2*f.n)
		law.Sample(x, rng)
		return arrayfile.Points32(x, 2)
	})
	return out, err
}

// String is what exact prints in the plane.
func (l planarLaw) String() string {
	var b strings.Builder
	deviations := [2]float64{math.Sqrt(l.Covariance[0][0]), math.Sqrt(l.Covariance[1][1])}
	number := func(v, scale float64) string {
		if math.Abs(v) < l.Accuracy*scale { // zero but for the error
			return "0"
		}
		return fmt.Sprintf("%.*g", 4+max(0, int(math.Log10(math.Abs(v)/scale))), v)
	}
	fmt.Fprintf(&b, "mean (%s, %s), deviations %.4g and %.4g, correlation %s\n", number(l.Mean[0], deviations[0]), number(l.Mean[1], deviations[1]),
		deviations[0], deviations[1], number(l.Covariance[0][1]/(deviations[0]*deviations[1]), 1))
	for c, name := range []string{"x", "y"} {
		fmt.Fprintf(&b, "quantiles of %s%s\n", name, quantiles(func(key string) string { return number(l.Quantiles[key][c], deviations[c]) }))
	}
	fmt.Fprintf(&b, "accuracy %.1g, of the mass of any part, from cells of two sizes", l.Accuracy)
	b.WriteString(l.lawDraws.files(l.Density, ""))
	return b.String()
}
