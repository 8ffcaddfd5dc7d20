package flow

import (
	"context"
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow/data/family"
	"github.com/ergoflow/ergoflow/data/probe"
	"github.com/ergoflow/ergoflow/data/sde"
	"github.com/ergoflow/ergoflow/data/shard"
	"github.com/ergoflow/ergoflow/data/simulate"
	"github.com/ergoflow/ergoflow/model/velocity"
)

// Probes are those of a family's functions, as networks are told of them. Those
// of function i are a function of (Seed, i) and the configuration: the same on
// every pass, on every worker and afterwards.
type Probes struct {
	Config probe.Config
	Family family.Family
	Seed   uint64 // of the data set
}

const (
	probesInput   = "probes"       // the network's input
	probesPurpose = "conditioning" // of their random streams
	// standardised is how many functions' probes make the normalisation: with
	// thousands of rows each, its error is far below what a network could notice.
	standardised = 1024
)

// feature is the name under which a normalisation has feature k of probes.
func feature(k int) string { return fmt.Sprintf("%s[%d]", probesInput, k) }

// Normalise standardises every feature by one mean and one deviation over all rows
// of the first functions of the training set, of which it has so many: 1,024, or
// all if there are fewer.
func (p Probes) Normalise(ctx context.Context, functions int) (shard.Normalisation, error) {
	standards, err := p.Config.Standards(ctx, min(functions, standardised), func(i int) (sde.System, error) {
		return p.system(Subject{Index: i})
	}, p.Seed, probesPurpose)
	if err != nil {
		return nil, fmt.Errorf("normalisation: %w", err)
	}
	n := make(shard.Normalisation, len(standards))
	for k, s := range standards {
		n[feature(k)] = s
	}
	return n, nil
}

// system is the equation of a subject: its own, that of its stored fields, or
// that of its number.
func (p Probes) system(s Subject) (sde.System, error) {
	if s.Function.System != nil {
		return s.Function.System, nil
	}
	if stored, ok := p.Family.(family.Stored); ok && len(s.Function.Fields) > 0 {
		f, err := stored.Restore(s.Function.Fields)
		if err != nil {
			return nil, fmt.Errorf("function %d: %w", s.Index, err)
		}
		return f.System, nil
	}
	f, err := p.Family.Function(p.Seed, s.Index)
	return f.System, err
}

// Observed conditions on probes, which are made when they are asked for: stored,
// they would take several times the samples' room.
type Observed struct {
	probes      Probes
	mean, scale []float32 // of every feature: (x − mean)·scale
}

// NewObserved makes the one input of a network with sensors, by the normalisation
// that Normalise gave.
func NewObserved(inputs []velocity.Input, p Probes, n shard.Normalisation) (*Observed, error) {
	if err := p.Config.Validate(); err != nil {
		return nil, err
	}
	if len(inputs) != 1 || inputs[0].Name != probesInput {
		return nil, fmt.Errorf("the network takes %v, not %s alone", inputs, probesInput)
	}
	if !slices.Equal(inputs[0].Shape, p.Config.Shape()) {
		return nil, fmt.Errorf("the network's input %q has shape %v, the probes %v", probesInput, inputs[0].Shape, p.Config.Shape())
	}
	o := &Observed{probes: p}
	for k := range p.Config.Features() {
		s, ok := n[feature(k)]
		if !ok {
			return nil, fmt.Errorf("the normalisation lacks the input %q", feature(k))
		}
		o.mean, o.scale = append(o.mean, float32(s.Mean)), append(o.scale, float32(1/s.Std))
	}
	return o, nil
}

// Condition implements Conditioner. Subjects are observed on GOMAXPROCS
// goroutines.
func (o *Observed) Condition(ctx context.Context, inputs [][]float32, subjects []Subject) error {
	had, size := len(inputs[0]), o.probes.Config.Size()
	rows := slices.Grow(inputs[0], len(subjects)*size)[:had+len(subjects)*size]
	err := simulate.Each(ctx, len(subjects), func(_ context.Context, i int) error {
		system, err := o.probes.system(subjects[i])
		if err != nil {
			return err
		}
		own := rows[had+i*size:][:size]
		if err := o.probes.Config.Fill(own, system, o.probes.Seed, probesPurpose, uint64(subjects[i].Index)); err != nil {
			return err
		}
		o.standardise(own)
		return nil
	}, nil)
	if err != nil {
		return err
	}
	inputs[0] = rows
	return nil
}

// standardise replaces every number of rows.
func (o *Observed) standardise(rows []float32) {
	for features := len(o.mean); len(rows) > 0; rows = rows[features:] {
		for k, v := range rows[:features] {
			rows[k] = float32(v-o.mean[k]) * o.scale[k]
		}
	}
}
