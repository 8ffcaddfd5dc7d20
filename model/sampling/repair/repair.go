// Package repair brings samples of a model closer to the invariant law by steps of the equation
// itself: every sample is the start of an Euler–Maruyama chain. The law of the chains goes to the
// invariant one, from wherever they start, and from a model's samples it has less far to go than
// from N(0, I).
//
// What it costs is a bias of the time step: the variance becomes too large by about one part in
// a hundred (WantedInflation). What it cannot do is move mass between wells faster than the
// equation does.
package repair

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/ergoflow/ergoflow/data/equations/density"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// Equation is what chains follow: a system, or on the line formulas, which count everywhere.
type Equation struct {
	System sde.System
	// Formulas are those of an equation on the line; nil if there are none. Drift and Diffusion
	// are theirs.
	Formulas         simulate.Equation
	Drift, Diffusion density.Coefficient
}

// Options say how long chains run. The zero value is Auto.
type Options struct {
	// Steps are those of every chain. 0 is auto: chains run in rounds, each as long as all
	// before it, until a round neither moves the samples nor leaves them wrong, and the samples
	// have forgotten where it began.
	Steps int
	// Limit ends auto; 0 is DefaultLimit.
	Limit time.Duration
	// Seed is that of the noise.
	Seed uint64
}

// Result says what was done.
type Result struct {
	// Steps are those of every chain, and DT the time step of the last round.
	Steps int     `json:"steps"`
	DT    float64 `json:"dt"`
	// Seconds are those of the repair.
	Seconds float64 `json:"seconds"`
	// Moved is the largest Kolmogorov–Smirnov distance between samples before and after, over
	// their statistics: the coordinates, in the plane also sum and difference, of particles
	// their centre, their size and functions of pairs.
	Moved float64 `json:"moved"`
	// Auto says that rounds went on as long as needed. Settled says that the last of them did
	// not move the samples, and left them right.
	Auto    bool `json:"auto"`
	Settled bool `json:"settled"`
	// Replicas of every chain at higher temperatures, and itself, that the last rounds had: of particles that
	// did not leave places where they were not right. 0: none.
	Replicas int `json:"replicas,omitempty"`
}

const (
	// DefaultLimit is that of auto.
	DefaultLimit = 5 * time.Second
	// Steps of the first round of auto. Beyond the line a draw of the model costs as much as
	// thousands of steps, and a look at the samples as much as hundreds.
	firstRound           = 100
	firstRoundBeyondLine = 1000
	firstRoundOfReplicas = 3000
	mostSteps            = 1 << 30
	// still is √(n/2) times the distance of two sets of n draws of one law that chance exceeds
	// once in a hundred times.
	still = 1.63
	// forgotten is the correlation of the samples before and after a round with which they have
	// forgotten their start: what was wrong with them is as much smaller. Where wells keep them
	// from that, so many rounds in a row must not have moved them, each as long as all before.
	forgotten   = 0.1
	stillRounds = 3
)

// Run moves the samples x [n, d] in place. right says of auto whether samples are right, as far
// as it can be known. Samples depend on seed, x and the equation alone, if the limit of auto does
// not end it. After an error the samples are undefined.
func Run(ctx context.Context, x []float32, e Equation, o Options, right func(x []float32) bool) (r Result, err error) {
	begin := time.Now()
	if len(x) == 0 {
		return r, fmt.Errorf("repair: there are no samples")
	}
	start := slices.Clone(x)
	for attempt := range attempts {
		copy(x, start)
		w := newWalk(x, e, o.Seed)
		w.finer = math.Pow(refined, float64(attempt))
		before := w.statistics()
		if err = w.approach(ctx); err == nil && o.Steps > 0 {
			err = w.run(ctx, o.Steps)
		} else if err == nil {
			r.Auto = true
			r.Settled, err = w.auto(ctx, begin, o, before, right)
		}
		if err == nil {
			r.Steps, r.DT, r.Moved = w.steps, w.dt, apart(sorted(before), sorted(w.statistics()))
			r.Seconds = time.Since(begin).Seconds()
			if w.tempered {
				r.Replicas = Ladder.Temperatures
			}
			return r, nil
		}
		if !errors.Is(err, simulate.ErrDiverged) {
			return r, err
		}
	}
	return r, err
}

// Where a chain diverges the repair begins again with refined times the time step, in up to so
// many attempts: the estimate of the step is for the bulk of the law.
const (
	attempts = 4
	refined  = 0.25
)

// auto runs rounds. It does not begin one that would end beyond the limit. Where particles stay where they are and
// are not right, chains get replicas.
func (w *walk) auto(ctx context.Context, begin time.Time, o Options, before [][]float64, right func(x []float32) bool) (settled bool, err error) {
	limit := o.Limit
	if limit == 0 {
		limit = DefaultLimit
	}
	noise := still * math.Sqrt(2/float64(len(before[0])))
	order, rounds := sorted(before), 0 // rounds in a row that have not moved the samples
	round := firstRound
	if w.exact == nil && w.equation.System.Dim() > 1 {
		round = firstRoundBeyondLine
	}
	_, particles := w.equation.System.(sde.Particles)
	for {
		from := time.Now()
		if err := w.run(ctx, round); err != nil {
			return false, err
		}
		after := w.statistics()
		took := time.Since(from).Seconds() / w.cost(round)
		next := sorted(after)
		drift, memory := paired(before, after, order)
		rested := false
		if apart(order, next) > noise || drift > drifts(len(before)) {
			rounds = 0
		} else {
			rounds++
			rested = memory <= forgotten || rounds >= stillRounds
		}
		if (rested || w.replicas) && right(w.x) {
			return true, nil
		}
		before, order = after, next
		switch {
		case w.replicas:
			round *= 2
		case rested && particles:
			w.replicas, round = true, firstRoundOfReplicas
		default:
			round = w.steps
		}
		if w.steps > mostSteps || time.Since(begin).Seconds()+took*w.cost(round) > limit.Seconds() {
			return false, nil
		}
	}
}

// drifts is the |z| that the largest of the paired tests of so many statistics exceeds once in a
// hundred times by chance.
func drifts(statistics int) float64 {
	return distuv.UnitNormal.Quantile(1 - 0.005/float64(2*statistics))
}
