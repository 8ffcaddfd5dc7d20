package flow

import (
	"fmt"
	"sync"

	"github.com/ergoflow/ergoflow/data/equations/closure"
	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Based is a Conditioner whose subjects may have coordinates of their own.
type Based interface {
	// Own reports whether they have: those of Whitened or Settled states. Otherwise they have a Frame's.
	Own() bool
	// Base are the coordinates of a subject, where it has its own.
	Base(s Subject) (closure.Base, error)
}

// Standardise turns states x [n, d] of a subject into the flow's coordinates, in place.
func Standardise(c Conditioner, f Frame, s Subject, x []float32) error {
	based, ok := own(c)
	if !ok {
		f.Standardise(x)
		return nil
	}
	b, err := based.Base(s)
	if err == nil {
		b.Standardise(x)
	}
	return err
}

// Restore is the inverse of Standardise. It returns log |det ∂x/∂z|.
func Restore(c Conditioner, f Frame, s Subject, z []float32) (logVolume float64, err error) {
	based, ok := own(c)
	if !ok {
		f.Restore(z)
		return f.logVolume(), nil
	}
	b, err := based.Base(s)
	if err != nil {
		return 0, err
	}
	b.Restore(z)
	return b.LogVolume(), nil
}

func own(c Conditioner) (Based, bool) {
	based, ok := c.(Based)
	return based, ok && based.Own()
}

// bases are those of the family's functions, by number.
type bases struct {
	mu   sync.Mutex
	made map[int]closure.Base
}

// mostBases are kept, of at most 33 kB each: a batch needs each twice.
const mostBases = 2048

// of is the base of function i, computed at first.
func (b *bases) of(i int, compute func() (closure.Base, error)) (closure.Base, error) {
	b.mu.Lock()
	base, known := b.made[i]
	b.mu.Unlock()
	if known {
		return base, nil
	}
	base, err := compute()
	if err != nil {
		return base, fmt.Errorf("function %d: %w", i, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.made == nil || len(b.made) >= mostBases {
		b.made = make(map[int]closure.Base)
	}
	b.made[i] = base
	return base, nil
}

// Own implements Based.
func (p *Probed) Own() bool { return p.states.Own() }

// Base implements Based.
func (p *Probed) Base(s Subject) (b closure.Base, err error) {
	system, err := p.system(s)
	if err != nil {
		return b, err
	}
	space, ok := system.(sde.Space)
	if !ok {
		return b, fmt.Errorf("function %d: %T has no states of its own", s.Index, system)
	}
	if s.Function.System != nil { // any equation may have that number
		return p.states.base(space, p.config.DT)
	}
	return p.bases.of(s.Index, func() (closure.Base, error) { return p.states.base(space, p.config.DT) })
}

// seen is the equation whose probes the network reads: that of the flow's coordinates.
func (p *Probed) seen(s Subject) (sde.System, error) {
	system, err := p.system(s)
	if err != nil || !p.Own() {
		return system, err
	}
	b, err := p.Base(s)
	if err != nil {
		return nil, err
	}
	return b.Equation(system.(sde.Space)), nil
}
