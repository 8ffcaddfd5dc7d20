package simulate

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
)

// Domain is the open interval on which an equation lives. Its ends may be infinite.
type Domain struct{ Lo, Hi float64 }

// WholeLine is the domain of equations that live everywhere.
var WholeLine = Domain{math.Inf(-1), math.Inf(1)}

// ErrLeftDomain means that a chain left the domain of its equation.
var ErrLeftDomain = errors.New("left the domain")

var domainForm = regexp.MustCompile(`^\s*\(\s*([^\s,()]+)\s*,\s*([^\s,()]+)\s*\)\s*$`)

// ParseDomain reads a domain such as (0, inf). Finite ends must be within ±1e6, where chains
// count as diverged.
func ParseDomain(text string) (d Domain, err error) {
	parts := domainForm.FindStringSubmatch(text)
	if parts == nil {
		return d, fmt.Errorf("%.40q is not a domain, such as (0, inf)", text)
	}
	for k, to := range []*float64{&d.Lo, &d.Hi} {
		if *to, err = strconv.ParseFloat(parts[1+k], 64); err != nil || math.IsNaN(*to) || math.Abs(*to) > bound && !math.IsInf(*to, 0) {
			return d, fmt.Errorf("%.40q: %.20q is not inf, -inf or a number within ±%g", text, parts[1+k], bound)
		}
	}
	if !(d.Lo < d.Hi) {
		return d, fmt.Errorf("%.40q: the first end must be below the second", text)
	}
	return d, nil
}

// String writes the domain as ParseDomain reads it.
func (d Domain) String() string {
	return fmt.Sprintf("(%s, %s)", EndText(d.Lo), EndText(d.Hi))
}

// EndText writes one end of a domain.
func EndText(x float64) string {
	if math.IsInf(x, 0) {
		return map[bool]string{true: "inf", false: "-inf"}[x > 0]
	}
	return fmt.Sprint(x)
}

// Contains says whether x is inside.
func (d Domain) Contains(x float64) bool { return x > d.Lo && x < d.Hi }

// Holds reports a start on the line that reaches out of the domain.
func (d Domain) Holds(s Start) error {
	law, err := s.Along(0)
	if err != nil {
		return err
	}
	if lo, hi := Support(law); d != WholeLine && !(d.Contains(lo) && d.Contains(hi)) {
		return fmt.Errorf("the start %v reaches from %.6g to %.6g, out of the domain %v", law, lo, hi, d)
	}
	return nil
}
