package simulate

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// ErrLeftDomain means that a chain left the domain of its equation.
var ErrLeftDomain = errors.New("left the domain")

var domainForm = regexp.MustCompile(`^\s*\(\s*([^\s,()]+)\s*,\s*([^\s,()]+)\s*\)\s*$`)

// ParseDomain reads an open interval such as (0, inf). Finite ends must be within ±1e6, where
// chains count as diverged.
func ParseDomain(text string) (r sde.Range, err error) {
	parts := domainForm.FindStringSubmatch(text)
	if parts == nil {
		return r, fmt.Errorf("%.40q is not a domain, such as (0, inf)", text)
	}
	r.Ends = sde.Open
	for k, to := range []*float64{&r.Lo, &r.Hi} {
		if *to, err = strconv.ParseFloat(parts[1+k], 64); err != nil || math.IsNaN(*to) || math.Abs(*to) > bound && !math.IsInf(*to, 0) {
			return r, fmt.Errorf("%.40q: %.20q is not inf, -inf or a number within ±%g", text, parts[1+k], bound)
		}
	}
	if !(r.Lo < r.Hi) {
		return r, fmt.Errorf("%.40q: the first end must be below the second", text)
	}
	if math.IsInf(r.Lo, 0) && math.IsInf(r.Hi, 0) {
		return sde.WholeLine, nil
	}
	return r, nil
}

// Within reports a start that reaches out of a domain. On a circle every number is a state.
func (s Start) Within(d sde.Domain) error {
	for k, r := range d {
		law, err := s.Along(k)
		if err != nil {
			return err
		}
		lo, hi := Support(law)
		if ends := r.Ends == sde.Open || r.Ends == sde.Reflecting; !ends || r.Contains(lo) && r.Contains(hi) {
			continue
		}
		of := ""
		if len(d) > 1 {
			of = fmt.Sprintf(" of x[%d]", k)
		}
		return fmt.Errorf("the start %v%s reaches from %.6g to %.6g, out of the domain %v", law, of, lo, hi, r)
	}
	return nil
}
