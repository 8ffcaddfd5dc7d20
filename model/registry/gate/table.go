package gate

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Table has the values of one way to sample the held-out functions.
type Table struct {
	Row       string // what the values are of: "model", "untrained model"
	Functions []int  // numbers within the experiment, each once
	// Equations has the equation of every function, where an equation has several functions
	// (at several physical times); else nil. Functions of one equation are not independent,
	// so they are resampled together.
	Equations []int
	Metrics   []Metric // the first one is that of the checks
}

// Metric has a number of every function; smaller is better.
type Metric struct {
	Name   string
	Values []float64
	// Absolute metrics are judged by differences, such as that of two fractions. Others are
	// judged by differences relative to the mean absolute value of the champion.
	Absolute bool
}

// metric finds a metric by its name.
func (t Table) metric(name string) (Metric, bool) {
	i := slices.IndexFunc(t.Metrics, func(m Metric) bool { return m.Name == name })
	if i < 0 {
		return Metric{}, false
	}
	return t.Metrics[i], true
}

func (t Table) names() []string {
	names := []string{}
	for _, m := range t.Metrics {
		names = append(names, m.Name)
	}
	return names
}

// maxFunctions bounds the memory of the subsets.
const maxFunctions = 1 << 14

// validate checks the shape of the table, and that its values are finite.
func (t Table) validate() error {
	switch n := len(t.Functions); {
	case n == 0:
		return errors.New("has no functions")
	case n > maxFunctions:
		return fmt.Errorf("has %d functions, more than %d", n, maxFunctions)
	case len(t.Metrics) == 0:
		return errors.New("has no metrics")
	case t.Equations != nil && len(t.Equations) != n:
		return fmt.Errorf("has %d functions and the equations of %d", n, len(t.Equations))
	}
	seen := map[int]bool{}
	for _, f := range t.Functions {
		if seen[f] {
			return fmt.Errorf("has function %d twice", f)
		}
		seen[f] = true
	}
	names := map[string]bool{}
	for _, m := range t.Metrics {
		if names[m.Name] {
			return fmt.Errorf("has %s twice", m.Name)
		}
		names[m.Name] = true
		if len(m.Values) != len(t.Functions) {
			return fmt.Errorf("has %d functions and %d values of %s", len(t.Functions), len(m.Values), m.Name)
		}
	}
	return t.finite()
}

// largest is far beyond any distance; sums of such values are finite.
const largest = 1e100

// finite names the metric and the function of the first value that is not finite, or too large
// to be a distance, and how many there are.
func (t Table) finite() error {
	count := 0
	var first error
	for _, m := range t.Metrics {
		for i, v := range m.Values {
			if math.Abs(v) <= largest {
				continue
			}
			if count++; first == nil {
				first = fmt.Errorf("has %s %v for function %d", m.Name, v, t.Functions[i])
			}
		}
	}
	if count > 1 {
		return fmt.Errorf("%w, and %d more values that are not finite or too large", first, count-1)
	}
	return first
}

// pairing says which values of two tables belong together, and to which unit.
type pairing struct {
	mine, theirs []int // positions in either table, by the number of the function
	unitOf       []int
	units        int
}

// pair pairs t with another table of the same functions. Units are in the order of the
// numbers of equations, so nothing depends on the order of either table.
func (t Table) pair(other Table) (pairing, error) {
	p := pairing{mine: byNumber(t.Functions), theirs: byNumber(other.Functions)}
	lacking := func(a, b Table) (first, count int) {
		has := map[int]bool{}
		for _, f := range b.Functions {
			has[f] = true
		}
		for _, i := range byNumber(a.Functions) {
			if f := a.Functions[i]; !has[f] {
				if count++; count == 1 {
					first = f
				}
			}
		}
		return first, count
	}
	for _, side := range [][2]Table{{t, other}, {other, t}} {
		if first, count := lacking(side[0], side[1]); count > 0 {
			return p, fmt.Errorf("were not judged on the same functions: %d of the %s, the first of them number %d, are not among those of the %s", count, side[0].Row, first, side[1].Row)
		}
	}
	equation := func(i int) int { return t.Functions[i] }
	if t.Equations != nil {
		equation = func(i int) int { return t.Equations[i] }
	}
	slices.SortStableFunc(p.mine, func(a, b int) int { return cmp.Compare(equation(a), equation(b)) })
	position := map[int]int{}
	for k, f := range other.Functions {
		position[f] = k
	}
	for k, i := range p.mine {
		p.theirs[k] = position[t.Functions[i]]
		if k == 0 || equation(i) != equation(p.mine[k-1]) {
			p.units++
		}
		p.unitOf = append(p.unitOf, p.units-1)
	}
	return p, nil
}

// Paired has the values of a metric of every function of t, and beside them those of another
// table with the same functions.
func (t Table) Paired(other Table, metric string) (mine, theirs []float64, err error) {
	a, ok := t.metric(metric)
	b, has := other.metric(metric)
	if !ok || !has {
		return nil, nil, fmt.Errorf("one of the tables has no %s", metric)
	}
	p, err := t.pair(other)
	if err != nil {
		return nil, nil, err
	}
	theirs = make([]float64, len(t.Functions))
	for j, i := range p.mine {
		theirs[i] = b.Values[p.theirs[j]]
	}
	return slices.Clone(a.Values), theirs, nil
}

// byNumber are the positions of functions in the order of their numbers.
func byNumber(functions []int) []int {
	order := make([]int, len(functions))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(functions[a], functions[b]) })
	return order
}

// sum adds value(i, k) of every function, which has the positions i and k in the two tables,
// to its unit.
func (p pairing) sum(value func(mine, theirs int) float64) []float64 {
	sums := make([]float64, p.units)
	for j, i := range p.mine {
		sums[p.unitOf[j]] += value(i, p.theirs[j])
	}
	return sums
}
