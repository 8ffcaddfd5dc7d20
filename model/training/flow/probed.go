package flow

import (
	"context"
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/probe"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/network/velocity"
)

// Probed conditions on probes of the functions' SDEs. It makes them when a batch needs
// them; they depend on (seed, number of the function) alone.
type Probed struct {
	config    probe.Config
	family    family.Family
	seed      uint64
	standards []shard.Standard // by feature
	states    States
	bases     bases // where equations have their own
}

// NewProbed makes the one input of a network, of shape config.Shape(), for
// functions of the family with that seed. standards are those that Standards
// computed for the training functions, also where config has other sensors. Of Whitened and Settled states
// the probes are those of each function's equation in its own coordinates.
func NewProbed(
	input velocity.Input, config probe.Config, f family.Family, seed uint64, standards []shard.Standard, states States,
) (*Probed, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("probes: %w", err)
	}
	if !slices.Equal(input.Shape, config.Shape()) {
		return nil, fmt.Errorf("the network's input %q has shape %v, the probes %v", input.Name, input.Shape, config.Shape())
	}
	if len(standards) != config.Features() {
		return nil, fmt.Errorf("%d standards for probes of %d features", len(standards), config.Features())
	}
	return &Probed{config: config, family: f, seed: seed, standards: standards, states: states}, nil
}

// Standards are those of the features, over the probes of the family's functions of
// these numbers.
func Standards(
	ctx context.Context, config probe.Config, f family.Family, seed uint64, functions []int, scale probe.Scale, states States,
) ([]shard.Standard, error) {
	return config.Standards(ctx, functions, func(i int) (sde.System, error) {
		function, err := f.Function(seed, i)
		if err != nil {
			return nil, err
		}
		return states.Seen(function.System, config.DT)
	}, seed, f.Name(), scale)
}

// Condition implements Conditioner, on GOMAXPROCS goroutines.
func (p *Probed) Condition(ctx context.Context, inputs [][]float32, subjects []Subject) error {
	before, size := len(inputs[0]), p.config.Size()
	total := before + len(subjects)*size
	inputs[0] = slices.Grow(inputs[0], total-before)[:total]
	return simulate.Each(ctx, len(subjects), func(_ context.Context, i int) error {
		system, err := p.seen(subjects[i])
		if err != nil {
			return err
		}
		dst := inputs[0][before+i*size:][:size]
		if err := p.config.Fill(dst, system, p.seed, p.family.Name(), uint64(subjects[i].Index)); err != nil {
			return err
		}
		p.standardise(dst)
		return nil
	}, nil)
}

// system is a subject's equation: its own, that of its stored fields, or that of
// the family's function of its number.
func (p *Probed) system(s Subject) (sde.System, error) {
	if s.Function.System != nil {
		return s.Function.System, nil
	}
	if stored, ok := p.family.(family.Stored); ok && len(s.Function.Fields) > 0 {
		function, err := stored.Restore(s.Function.Fields)
		if err != nil {
			return nil, fmt.Errorf("function %d: %w", s.Index, err)
		}
		return function.System, nil
	}
	function, err := p.family.Function(p.seed, s.Index)
	return function.System, err
}

// standardise does so with every feature of rows.
func (p *Probed) standardise(rows []float32) {
	scale := make([]float64, len(p.standards))
	for k, s := range p.standards {
		scale[k] = 1 / s.Std
	}
	for n := len(p.standards); len(rows) > 0; rows = rows[n:] {
		for k, v := range rows[:n] {
			rows[k] = float32((float64(v) - p.standards[k].Mean) * scale[k])
		}
	}
}
