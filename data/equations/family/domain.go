package family

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"

	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// Ranges are those of a domain as text, one for all coordinates or one for each:
//
//	line                             no ends
//	(0, inf)                         an interval that the equation does not leave by itself
//	reflect [0, inf)                 reflecting ends
//	circle [0, 2*pi)                 a circle, of which the ends are one point
//
// Ends are constant formulas, or inf.
type Ranges []string

// UnmarshalYAML reads one range or a list of them.
func (r *Ranges) UnmarshalYAML(decode func(any) error) error {
	var all Formulas
	if err := all.UnmarshalYAML(decode); err != nil {
		return errors.New(`want a range such as (0, inf), "reflect [0, inf)", "circle [0, 2*pi)" or line, or a list of them, each quoted`)
	}
	*r = Ranges(all)
	return nil
}

// MarshalJSON writes one range without a list.
func (r Ranges) MarshalJSON() ([]byte, error) {
	if len(r) == 1 {
		return json.Marshal(r[0])
	}
	return json.Marshal([]string(r))
}

const rangeForms = `line, (LO, HI), "reflect [LO, HI]" or "circle [LO, HI)"`

var rangeForm = regexp.MustCompile(`^\s*(?:(line)|(reflect|circle)?\s*([(\[])\s*([^,()\[\]]+?)\s*,\s*([^,()\[\]]+?)\s*([)\]]))\s*$`)

// parseRange reads a range.
func parseRange(text string) (r sde.Range, err error) {
	parts := rangeForm.FindStringSubmatch(text)
	if parts == nil {
		return r, fmt.Errorf("%.60q is no range: must be %s", text, rangeForms)
	}
	if parts[1] != "" {
		return sde.WholeLine, nil
	}
	word, opening, closing := parts[2], parts[3], parts[6]
	if r.Lo, err = parseEnd(parts[4]); err == nil {
		r.Hi, err = parseEnd(parts[5])
	}
	if err != nil {
		return r, fmt.Errorf("%.60q: %w", text, err)
	}
	r.Ends = map[string]sde.Ends{"": sde.Open, "reflect": sde.Reflecting, "circle": sde.Joined}[word]
	if !(r.Lo < r.Hi) {
		return r, fmt.Errorf("%.60q: the first end must be below the second", text)
	}
	infinite := func(x float64) bool { return math.IsInf(x, 0) }
	wantOpening, wantClosing := "(", ")"
	if r.Ends != sde.Open && !infinite(r.Lo) {
		wantOpening = "["
	}
	if r.Ends == sde.Reflecting && !infinite(r.Hi) {
		wantClosing = "]"
	}
	switch {
	case r.Ends == sde.Joined && (infinite(r.Lo) || infinite(r.Hi)):
		return r, fmt.Errorf("%.60q: a circle needs finite ends", text)
	case opening != wantOpening || closing != wantClosing:
		return r, fmt.Errorf("%.60q: write it %q: [ and ] are of ends that belong to the range", text, r)
	case infinite(r.Lo) && infinite(r.Hi):
		return sde.WholeLine, nil
	}
	return r, nil
}

// parseEnd reads inf, -inf or a constant formula within ±simulate.Reach.
func parseEnd(text string) (float64, error) {
	switch text {
	case "inf", "+inf":
		return math.Inf(1), nil
	case "-inf":
		return math.Inf(-1), nil
	}
	e, err := expression.CompileIn(text)
	if err != nil {
		return 0, fmt.Errorf("%.40q is not inf, -inf or a number", text)
	}
	var value [1]float64
	e.EvalIn(value[:])
	if v := value[0]; math.Abs(v) <= simulate.Reach {
		return v, nil
	}
	return 0, fmt.Errorf("%.40q is %v: must be within ±%g or infinite, since states count as diverged at ±%g", text, value[0], simulate.Reach, simulate.Bound)
}

// domain is that of dim coordinates; nil where none has ends.
func (r Ranges) domain(dim int) (sde.Domain, error) {
	if len(r) == 0 {
		return nil, nil
	}
	if len(r) != 1 && len(r) != dim {
		return nil, fmt.Errorf("domain has %d ranges in %d dimensions: must be one, or one for each", len(r), dim)
	}
	d := make(sde.Domain, dim)
	for k := range d {
		var err error
		if d[k], err = parseRange(r[min(k, len(r)-1)]); err != nil {
			return nil, fmt.Errorf("domain: %w", err)
		}
	}
	if !d.Restricts() {
		return nil, nil
	}
	return d, nil
}

// openInterval is the domain of a definition with a grid. It reports one that it cannot read, or that
// does not contain the grid.
func (d Definition) openInterval() (sde.Range, error) {
	if len(d.Domain) == 0 {
		return sde.WholeLine, nil
	}
	if d.Dim != 1 || len(d.Domain) != 1 {
		return sde.Range{}, errors.New("domain: with a grid, only a family in one dimension has one; with a box instead, such as box: [-4, 4], any has")
	}
	if r, err := parseRange(d.Domain[0]); err == nil && r.Ends > sde.Open {
		return sde.Range{}, fmt.Errorf("domain is %v: reflecting ends and circles need a family with a box, such as box: [%g, %g], instead of a grid", r, d.Grid.Lo, d.Grid.Hi)
	}
	domain, err := simulate.ParseDomain(d.Domain[0])
	if err != nil {
		return sde.Range{}, fmt.Errorf("domain: %w", err)
	}
	if d.Grid.Lo < domain.Lo || d.Grid.Hi > domain.Hi {
		return sde.Range{}, fmt.Errorf("grid is [%g, %g]: must be within the domain %v", d.Grid.Lo, d.Grid.Hi, domain)
	}
	return domain, nil
}
