package wells

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/closure"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// Well is a region from which the drift leads to one place.
type Well struct {
	At    []float32 // that place
	Have  float64   // the part of the samples
	Law   float64   // that of the law, by the potential
	Error float64   // a standard error of the difference
}

const (
	// mostWells are told apart. Those with fewer than fewestStates of chains in them do not count.
	mostWells    = 16
	fewestStates = 16
	// nearlyAll of the chains and of the samples must be in the wells that count: masses are relative to
	// one another.
	nearlyAll = 0.95
	// surest is the largest standard error of a well's log mass that is believed, and effective how many
	// mapped states the masses must rest on.
	surest    = 0.5
	effective = 4
	// inexact is how far a difference of U may be off.
	inexact = 0.01
)

// masses are those of the wells of a gradient, b = −½SSᵀ∇U with a constant S, so that the law is exp(−U):
// none of other equations, of fewer than two wells, and where they are not sure. homes are the numbers of
// the wells of the chains that end at ends, -1 of those in none of them.
//
// The ratio of the masses of two wells is that of Bennett's acceptance ratio (J. Comput. Phys. 22, 1976)
// between states of one that an affine map carries into the other, and the other way round (Jarzynski,
// Phys. Rev. E 65, 2002). States that the map carries elsewhere count as of infinite energy. So barriers
// are no matter.
func (w *Search) masses(ctx context.Context, k *known, samples rest, ends []float32, at rest, dt float64) (all []Well, homes []int, err error) {
	potential, err := simulate.NewPotential(w.equation)
	if errors.Is(err, simulate.ErrTempering) { // it has none
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	d := w.equation.Dim()
	c := &clusters{known: k}
	have, homes := c.of(samples), c.of(at)
	var numbers []int // of the clusters that count
	var inside [][]float32
	for number, place := range c.places {
		var x []float32
		for i, of := range homes {
			if of == number {
				x = append(x, ends[i*d:][:d]...)
			}
		}
		if len(x)/d < fewestStates {
			continue
		}
		all = append(all, Well{At: place, Have: float64(count(have, number)) / float64(len(have))})
		numbers, inside = append(numbers, number), append(inside, x)
	}
	if len(all) < 2 || !hold(numbers, have) || !hold(numbers, homes) {
		return nil, nil, nil
	}
	largest := 0
	for i, x := range inside {
		if len(x) > len(inside[largest]) {
			largest = i
		}
	}
	b := bridge{search: w, clusters: c, potential: potential, dt: dt}
	logs, deviations := make([]float64, len(all)), make([]float64, len(all))
	for i := range all {
		if i == largest {
			continue
		}
		logs[i], deviations[i], err = b.ratio(ctx, inside[largest], inside[i], numbers[largest], numbers[i])
		if err != nil || !(deviations[i] <= surest) {
			return nil, nil, err
		}
	}
	weigh(all, logs, deviations, len(have))
	for i, of := range homes {
		homes[i] = slices.Index(numbers, of)
	}
	return all, homes, nil
}

// weigh sets the masses of wells by their logs, which have deviations, and the errors beside n samples.
func weigh(all []Well, logs, deviations []float64, n int) {
	total := 0.
	for _, l := range logs {
		total += math.Exp(l)
	}
	for i, l := range logs {
		all[i].Law = math.Exp(l) / total
	}
	for i := range all {
		p := all[i].Law
		variance := p * (1 - p) / float64(n)
		for j := range all {
			share := p * all[j].Law
			if i == j {
				share = p * (1 - p)
			}
			variance += math.Pow(share*deviations[j], 2)
		}
		all[i].Error = math.Sqrt(variance)
	}
}

// clusters are places where states come to rest.
type clusters struct {
	known  *known
	points []points
	places [][]float32
}

// of are the numbers of the places of states, new ones of those that are near no other, -1 beyond mostWells.
func (c *clusters) of(r rest) []int {
	p, m := c.known.points(r.twice), len(c.known.features)
	d := len(r.twice) * m / len(p)
	numbers := make([]int, len(p)/m)
	for i := range numbers {
		point := p[i*m:][:m]
		at := slices.IndexFunc(c.points, func(other points) bool { return squared(point, other) <= near*near })
		if at < 0 && len(c.points) < mostWells {
			at = len(c.points)
			c.points, c.places = append(c.points, point), append(c.places, r.twice[i*d:][:d])
		}
		numbers[i] = at
	}
	return numbers
}

// count is how many of the numbers are this one.
func count(of []int, number int) (n int) {
	for _, v := range of {
		if v == number {
			n++
		}
	}
	return n
}

// hold says whether nearly all of the numbers are among some.
func hold(some, of []int) bool {
	n := 0
	for _, number := range some {
		n += count(of, number)
	}
	return float64(n) >= nearlyAll*float64(len(of))
}

// bridge compares the masses of two wells.
type bridge struct {
	search    *Search
	clusters  *clusters
	potential *simulate.Potential
	dt        float64
}

// ratio is log(mass of the second well / mass of the first) from states inside, with its deviation.
func (b bridge) ratio(ctx context.Context, first, second []float32, one, other int) (log, deviation float64, err error) {
	d := b.search.equation.Dim()
	from, ok := closure.OfStates(first, d)
	to, also := closure.OfStates(second, d)
	if !ok || !also {
		return 0, math.Inf(1), nil
	}
	forth, err := b.works(ctx, first, from, to, other)
	if err != nil {
		return 0, 0, err
	}
	back, err := b.works(ctx, second, to, from, one)
	if err != nil {
		return 0, 0, err
	}
	log, deviation = acceptance(forth, back)
	return log, deviation, nil
}

// works are what the map from one base to another costs states x: U(y) − U(x) − log |∂y/∂x|, +Inf where y is
// not in the well with a number.
func (b bridge) works(ctx context.Context, x []float32, from, to closure.Base, number int) ([]float64, error) {
	y := slices.Clone(x)
	from.Standardise(y)
	to.Restore(y)
	at, err := led(ctx, b.search.equation, y, b.dt)
	if err != nil {
		return nil, err
	}
	works := b.potential.Rises(x, y, inexact)
	for i, of := range b.clusters.of(at) {
		works[i] -= to.LogVolume() - from.LogVolume()
		if of != number {
			works[i] = math.Inf(1)
		}
	}
	return works, nil
}

// acceptance is Bennett's estimate of log(Z₂/Z₁) from the work of carrying states of 1 to 2 and of 2 to 1,
// and its deviation: +Inf where too few states count.
func acceptance(forth, back []float64) (log, deviation float64) {
	shift := math.Log(float64(len(forth)) / float64(len(back)))
	sums := func(works []float64, shift float64) (mean, square float64) {
		for _, w := range works {
			f := 1 / (1 + math.Exp(w+shift)) // 0 of +Inf
			mean += f / float64(len(works))
			square += f * f / float64(len(works))
		}
		return mean, square
	}
	low, high := -1e3, 1e3
	for range 100 {
		log = (low + high) / 2
		// n₁⟨f(w + log + shift)⟩ falls with the log, the other side rises.
		f, _ := sums(forth, log+shift)
		g, _ := sums(back, -log-shift)
		if float64(len(forth))*f > float64(len(back))*g {
			low = log
		} else {
			high = log
		}
	}
	variance := 0.
	for _, side := range []struct {
		works []float64
		shift float64
	}{{forth, log + shift}, {back, -log - shift}} {
		mean, square := sums(side.works, side.shift)
		n := float64(len(side.works))
		if worth := n * mean * mean / square; !(worth >= effective) {
			return log, math.Inf(1)
		}
		variance += (square/(mean*mean) - 1) / n
	}
	return log, math.Sqrt(variance)
}
