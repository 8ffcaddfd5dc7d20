// Package wells compares samples with short chains of their equation: whether chains stay where there are
// no samples, what crossings of chains say of the law, and what the potential of a gradient says of the
// masses of wells. In the plane it also compares samples with the law itself, by the Fokker–Planck equation.
//
// Chains begin all over the equation's box, and others at the samples. All states are then brought to
// rest: they follow the drift alone, as Stillinger and Weber (Phys. Rev. A 25, 1982) do with the states of
// a liquid. This takes away what noise does inside a well, so that in many dimensions, too, it shows which
// well a state is in. States of a limit cycle or of chaos do not come to rest, but stay on the attractor.
package wells

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/ergoflow/ergoflow/data/equations/fokkerplanck"
	"github.com/ergoflow/ergoflow/data/equations/lift"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/sampling/repair"
)

const (
	// chains begin in the box. None of them is in a region with a twentieth of it once in 700 times.
	chains = 128
	// compared is how many samples chains begin at, and looked how many of them are brought to rest,
	// before and after.
	compared, looked = 512, 256
	// settle is after how many steps chains from the box are first looked at, and stay after how many
	// more. walk is how many steps chains from samples take.
	settle, stay, walk = 500, 1500, 1000
	// negligible is a part of the law that samples may lack.
	negligible = 0.01
	seed       = 1 // of starts and noise, the same for every equation
)

// Search compares samples of an equation with chains. It is safe for concurrent use.
type Search struct {
	equation sde.Space
	box      func() (inBox, error) // once, at the first look
	law      func() (*fokkerplanck.Law, error)
}

// inBox is what chains from all over the box show.
type inBox struct {
	dt float64
	// early are the states after settle steps, and late after stay more, at rest. ends are the latter
	// before that.
	early, late rest
	ends        []float32
}

// For is the search for an equation. Its chains run at the first Look.
func For(s sde.Space) *Search {
	box := sync.OnceValues(func() (inBox, error) { return simulateBox(s) })
	return &Search{s, box, sync.OnceValues(func() (*fokkerplanck.Law, error) {
		b, err := box()
		if err != nil {
			return nil, err
		}
		return fokkerplanck.Solve(s, b.ends)
	})}
}

func simulateBox(s sde.Space) (b inBox, err error) {
	ctx := context.Background() // less than a second, and for all looks
	x := single(s.Uniform(chains, seed))
	walked, err := repair.Run(ctx, x, repair.Equation{System: s}, repair.Options{Steps: settle, Seed: seed}, nil)
	if err != nil {
		return b, fmt.Errorf("from the box: %w", err)
	}
	b.dt = walked.DT
	if b.early, err = led(ctx, s, x, b.dt); err != nil {
		return b, err
	}
	if err := simulate.Fastest().Continue(ctx, x, s, b.dt, stay, seed, 0, "wells"); err != nil {
		return b, fmt.Errorf("from the box: %w", err)
	}
	b.ends = x
	b.late, err = led(ctx, s, x, b.dt)
	return b, err
}

// Seen is what chains show of samples.
type Seen struct {
	// Missing is the part of the chains from all over the box that stay where there are no samples.
	// It is not that of the law, which may be anything. A region that chains leave counts as none, and
	// so does a well that is known to have next to nothing of the law.
	Missing float64
	// Entered is the part of the chains from samples that go where there are none.
	Entered float64
	// At is a state of such a region, at rest: of the one with most chains, if there are several.
	At []float32
	// Crossings are the worst of the chains from samples.
	Crossings Crossings
	// Wells are those of a gradient, if their masses are known and there are two at least.
	Wells []Well
	// Law is where the samples differ most from the law, in the plane; nil: it is not known.
	Law *FromLaw
}

// FromLaw is how far samples are from the law.
type FromLaw struct {
	fokkerplanck.Difference
	// Error is that of the law's masses.
	Error float64
}

// Look compares samples x [n, Dim] with chains, those from the box and others from the samples. Its error
// is a simulate.ErrDiverged where chains, or states that the drift leads, do not stay within bounds.
func (w *Search) Look(ctx context.Context, x []float32) (s Seen, err error) {
	box, err := w.box()
	if err != nil {
		return s, err
	}
	d := w.equation.Dim()
	from := some(x, d, compared)
	to := slices.Clone(from)
	if _, err := repair.Run(ctx, to, repair.Equation{System: w.equation}, repair.Options{Steps: walk, Seed: seed}, nil); err != nil {
		return s, fmt.Errorf("from the samples: %w", err)
	}
	s.Law = w.fromLaw(x, to)
	features := lift.Features(w.equation)
	s.Crossings = crossingsOf(features, from, to, d)
	from, to = some(from, d, looked), some(to, d, looked)
	before, err := led(ctx, w.equation, from, box.dt)
	if err != nil {
		return s, err
	}
	after, err := led(ctx, w.equation, to, box.dt)
	if err != nil {
		return s, err
	}
	known := newKnown(features, from, before)
	early, late := known.distances(box.early), known.distances(box.late)
	all := rest{slices.Concat(box.late.once, after.once), slices.Concat(box.late.twice, after.twice)}
	wells, homes, err := w.masses(ctx, known, before, slices.Concat(box.ends, to), all, box.dt)
	if err != nil {
		return s, err
	}
	s.Wells = wells
	var stayed, entered []int
	for i, far := range late {
		if len(wells) > 0 && homes[i] >= 0 && wells[homes[i]].Law < negligible {
			continue
		}
		if early[i] > 0 && far > (1-nearer)*early[i] {
			stayed = append(stayed, i)
		}
	}
	for i, far := range known.distances(after) {
		if far > 0 {
			entered = append(entered, i)
		}
	}
	s.Missing = float64(len(stayed)) / chains
	s.Entered = float64(len(entered)*d) / float64(len(to))
	if s.At = known.centre(box.late, stayed); s.At == nil {
		s.At = known.centre(after, entered)
	}
	return s, nil
}

// fromLaw compares samples with the law, if it is known: in the plane, where the ends of chains from the
// samples are where those from the box show that the law is.
func (w *Search) fromLaw(x, ends []float32) *FromLaw {
	if w.equation.Dim() != 2 {
		return nil
	}
	law, err := w.law()
	if err != nil || law.Outside(ends) > negligible { // not resolved, or a well that no chain from the box is in
		return nil
	}
	return &FromLaw{law.From(x), law.Error}
}

// some are copies of at most so many states, at even distances.
func some(x []float32, dim, count int) []float32 {
	n := len(x) / dim
	count = min(n, count)
	kept := make([]float32, 0, count*dim)
	for i := range count {
		kept = append(kept, x[i*n/count*dim:][:dim]...)
	}
	return kept
}

func single(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}
