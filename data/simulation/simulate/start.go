package simulate

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
)

// Start is the law of the first states of chains, whose coordinates are independent. It is
//
//	""                             N(0, 1)
//	"1.5"                          N(0, 1.5²)
//	"normal(1000, 2)"              or uniform(lo, hi), the same law for all coordinates
//	"normal(1000, 2); uniform(0, 1)"  one law along x and one along y, of every particle;
//	                                  in a Space one for each coordinate
//	"box"                          uniform on the middle half of the equation's own box, in a Space
//
// In YAML and JSON a deviation is a number, and two laws are a list. A law takes the same
// outputs of a chain's generator as N(0, 1), so the noise of the steps does not depend on it.
type Start string

// InBox is the start in the box of each equation, for a Space.
const InBox Start = "box"

var errInBox = fmt.Errorf("start: %q is for equations without a grid alone", InBox)

const (
	betweenLaws = ";"
	// largestNormal is beyond every normal number that a generator gives.
	largestNormal = 7
)

// Along returns the law of the coordinates along an axis: 0 for x, 1 for y.
func (s Start) Along(axis int) (random.Law, error) {
	laws, err := s.laws()
	if err != nil {
		return random.Law{}, err
	}
	return laws[min(axis, len(laws)-1)], nil
}

// Axes is the number of laws: 1 if all coordinates have the same, 2 for one along each axis
// of the plane.
func (s Start) Axes() int { return 1 + strings.Count(string(s), betweenLaws) }

// deviation is the deviation of a start that is written as a number.
func (s Start) deviation() (float64, bool) {
	if s == "" {
		return 1, true
	}
	v, err := strconv.ParseFloat(string(s), 64)
	return v, err == nil
}

// lawsIn are the laws of a start in a Space with a box: one, or one for each coordinate.
func (s Start) lawsIn(box []sde.Interval) ([]random.Law, error) {
	if s != InBox {
		return s.laws()
	}
	laws := make([]random.Law, len(box))
	for k, b := range box {
		laws[k] = MiddleHalf(b)
	}
	return laws, nil
}

// MiddleHalf is the uniform law on the middle half of an interval.
func MiddleHalf(b sde.Interval) random.Law {
	quarter := (b.Hi - b.Lo) / 4
	return random.Law{Form: random.Uniform, A: b.Lo + quarter, B: b.Hi - quarter}
}

// laws parses a start that is the same for all equations. Its laws are one, or those along x and y.
func (s Start) laws() ([]random.Law, error) {
	if s == InBox {
		return nil, errInBox
	}
	if v, ok := s.deviation(); ok {
		if !(v > 0) || v > Reach {
			return nil, fmt.Errorf("standard deviation of the start is %v, want 0 (for 1) to %g: states count as diverged at ±%g", v, Reach, bound)
		}
		return []random.Law{{Form: random.Normal, B: v}}, nil
	}
	parts := strings.Split(string(s), betweenLaws)
	if len(parts) > sde.MaxSpace {
		return nil, fmt.Errorf("start has %d laws, want one, or one for each coordinate", len(parts))
	}
	laws := make([]random.Law, len(parts))
	for k, text := range parts {
		var err error
		if laws[k], err = random.ParseLaw(text, random.Uniform, random.Normal); err != nil {
			return nil, fmt.Errorf("start: %w", err)
		}
		lo, hi := Support(laws[k])
		if lo < -bound || hi > bound {
			return nil, fmt.Errorf("start: %q reaches from %g to %g, want states within ±%g: others count as diverged", text, lo, hi, bound)
		}
	}
	return laws, nil
}

// Support is an interval that contains all starts of a law: of a normal law, as far as the
// generator's numbers reach.
func Support(law random.Law) (lo, hi float64) {
	if law.Form == random.Uniform {
		return law.A, law.B
	}
	return law.A - largestNormal*law.B, law.A + largestNormal*law.B
}

// Origin is the mean of the start, along x and y. Simulators in single precision step states
// relative to it where the system has a grid: x + y rounds at the distance from it, instead
// of at that from 0.
func (s Start) Origin() (origin [maxDim]float64, err error) {
	laws, err := s.laws()
	if err != nil {
		return origin, err
	}
	for k := range origin {
		origin[k] = laws[min(k, len(laws)-1)].Mean()
	}
	return origin, nil
}

// firstState is a coordinate of a first state. Its normal number z and its uniform number u are of
// the same output of the generator.
func firstState(law random.Law, z, u float32) float64 {
	if law.Form == random.Uniform {
		return law.A + float64((law.B-law.A)*float64(u))
	}
	return law.A + float64(law.B*float64(z))
}

// Single turns an output of a chain's generator into a coordinate along an axis of its first
// state, in single precision and relative to an origin, for simulators outside this package.
func (s Start) Single(axis int, origin float64) (func(output uint32) float32, error) {
	law, err := s.Along(axis)
	if err != nil {
		return nil, err
	}
	if law.Form == random.Uniform {
		return func(output uint32) float32 { return float32(firstState(law, 0, uniform(output)) - origin) }, nil
	}
	centre, deviation := float32(law.A-origin), float32(law.B)
	return func(output uint32) float32 { return centre + float32(deviation*Normal(output)) }, nil
}

// MarshalJSON writes a deviation as a number, one law as text, and several as a list.
func (s Start) MarshalJSON() ([]byte, error) { return json.Marshal(s.document()) }

func (s Start) document() any {
	if v, ok := s.deviation(); ok && !math.IsNaN(v) && !math.IsInf(v, 0) {
		return v
	}
	parts := strings.Split(string(s), betweenLaws)
	if len(parts) == 1 {
		return string(s)
	}
	for k := range parts {
		parts[k] = strings.TrimSpace(parts[k])
	}
	return parts
}

// UnmarshalJSON reads what MarshalJSON writes. Scheme.Validate checks the laws.
func (s *Start) UnmarshalJSON(raw []byte) error {
	return s.read(func(to any) error { return json.Unmarshal(raw, to) })
}

// UnmarshalYAML is UnmarshalJSON in YAML.
func (s *Start) UnmarshalYAML(decode func(any) error) error { return s.read(decode) }

func (s *Start) read(decode func(any) error) error {
	var deviation float64
	var law string
	var laws []string
	switch {
	case decode(&deviation) == nil:
		*s = ""
		if deviation != 0 {
			*s = Start(strconv.FormatFloat(deviation, 'g', -1, 64))
		}
		return nil
	case decode(&law) == nil:
		laws = []string{law}
	case decode(&laws) != nil || len(laws) == 0:
		return errors.New(`want a deviation, a law such as "normal(1000, 2)", or a list of a law along x and one along y`)
	}
	// One spelling of a law, since hashes depend on it.
	for k, text := range laws {
		if law, err := random.ParseLaw(text, random.Uniform, random.Normal); err == nil {
			laws[k] = law.String()
		}
	}
	*s = Start(strings.Join(laws, betweenLaws+" "))
	return nil
}
