// Package ondevice computes the debiased Sinkhorn divergence of package metrics on a
// backend's device. It takes all n·m terms of each sum, in graphs that XLA compiles,
// and is for GPUs: in few dimensions a processor is faster with package softmin, which
// takes fewer terms.
//
// Arithmetic is float32. Before the upload, in float64, coordinates are shifted by the
// clouds' common mean and divided by their joint diameter. So neither their place nor
// their scale matters, costs are at most ½, and most points of clouds with outliers
// are near 0, where float32 is finest.
package ondevice

import (
	"context"
	"fmt"

	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/evaluation/metrics"
)

// MaxPoints is the largest number of points in a cloud.
const MaxPoints = 1 << 17

// blockTerms bounds the number of terms that a program has in memory at once: 64 MiB
// an array.
const blockTerms = 1 << 24

// Sinkhorn computes divergences on one device. It is for one goroutine at a
// time, while no other uses the backend.
type Sinkhorn struct {
	backend  *backend.Backend
	terms    int // blockTerms; fewer in tests
	softmins map[softminShape]*backend.Program
	joins    map[joinShape]*backend.Program
}

// NewSinkhorn compiles nothing. The first divergence of clouds of a size compiles its
// programs, which serve all sizes with the same next power of two.
func NewSinkhorn(b *backend.Backend) *Sinkhorn {
	return &Sinkhorn{b, blockTerms, make(map[softminShape]*backend.Program), make(map[joinShape]*backend.Program)}
}

// Close frees the programs. The backend stays open.
func (s *Sinkhorn) Close() {
	for _, p := range s.softmins {
		p.Close()
	}
	for _, p := range s.joins {
		p.Close()
	}
}

// Divergence is metrics.Sinkhorn, with its errors, for clouds of up to MaxPoints
// points. It differs by the rounding of float32, at worst some 1e-7 of the squared
// diameter. It checks the context between updates.
func (s *Sinkhorn) Divergence(ctx context.Context, x, y metrics.Cloud, o metrics.Options) (float64, error) {
	value, err := s.divergence(ctx, x, y, o)
	if err != nil {
		return 0, fmt.Errorf("sinkhorn divergence on %s: %w", s.backend.Name, err)
	}
	return value, nil
}

func (s *Sinkhorn) divergence(ctx context.Context, x, y metrics.Cloud, o metrics.Options) (float64, error) {
	diameter, schedule, err := metrics.Schedule(x, y, o)
	if err != nil || diameter == 0 {
		return 0, err
	}
	if n := max(x.N, y.N); n > MaxPoints {
		return 0, fmt.Errorf("%d points are more than %d: %w", n, MaxPoints, metrics.ErrShape)
	}
	p, err := s.upload(x, y, diameter)
	defer p.free()
	if err != nil {
		return 0, err
	}
	unit := diameter * diameter
	update := func(eps, part float64) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return p.update(eps/unit, part)
	}
	if err := update(schedule[0], 1); err != nil {
		return 0, err
	}
	for _, eps := range schedule {
		if err := update(eps, 0.5); err != nil {
			return 0, err
		}
	}
	if err := update(schedule[len(schedule)-1], 1); err != nil {
		return 0, err
	}
	value, err := p.divergence()
	return value * unit, err
}
