package request

import (
	"context"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/density"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// betweenNodes warns of values of the formulas, on the finer grid, that are far from
// the lines between the model's nodes.
func betweenNodes(table, fine sde.System) []string {
	var warnings []string
	for _, m := range family.Deviations(table, fine) {
		warnings = append(warnings, m.String()+": the model reads the values at nodes only")
	}
	return warnings
}

const (
	// widened is how far beyond the values that were seen at a node a value may be, in
	// parts of their range. The values seen are those of a sample of functions.
	widened = 0.2
	// unnoticed is a difference that no network notices, in parts of the largest value of a
	// table: formulas for sqrt(2) and their rounding.
	unnoticed = 1e-3
	// tailMass is the mass in each tail of the law where values may be farther off, by
	// tailDeviations of the whole table in training.
	tailMass       = 1e-3
	tailDeviations = 2
)

// outOfRange warns of an equation with values that no function of the training set has at
// the same node, in what the network reads. On the line it is strict where the equation's
// law has its mass, and lenient in the tails; law is nil where it is not known. unlearned is the
// part of the law at those values; NaN where it is not known.
func (m *Reader) outOfRange(ctx context.Context, asked family.Function, law *density.Density) (warnings []string, unlearned float64, err error) {
	grid, _ := gridAndNodes(m.family)
	r, trained, err := m.trainingSet(ctx)
	if err != nil {
		return nil, 0, err
	}
	values, err := r.of(ctx, asked)
	if err != nil {
		return nil, 0, err
	}
	warnings, unlearned = r.compare(trained, values, grid, massAt(law, grid))
	return warnings, unlearned, nil
}

// Unlearned is the part of the law of a function on the line at whose nodes it has values that no
// function of the training set has there; NaN if its law is not known.
func (m *Reader) Unlearned(ctx context.Context, f family.Function) (float64, error) {
	var law *density.Density
	if c, ok := f.System.(sde.Coefficients); ok {
		law, _ = density.New(c)
	}
	_, unlearned, err := m.outOfRange(ctx, f, law)
	return unlearned, err
}

// compare compares the tables of an equation with what was seen. mass has that of the law at
// every node, or nil.
func (r reading) compare(trained []seen, values [][]float32, grid sde.Grid, mass []float64) (warnings []string, unlearned float64) {
	anywhere := map[int]bool{}
	for k, t := range r.tables {
		for c := range t.components {
			w, far := t.compare(trained[k], values[k], c, grid, mass)
			if w != "" {
				warnings = append(warnings, w)
			}
			for _, node := range far {
				anywhere[node] = true
			}
		}
	}
	if mass == nil {
		return warnings, math.NaN()
	}
	for node := range anywhere {
		unlearned += mass[node]
	}
	return warnings, unlearned
}

// massAt is the mass of a law around every node, up to the middles between nodes; nil where the law
// is not known.
func massAt(law *density.Density, grid sde.Grid) []float64 {
	if law == nil {
		return nil
	}
	mass, below := make([]float64, grid.N), 0.0
	for node := range mass {
		upTo := 1.0
		if node < grid.N-1 {
			upTo = law.CDF(grid.At(node) + grid.Step()/2)
		}
		mass[node], below = upTo-below, upTo
	}
	return mass
}

// tails are the first and the last node that are not in a tail of the law: all nodes where it
// is not known.
func tails(mass []float64, nodes int) (first, last int) {
	first, last = 0, nodes-1
	for below := 0.0; mass != nil && first < last; first++ {
		if below += mass[first]; below > tailMass {
			break
		}
	}
	for above := 0.0; mass != nil && last > first; last-- {
		if above += mass[last]; above > tailMass {
			break
		}
	}
	return max(first-1, 0), min(last+1, nodes-1)
}

// compare compares component c of a table with what was seen. The warning, if not empty,
// names the worst node, of those with mass if there are any; far has all that are out of range.
func (t table) compare(s seen, values []float32, c int, grid sde.Grid, mass []float64) (warning string, far []int) {
	worst, at, share := 0.0, 0, 0.0
	nodes := len(values) / t.components
	first, last := tails(mass, nodes)
	inside := false // whether the worst has mass
	for node := range nodes {
		i := node*t.components + c
		slack, tail := unnoticed*s.largest, node < first || node > last
		if tail {
			slack += tailDeviations * s.spread[c]
		}
		if d := s.beyond(i, float64(values[i]), slack); d > 0 {
			far = append(far, node)
			if mass != nil {
				share += mass[node]
			}
			if !tail && !inside || tail != inside && d > worst {
				worst, at, inside = d, node, !tail
			}
		}
	}
	if len(far) == 0 {
		return "", nil
	}
	where := fmt.Sprintf("x = %.4g", grid.At(at%grid.N))
	if nodes > grid.N {
		where = fmt.Sprintf("(%.4g, %.4g)", grid.At(at%grid.N), grid.At(at/grid.N))
	}
	i := at*t.components + c
	have := fmt.Sprintf("have %.4g to %.4g", s.least[i], s.most[i])
	if least, most := s.least[i], s.most[i]; fmt.Sprintf("%.4g", least) == fmt.Sprintf("%.4g", most) {
		have = fmt.Sprintf("all have %.4g", least)
	}
	warning = fmt.Sprintf("%s is %.4g at %s, where %d functions of the training set %s: out of the training set's range at %d of %d nodes",
		t.component(c), values[i], where, s.functions, have, len(far), nodes)
	if mass != nil {
		text := percent(share)
		if share < 1e-4 {
			text = "less than 0.01 %"
		}
		warning += fmt.Sprintf(" with %s of the law", text)
	}
	return warning + ", so the samples may be wrong", far
}

// component names component c.
func (t table) component(c int) string {
	name := "the " + t.name
	if t.name != "drift" && t.name != "diffusion" {
		name = "the network's input " + t.name
	}
	switch t.components {
	case 2:
		name += " along " + string("xy"[c])
	case 4:
		name += fmt.Sprintf(" in row %d, column %d", c/2+1, c%2+1)
	}
	return name
}

// beyond is how far value i of a table is out of the range seen, in parts of this range; at
// most 0 if it is not.
func (s seen) beyond(i int, v, slack float64) float64 {
	least, most := float64(s.least[i]), float64(s.most[i])
	width := most - least
	low, high := least-widened*width-slack, most+widened*width+slack
	if s.positive {
		// Zero may be near the least value of a positive coefficient, but not for the law:
		// compare ratios.
		low = max(low, least*math.Pow(least/most, widened)*(1-unnoticed))
	}
	return max(low-v, v-high) / (width + unnoticed*s.largest)
}

// rotating is Σ b·n over Σ |b·n| along a side of the grid that a rotation may have.
const rotating = 0.5

// outward warns of a drift in the plane that points outward along a side of the grid: Σ b·n
// > 0 over its nodes. Single nodes may have b·n > 0 without harm, as where a rotation crosses
// the boundary.
func outward(p sde.Plane) (warnings []string) {
	for k, side := range []string{"x = %.4g", "x = %.4g", "y = %.4g", "y = %.4g"} {
		axis, end, sign := k/2, k%2, float64(2*(k%2)-1)
		grid, along := p.X, p.Y.N
		if axis == 1 {
			grid, along = p.Y, p.X.N
		}
		var sum, size float64
		for i := range along {
			at := [2]int{i, i}
			at[axis] = end * (grid.N - 1)
			flux := sign * float64(p.Drift[2*(at[1]*p.X.N+at[0])+axis])
			sum, size = sum+flux, size+math.Abs(flux)
		}
		if sum > rotating*size {
			warnings = append(warnings, fmt.Sprintf("along the side "+side+" of the model's grid the drift points outward, on average by %.3g: there may be no invariant law", grid.At(end*(grid.N-1)), sum/float64(along)))
		}
	}
	return warnings
}
