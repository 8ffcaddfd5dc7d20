package wells

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/ergoflow/ergoflow/data/equations/sde"
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
	// perCoordinate is how many states a covariance needs for each coordinate; with fewer, coordinates
	// count as independent.
	perCoordinate = 5
	// nearlyAll of the chains and of the samples must be in the wells that count: masses are relative to
	// one another.
	nearlyAll = 0.95
	// surest is the largest standard error of a well's log mass that is believed, and effective how many
	// mapped states the masses must rest on.
	surest    = 0.5
	effective = 4
	// nodes of a line integral, which is believed if half as many give the same up to inexact.
	nodes   = 48
	inexact = 0.1
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
	potential, ok := newPotential(w.equation)
	if !ok {
		return nil, nil, nil
	}
	d := w.equation.Dim()
	c := &clusters{known: k}
	have, homes := c.of(samples), c.of(at)
	var numbers []int // of the clusters that count
	var inside [][]float64
	for number, place := range c.places {
		var x []float64
		for i, of := range homes {
			if of == number {
				x = append(x, double(ends[i*d:][:d])...)
			}
		}
		if len(x)/d < fewestStates {
			continue
		}
		count := 0
		for _, of := range have {
			if of == number {
				count++
			}
		}
		all = append(all, Well{At: place, Have: float64(count) / float64(len(have))})
		numbers, inside = append(numbers, number), append(inside, x)
	}
	if len(all) < 2 || !c.hold(numbers, have) || !c.hold(numbers, homes) {
		return nil, nil, nil
	}
	largest := 0
	for i, x := range inside {
		if len(x) > len(inside[largest]) {
			largest = i
		}
	}
	logs, errors := make([]float64, len(all)), make([]float64, len(all))
	for i := range all {
		if i == largest {
			continue
		}
		b := bridge{search: w, clusters: c, potential: potential, dt: dt}
		log, deviation, err := b.ratio(ctx, inside[largest], inside[i], numbers[largest], numbers[i])
		if err != nil || !(deviation <= surest) {
			return nil, nil, err
		}
		logs[i], errors[i] = log, deviation
	}
	total := 0.
	for _, l := range logs {
		total += math.Exp(l)
	}
	for i, l := range logs {
		all[i].Law = math.Exp(l) / total
	}
	for i := range all {
		p := all[i].Law
		variance := p * (1 - p) / float64(len(have))
		for j := range all {
			share := p * all[j].Law
			if i == j {
				share = p * (1 - p)
			}
			variance += math.Pow(share*errors[j], 2)
		}
		all[i].Error = math.Sqrt(variance)
	}
	for i, of := range homes {
		homes[i] = slices.Index(numbers, of)
	}
	return all, homes, nil
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
		at := slices.IndexFunc(c.points, func(other points) bool { return between(point, other) <= near })
		if at < 0 && len(c.points) < mostWells {
			at = len(c.points)
			c.points, c.places = append(c.points, point), append(c.places, r.twice[i*d:][:d])
		}
		numbers[i] = at
	}
	return numbers
}

// hold says whether nearly all states are in places of these numbers.
func (c *clusters) hold(numbers, of []int) bool {
	count := 0
	for _, number := range of {
		if slices.Contains(numbers, number) {
			count++
		}
	}
	return float64(count) >= nearlyAll*float64(len(of))
}

// between is the distance of two points.
func between(p, q points) float64 {
	sum := 0.
	for c, v := range p {
		sum += (v - q[c]) * (v - q[c])
	}
	return math.Sqrt(sum)
}

// potential is U of a gradient.
type potential struct {
	equation sde.Space
	inverse  []float64 // of SSᵀ, [Dim, Dim]
}

func newPotential(s sde.Space) (potential, bool) {
	if len(s.Domain) > 0 || !simulate.Gradient(s) {
		return potential{}, false
	}
	d := s.Dim()
	_, sigma := s.Coefficients(s.Uniform(1, seed))
	var factor mat.Cholesky
	if !factor.Factorize(mat.NewSymDense(d, sde.Spread(sigma, d))) {
		return potential{}, false
	}
	inverse := mat.NewSymDense(d, nil)
	if factor.InverseTo(inverse) != nil {
		return potential{}, false
	}
	p := potential{equation: s}
	for i := range d * d {
		p.inverse = append(p.inverse, inverse.At(i/d, i%d))
	}
	return p, true
}

