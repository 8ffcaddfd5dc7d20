package certificate

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ergoflow/ergoflow/data/equations/fokkerplanck"
	"github.com/ergoflow/ergoflow/model/sampling/wells"
)

// chains compares samples with short chains of the equation:
//
//	name       effect                                                   Z
//	wells      the part of the chains that are where no samples are     0
//	crossings  mass of the law by the rates of crossing a value, minus  that of upward minus downward
//	           the samples'
//	masses     the part of the law in a well, by the potential, minus   in standard errors
//	           that of the samples
//	law        the part of the law in a quadrant of the plane, by the   √n times it
//	           Fokker–Planck equation, minus that of the samples, less
//	           its error
func chains(w *wells.Search, x []float32, effective float64) []Check {
	seen, err := w.Look(context.Background(), x)
	if err != nil {
		return []Check{check(missing, "wells", 1, 0, fmt.Sprintf("chains of the equation diverge, so that nothing compares the samples with them: %v", err))}
	}
	lacking := check(missing, "wells", seen.Missing, 0, fmt.Sprintf("%s of the chains that begin all over the box stay where there are no samples, near %s: the samples may lack a well", percent(seen.Missing), point(seen.At)))
	if seen.Entered > seen.Missing {
		lacking = check(missing, "wells", seen.Entered, 0, fmt.Sprintf("%s of the chains from the samples go where there are none, near %s", percent(seen.Entered), point(seen.At)))
	}
	c := seen.Crossings
	checks := []Check{lacking, check(crossed, "crossings", c.Effect(), c.Z(), fmt.Sprintf(
		"chains from the samples cross %s = %.3g upward %d times and downward %d times, where an invariant law has as many of both: by these rates %s of the law is above, and %s of the samples",
		c.Along, c.At, c.Up, c.Down, percent(c.Law), percent(c.Have)))}
	if l := seen.Law; l != nil {
		effect := math.Copysign(max(l.Gap()-l.Error, 0), l.Law-l.Have)
		checks = append(checks, check(quadrant, "law", effect, math.Sqrt(effective)*effect, fmt.Sprintf(
			"by the Fokker–Planck equation %s of the law has %s, and %s of the samples", percent(l.Law), where(l.Difference), percent(l.Have))))
	}
	if len(seen.Wells) == 0 {
		return checks
	}
	worst := slices.MaxFunc(seen.Wells, func(a, b wells.Well) int { return cmp.Compare(math.Abs(a.Law-a.Have), math.Abs(b.Law-b.Have)) })
	return append(checks, check(massed, "masses", worst.Law-worst.Have, (worst.Law-worst.Have)/worst.Error, fmt.Sprintf(
		"by the potential the well at %s has %s of the law, and %s of the samples", point(worst.At), percent(worst.Law), percent(worst.Have))))
}

// where writes a quadrant.
func where(d fokkerplanck.Difference) string {
	var sides []string
	for c, at := range d.At {
		if math.IsInf(at, 1) {
			continue
		}
		sides = append(sides, fmt.Sprintf("x[%d] %s %.3g", c, map[bool]string{false: "<", true: ">"}[d.Above[c]], at))
	}
	return strings.Join(sides, " and ")
}

// point writes a state, of many coordinates the first ones. Those that are small beside others are 0.
func point(x []float32) string {
	const most, small = 4, 1e-3
	var parts []string
	largest := 0.
	for _, v := range x {
		largest = max(largest, math.Abs(float64(v)))
	}
	for _, v := range x[:min(len(x), most)] {
		if math.Abs(float64(v)) < small*largest {
			v = 0
		}
		parts = append(parts, strconv.FormatFloat(float64(v), 'g', 3, 32))
	}
	if len(x) > most {
		parts = append(parts, "…")
	}
	return "(" + strings.Join(parts, ", ") + ")"
}
