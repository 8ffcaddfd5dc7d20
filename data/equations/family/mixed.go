package family

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/internal/yamltext"
)

// MixtureEntry is a component in the definition of a mixture. In YAML its family is the path of a
// file, relative to that of the mixture, or a definition.
type MixtureEntry struct {
	Family Definition `json:"family" yaml:"family"`
	Weight float64    `json:"weight" yaml:"weight"` // 1 if the YAML has none

	path string // of a file that is not read yet
}

// UnmarshalYAML reads an entry. It does not read the file that a path names.
func (m *MixtureEntry) UnmarshalYAML(decode func(any) error) error {
	var named struct {
		Family string   `yaml:"family"`
		Weight *float64 `yaml:"weight"`
	}
	var inPlace struct {
		Family Definition `yaml:"family"`
		Weight *float64   `yaml:"weight"`
	}
	*m = MixtureEntry{Weight: 1}
	weight := &named.Weight
	if decode(&named) == nil {
		m.path = named.Family
	} else {
		if err := decode(&inPlace); err != nil {
			return err
		}
		m.Family, weight = inPlace.Family, &inPlace.Weight
	}
	if *weight != nil {
		m.Weight = **weight
	}
	return nil
}

// maxComponents of a mixture.
const maxComponents = 64

// readComponents reads the files that a mixture names by paths, relative to dir. A component is not
// resolved further, so a mixture that names itself ends as any other mixture of mixtures.
func (d Definition) readComponents(dir string) (Definition, error) {
	if len(d.Mixture) > maxComponents {
		return d, d.tooMany()
	}
	entries := make([]MixtureEntry, len(d.Mixture))
	for k, entry := range d.Mixture {
		if entry.path != "" {
			path := entry.path
			if !filepath.IsAbs(path) {
				path = filepath.Join(dir, path)
			}
			raw, err := readFile(path)
			if err != nil {
				return d, fmt.Errorf("family %.40s: mixture[%d]: %w", d.Name, k, err)
			}
			if entry.Family, err = decode(raw); err != nil {
				return d, fmt.Errorf("family %.40s: mixture[%d]: %s: %w", d.Name, k, path, err)
			}
			entry.path = ""
		}
		entries[k] = entry
	}
	d.Mixture = entries
	return d, nil
}

func (d Definition) tooMany() error {
	return fmt.Errorf("family %.40s: mixture: it has %d components, must be at most %d", d.Name, len(d.Mixture), maxComponents)
}

// Mixed is a family each of whose functions is of one of several families.
type Mixed interface {
	Components() []Component
	// Component is the number of the component that function i is of.
	Component(seed uint64, i int) int
}

// Component is a family that a mixture draws from.
type Component struct {
	Name   string // of its definition, without the hash; different for all components of a mixture
	Weight float64
	Family Family
}

// mixed is a compiled mixture of families without a grid.
type mixed struct {
	name       string // with the hash
	components []Component
	total      float64 // of the weights
	box        []sde.Interval
	domain     sde.Domain // of all components
	terms      int
}