// rises are U(y) − U(x) = −2∫b·(SSᵀ)⁻¹ds along the line from x to y, for states [n, Dim]; NaN where the
// integral is not exact.
func (p potential) rises(x, y []float64) []float64 {
	all, coarse := p.integrate(x, y, nodes), p.integrate(x, y, nodes/2)
	for i, v := range all {
		if !(math.Abs(v-coarse[i]) <= inexact) {
			all[i] = math.NaN()
		}
	}
	return all
}

func (p potential) integrate(x, y []float64, nodes int) []float64 {
	d := p.equation.Dim()
	at, weights := make([]float64, nodes), make([]float64, nodes)
	quad.Legendre{}.FixedLocations(at, weights, 0, 1)
	rises := make([]float64, len(x)/d)
	line := make([]float64, 0, nodes*d)
	for i := range rises {
		from, to := x[i*d:][:d], y[i*d:][:d]
		line = line[:0]
		for _, t := range at {
			for k := range d {
				line = append(line, from[k]+t*(to[k]-from[k]))
			}
		}
		drift, _ := p.equation.Coefficients(line)
		for n, weight := range weights {
			for r := range d {
				along := 0. // (SSᵀ)⁻¹(y − x)
				for k := range d {
					along += p.inverse[r*d+k] * (to[k] - from[k])
				}
				rises[i] -= 2 * weight * drift[n*d+r] * along
			}
		}
	}
	return rises
}

// bridge compares the masses of two wells.
type bridge struct {
	search    *Search
	clusters  *clusters
	potential potential
	dt        float64
}

// ratio is log(mass of the second well / mass of the first) from states inside, with its deviation.
func (b bridge) ratio(ctx context.Context, first, second []float64, one, other int) (log, deviation float64, err error) {
	d := b.search.equation.Dim()
	from, to := newEllipsoid(first, d), newEllipsoid(second, d)
	if from.factor == nil || to.factor == nil {
		return 0, math.Inf(1), nil
	}
	volume := to.logVolume() - from.logVolume()
	forth, err := b.works(ctx, first, from, to, other)
	if err != nil {
		return 0, 0, err
	}
	back, err := b.works(ctx, second, to, from, one)
	if err != nil {
		return 0, 0, err
	}
	for i := range forth {
		forth[i] -= volume
	}
	for i := range back {
		back[i] += volume
	}
	log, deviation = acceptance(forth, back)
	return log, deviation, nil
}

// works are what the map from one ellipsoid to another costs states; +Inf where it does not lead into the
// well with a number.
func (b bridge) works(ctx context.Context, x []float64, from, to ellipsoid, number int) ([]float64, error) {
	y := make([]float64, len(x))
	d := len(from.mean)
	for at := 0; at < len(x); at += d {
		to.place(y[at:at+d], from.standard(x[at:at+d]))
	}
	at, err := led(ctx, b.search.equation, single(y), b.dt)
	if err != nil {
		return nil, err
	}
	works := b.potential.rises(x, y)
	for i, of := range b.clusters.of(at) {
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

// ellipsoid is the mean and a root of the covariance of states.
type ellipsoid struct {
	mean   []float64
	factor *mat.TriDense // lower; nil if it is singular
}

func newEllipsoid(x []float64, dim int) ellipsoid {
	n := len(x) / dim
	rows, cov := mat.NewDense(n, dim, x), mat.NewSymDense(dim, nil)
	e := ellipsoid{mean: make([]float64, dim)}
	for k := range dim {
		e.mean[k] = stat.Mean(mat.Col(nil, k, rows), nil)
	}
	stat.CovarianceMatrix(cov, rows, nil)
	if n < perCoordinate*dim {
		for i := range dim {
			for j := range i {
				cov.SetSym(i, j, 0)
			}
		}
	}
	var root mat.Cholesky
	if root.Factorize(cov) {
		e.factor = mat.NewTriDense(dim, mat.Lower, nil)
		root.LTo(e.factor)
	}
	return e
}

// standard is factor⁻¹(x − mean).
func (e ellipsoid) standard(x []float64) []float64 {
	z := make([]float64, len(x))
	for r := range z {
		z[r] = x[r] - e.mean[r]
		for k := range r {
			z[r] -= e.factor.At(r, k) * z[k]
		}
		z[r] /= e.factor.At(r, r)
	}
	return z
}

// place writes mean + factor·z.
func (e ellipsoid) place(x, z []float64) {
	for r := range x {
		x[r] = e.mean[r]
		for k := range r + 1 {
			x[r] += e.factor.At(r, k) * z[k]
		}
	}
}

func (e ellipsoid) logVolume() (sum float64) {
	for k := range e.mean {
		sum += math.Log(e.factor.At(k, k))
	}
	return sum
}

func double(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}
