package certificate

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/ergoflow/ergoflow/model/sampling/wells"
)

// chains compares samples with short chains of the equation:
//
//	name   effect                                                      Z
//	wells  the part of the chains that are where no samples are        0
//	flow   mass of the law by the rates of crossing a value, minus     that of the crossings in both
//	       the samples'                                                directions
func chains(w *wells.Search, x []float32) []Check {
	seen, err := w.Look(context.Background(), x)
	if err != nil {
		return []Check{check(missing, "wells", 1, 0, fmt.Sprintf("chains of the equation diverge, so that nothing compares the samples with them: %v", err))}
	}
	lacking := check(missing, "wells", seen.Missing, 0, fmt.Sprintf("%s of the chains that begin all over the box stay where there are no samples, near %s: the samples may lack a well", percent(seen.Missing), point(seen.At)))
	if seen.Entered > seen.Missing {
		lacking = check(missing, "wells", seen.Entered, 0, fmt.Sprintf("%s of the chains from the samples go where there are none, near %s", percent(seen.Entered), point(seen.At)))
	}
	f := seen.Flow
	return []Check{lacking, check(flow, "flow", f.Effect(), f.Z(), fmt.Sprintf(
		"chains from the samples cross %s = %.3g upward %d times and downward %d times, where an invariant law has as many of both: by these rates %s of the law is above, and %s of the samples",
		f.Along, f.At, f.Up, f.Down, percent(f.Law), percent(f.Have)))}
}

// point writes a state, of many coordinates the first ones.
func point(x []float32) string {
	const most = 4
	var parts []string
	for _, v := range x[:min(len(x), most)] {
		if math.Abs(float64(v)) < 1e-6 {
			v = 0
		}
		parts = append(parts, strconv.FormatFloat(float64(v), 'g', 3, 32))
	}
	if len(x) > most {
		parts = append(parts, "…")
	}
	return "(" + strings.Join(parts, ", ") + ")"
}