// mixture compiles a definition with components.
func (d Definition) mixture() (Family, error) {
	switch {
	case len(d.Mixture) == 0:
		return nil, fmt.Errorf("family %s: mixture: it has no components", d.Name)
	case len(d.Mixture) > maxComponents:
		return nil, d.tooMany()
	case d.Grid != (Nodes{}) || len(d.Box)+len(d.Domain)+len(d.Parameters)+len(d.Drift)+len(d.Diffusion) > 0:
		return nil, fmt.Errorf("family %s: a mixture has a name, a dim and components alone: these have the rest", d.Name)
	}
	m := new(mixed)
	names := make(map[string]bool)
	for k, entry := range d.Mixture {
		c, err := entry.compile(d.Dim)
		if err == nil && names[c.Name] {
			err = fmt.Errorf("another component is called %s too", c.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("family %s: mixture[%d]: %w", d.Name, k, err)
		}
		names[c.Name] = true
		if err := m.add(c); err != nil {
			return nil, fmt.Errorf("family %s: mixture[%d]: %w", d.Name, k, err)
		}
	}
	if math.IsInf(m.total, 0) {
		return nil, fmt.Errorf("family %s: mixture: the sum of the weights is not finite", d.Name)
	}
	if n := len(d.String()); n > yamltext.MaxBytes {
		return nil, fmt.Errorf("family %s: mixture: its definitions have %d bytes together, must be at most %d", d.Name, n, yamltext.MaxBytes)
	}
	m.name = d.id()
	return m, nil
}

// compile compiles a component of a mixture in dim dimensions.
func (m MixtureEntry) compile(dim int) (c Component, err error) {
	d := m.Family
	switch {
	case m.path != "":
		return c, fmt.Errorf("family %.80q is a path: a configuration has the definition itself", m.path)
	case d.Mixture != nil:
		return c, errors.New("the component is a mixture: name its components here instead")
	case !(m.Weight > 0) || math.IsInf(m.Weight, 0):
		return c, fmt.Errorf("weight is %v: must be a positive number", m.Weight)
	}
	c = Component{Name: d.Name, Weight: m.Weight}
	if c.Family, err = d.Family(); err != nil {
		return c, err
	}
	if _, ok := c.Family.(Spatial); !ok {
		return c, fmt.Errorf("%s has a grid: components have a box instead", d.Name)
	}
	if got := c.Family.Dim(); got != dim {
		return c, fmt.Errorf("%s has dim %d, the mixture %d: must be the same", d.Name, got, dim)
	}
	return c, nil
}

// add widens the box and the diffusion to those of another component, which has the domain of the
// first.
func (m *mixed) add(c Component) error {
	s := c.Family.(Spatial)
	if m.box == nil {
		m.domain = s.Domain()
	} else if !slices.Equal(m.domain, s.Domain()) {
		return fmt.Errorf("%s has the domain %v, %s has %v: must be the same", c.Name, s.Domain(), m.components[0].Name, m.domain)
	}
	m.components, m.total, m.terms = append(m.components, c), m.total+c.Weight, max(m.terms, s.Terms())
	if m.box == nil {
		m.box = append(m.box, s.Box()...)
	}
	for k, b := range s.Box() {
		m.box[k] = sde.Interval{Lo: min(m.box[k].Lo, b.Lo), Hi: max(m.box[k].Hi, b.Hi)}
	}
	return nil
}

func (m *mixed) Name() string            { return m.name }
func (m *mixed) Dim() int                { return len(m.box) }
func (m *mixed) Fields() []Field         { return nil } // as of its components
func (m *mixed) Box() []sde.Interval     { return m.box }
func (m *mixed) Domain() sde.Domain      { return m.domain }
func (m *mixed) Terms() int              { return m.terms }
func (m *mixed) Components() []Component { return m.components }

// Component implements Mixed.
func (m *mixed) Component(seed uint64, i int) int {
	u := m.total * random.New(seed, "mixture/"+m.name+"/component", uint64(i)).Float64()
	last := len(m.components) - 1
	for k, c := range m.components[:last] {
		if u -= c.Weight; u < 0 {
			return k
		}
	}
	return last
}

// of is the component of function i, and the seed with which it draws the function. This seed is
// the mixture's own: its functions are none of the component's own family, nor of another mixture,
// which may hold them out.
func (m *mixed) of(seed uint64, i int) (Component, uint64) {
	own, _ := random.Key(seed, "mixture/"+m.name)
	return m.components[m.Component(seed, i)], own
}

func (m *mixed) Function(seed uint64, i int) (Function, error) {
	c, own := m.of(seed, i)
	function, err := c.Family.Function(own, i)
	if err != nil {
		return function, m.failed(i, err)
	}
	function.System = function.System.(sde.Space).Widened(m.terms)
	return function, nil
}

// Check implements Spatial.
func (m *mixed) Check(seed uint64, i int) error {
	c, own := m.of(seed, i)
	if err := c.Family.(Spatial).Check(own, i); err != nil {
		return m.failed(i, err)
	}
	return nil
}

func (m *mixed) failed(i int, err error) error {
	return fmt.Errorf("%s function %d: %w", m.name, i, err)
}
