package family

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
)

// Box is where the laws of a family without a grid are expected: an interval for each coordinate,
// or one for all.
type Box [][2]float64

// UnmarshalYAML reads [lo, hi] or a list of such.
func (b *Box) UnmarshalYAML(decode func(any) error) error {
	var one [2]float64
	var pair []float64
	if decode(&pair) == nil && len(pair) == 2 {
		copy(one[:], pair)
		*b = Box{one}
		return nil
	}
	var list [][]float64
	if err := decode(&list); err != nil {
		return errors.New("want [lo, hi], or such a pair for each coordinate")
	}
	for _, pair := range list {
		if len(pair) != 2 {
			return errors.New("want [lo, hi], or such a pair for each coordinate")
		}
		*b = append(*b, [2]float64(pair))
	}
	return nil
}

// MarshalJSON writes what UnmarshalYAML reads.
func (b Box) MarshalJSON() ([]byte, error) {
	if len(b) == 1 {
		return json.Marshal(b[0])
	}
	return json.Marshal([][2]float64(b))
}

// intervals are those of dim coordinates.
func (b Box) intervals(dim int) ([]sde.Interval, error) {
	if len(b) != 1 && len(b) != dim {
		return nil, fmt.Errorf("box has %d intervals in %d dimensions: must be one, or one for each", len(b), dim)
	}
	all := make([]sde.Interval, dim)
	for k := range all {
		pair := b[min(k, len(b)-1)]
		all[k] = sde.Interval{Lo: pair[0], Hi: pair[1]}
	}
	return all, nil
}

// Spatial is a family without tables, in any dimension.
type Spatial interface {
	// Box is where the laws are expected.
	Box() []sde.Interval
	// Domain is where the equations live; nil: everywhere.
	Domain() sde.Domain
	// Terms is how many numbers the diffusion has: those of sde.Space.
	Terms() int
	// Check evaluates function i within the box. It fails with ErrNoEquation where a coefficient
	// is not finite, or where there is no noise at all.
	Check(seed uint64, i int) error
}

// spatial is a compiled Definition without a grid.
type spatial struct {
	name, stem string // as those of formula
	box        []sde.Interval
	domain     sde.Domain
	parameters []string
	laws       []spatialLaw
	system     *expression.System
}

// spatialLaw draws a parameter of a shape: independent numbers of a law.
type spatialLaw struct {
	shape expression.Shape
	law   random.Law
}

var shapedLaw = regexp.MustCompile(`^\s*(vector|matrix)\s*\((.*)\)\s*$`)

func newSpatialLaw(text string) (l spatialLaw, err error) {
	inner := text
	if m := shapedLaw.FindStringSubmatch(text); m != nil {
		l.shape, inner = map[string]expression.Shape{"vector": expression.Vector, "matrix": expression.Matrix}[m[1]], m[2]
	}
	if l.law, err = random.ParseLaw(inner, random.Uniform, random.Normal); err != nil {
		return l, fmt.Errorf("%w, or vector(…) or matrix(…) of one", err)
	}
	return l, nil
}

// draw draws the numbers of a parameter in so many dimensions.
func (l spatialLaw) draw(rng *rand.Rand, dim int) []float64 {
	values := make([]float64, l.shape.Size(dim))
	for k := range values {
		values[k] = l.law.Draw(rng)
	}
	return values
}

func newSpatial(d Definition) (*spatial, error) {
	if d.Dim < 1 || d.Dim > expression.MaxDim {
		return nil, fmt.Errorf("dim is %d: must be from 1 to %d", d.Dim, expression.MaxDim)
	}
	box, err := d.Box.intervals(d.Dim)
	if err != nil {
		return nil, err
	}
	domain, err := d.Domain.domain(d.Dim)
	if err == nil {
		err = sde.Space{Box: box, Domain: domain, Terms: 1}.Validate()
	}
	if err != nil {
		return nil, err
	}
	s := &spatial{name: d.id(), stem: d.Name, box: box, domain: domain, parameters: slices.Sorted(maps.Keys(d.Parameters))}
	shapes := make(map[string]expression.Shape)
	for _, name := range s.parameters {
		law, err := newSpatialLaw(d.Parameters[name])
		if err != nil {
			return nil, fmt.Errorf("parameters.%.40s: %w", name, err)
		}
		s.laws, shapes[name] = append(s.laws, law), law.shape
	}
	if s.system, err = expression.CompileSystem(d.Dim, d.Drift, d.Diffusion, shapes); err != nil {
		return nil, err
	}
	for _, name := range s.parameters {
		if !s.system.Uses(name) {
			return nil, fmt.Errorf("parameters.%s: no formula uses it", name)
		}
	}
	return s, nil
}

func (s *spatial) Name() string        { return s.name }
func (s *spatial) Dim() int            { return len(s.box) }
func (s *spatial) Fields() []Field     { return nil } // networks see it through probes
func (s *spatial) Box() []sde.Interval { return s.box }
func (s *spatial) Domain() sde.Domain  { return s.domain }
func (s *spatial) Terms() int          { return s.system.Terms }

// draw draws the parameters of function i, by name.
func (s *spatial) draw(seed uint64, i int) map[string][]float64 {
	values := make(map[string][]float64, len(s.parameters))
	for k, name := range s.parameters {
		values[name] = s.laws[k].draw(random.New(seed, "formula/"+s.stem+"/"+name, uint64(i)), s.Dim())
	}
	return values
}

func (s *spatial) Function(seed uint64, i int) (Function, error) {
	space, err := s.space(s.draw(seed, i))
	return Function{System: space}, err
}

// space is the equation with values of the parameters.
func (s *spatial) space(values map[string][]float64) (sde.Space, error) {
	space, err := s.system.Space(s.box, values)
	space.Domain = s.domain
	return space, err
}

const checkedStates = 256 // of a function, uniform in the box

// Check implements Spatial.
func (s *spatial) Check(seed uint64, i int) error {
	values := s.draw(seed, i)
	space, err := s.space(values)
	if err == nil {
		err = space.CheckUniform(checkedStates, uint64(i))
	}
	if err != nil {
		return s.failed(i, values, err)
	}
	return nil
}

// failed names function i and its scalar parameters.
func (s *spatial) failed(i int, values map[string][]float64, err error) error {
	var drawn []string
	for _, name := range s.parameters {
		if v := values[name]; len(v) == 1 {
			drawn = append(drawn, fmt.Sprintf("%s = %.6g", name, v[0]))
		}
	}
	with := ""
	if len(drawn) > 0 {
		with = " with " + strings.Join(drawn, ", ")
	}
	return fmt.Errorf("%s function %d%s is %w: %w", s.name, i, with, ErrNoEquation, err)
}
