package simulate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Tempering is parallel tempering: each chain has replicas at several temperatures, which exchange
// states. A replica at temperature T moves by dX = b(X)dt + √T·S dW. For b = −½SSᵀ∇U and a constant
// S its law is exp(−U/T), so that a hot one crosses barriers that keep the chain in one well for
// longer than it runs. Samples are those of temperature 1 (Swendsen and Wang, Phys. Rev. Lett. 57,
// 1986; Geyer, Computing Science and Statistics 23, 1991).
//
// The zero value is none.
type Tempering struct {
	// Temperatures is their number: 2, 4, 8, 16 or 32. They are from 1 to Hottest, each by the same
	// factor above the one before.
	Temperatures int     `json:"temperatures,omitempty" yaml:"temperatures,omitempty"`
	Hottest      float64 `json:"hottest,omitempty" yaml:"hottest,omitempty"`
	// Every is how many steps are between two exchanges.
	Every int `json:"every,omitempty" yaml:"every,omitempty"`
}

// ErrTempering means that replicas cannot exchange states of an equation, or a field out of range.
var ErrTempering = errors.New("tempering")

const (
	maxTemperatures = lanes / 2
	maxHottest      = 1e6
)

// On says whether there are replicas.
func (t Tempering) On() bool { return t != Tempering{} }

// Replicas of a chain: 1 without tempering.
func (t Tempering) Replicas() int { return max(t.Temperatures, 1) }

// String is for sentences: chains at …
func (t Tempering) String() string {
	if !t.On() {
		return "one temperature"
	}
	return fmt.Sprintf("%d temperatures up to %g, with exchanges every %d steps", t.Temperatures, t.Hottest, t.Every)
}

func (t Tempering) validate() error {
	switch {
	case !t.On():
	case t.Temperatures < 2 || t.Temperatures > maxTemperatures || bits.OnesCount(uint(t.Temperatures)) != 1:
		return fmt.Errorf("%w.temperatures is %d: must be 2, 4, 8, 16 or 32", ErrTempering, t.Temperatures)
	case !(t.Hottest > 1) || t.Hottest > maxHottest:
		return fmt.Errorf("%w.hottest is %v: must be above 1, the temperature of the equation, and at most %g", ErrTempering, t.Hottest, maxHottest)
	case t.Every < 1 || t.Every > maxThin:
		return fmt.Errorf("%w.every is %d steps: must be 1 to %d", ErrTempering, t.Every, maxThin)
	}
	return nil
}

// At is temperature number i, from 0.
func (t Tempering) At(i int) float64 {
	return math.Pow(t.Hottest, float64(i)/float64(t.Temperatures-1))
}

// Fits reports why replicas cannot exchange states of a system: an ErrTempering. Chains check it, too.
func (t Tempering) Fits(system sde.System) error {
	if err := t.validate(); err != nil || !t.On() {
		return err
	}
	s, ok := system.(sde.Space)
	if !ok {
		return fmt.Errorf("%w is for families with a box", ErrTempering)
	}
	if why := lacksPotential(s); why != "" {
		return fmt.Errorf("%w %s", ErrTempering, why)
	}
	return nil
}

// Exchanges is the part of the exchanges that is accepted between each temperature and the next, for
// the first chains of a system, as many as are simulated together. Where it is small, states hardly
// travel: there are too few temperatures for the range.
func (e *Engine) Exchanges(ctx context.Context, system sde.Space, s Scheme, steps int, seed, function uint64, purpose string) ([]float64, error) {
	if !s.Tempering.On() {
		return nil, nil
	}
	c, err := e.firstChains(ctx, system, s, steps, stream{seed, purpose, function})
	if err != nil {
		return nil, err
	}
	accepted := make([]float64, len(c.ladder.counts))
	for i, n := range c.ladder.counts {
		accepted[i] = float64(n.accepted) / float64(n.tried)
	}
	return accepted, nil
}

// ladder exchanges the states of replicas. Lane l of a cloud has replica l%replicas of chain
// first + l/replicas, at that temperature.
type ladder struct {
	Tempering
	heat      [lanes]float32 // √T, by lane
	cold      [lanes]float64 // 1/T
	potential Potential      // evaluated by the cloud
	sources   []Source       // of the chains: one number for each exchange that is tried
	tried     int            // sweeps
	counts    []exchanges    // of temperatures number i and i+1

	states [][lanes]float64 // before the exchange
	trials []trial
	lines  []float64 // the memory of all trials' lines
}

// exchanges between two neighbouring temperatures.
type exchanges struct{ tried, accepted int }

// trial is an exchange that is tried, between lanes of neighbouring temperatures.
type trial struct {
	cold, hot int // lanes
	line          // from the cold state to the hot one
	uniform   float64
}

func newLadder(t Tempering, s sde.Space) (*ladder, error) {
	if err := t.Fits(s); err != nil || !t.On() {
		return nil, err
	}
	r := &ladder{Tempering: t, counts: make([]exchanges, t.Temperatures-1), states: make([][lanes]float64, s.Dim())}
	for l := range lanes {
		temperature := t.At(l % t.Temperatures)
		r.heat[l], r.cold[l] = float32(math.Sqrt(temperature)), 1/temperature
	}
	var err error
	if r.potential.inverse, err = inverseNoise(s); err != nil {
		return nil, err
	}
	return r, nil
}

// begin starts the streams of chains first, first+1 and so on.
func (r *ladder) begin(stream stream, first, count int) {
	r.tried, r.sources = 0, r.sources[:0]
	for i := range count {
		r.sources = append(r.sources, NewSource(stream.seed, stream.purpose+" exchanges", stream.function, uint64(first+i)))
	}
}

// exchange tries one between the temperatures number i and i+1 of every chain, for even i, and for odd
// ones the next time: states travel farther than by pairs at random (Okabe et al., Chem. Phys.
// Lett. 335, 2001). It is accepted with the probability min(1, exp((1/T − 1/T′)(U(x) − U(y)))), of
// x at T and y at T′. The difference of U is −2∫b·A⁻¹dx along the line from x to y.
func (r *ladder) exchange(c *cloud) {
	r.trials = r.trials[:0]
	for chain := range r.sources {
		for i := r.tried % 2; i+1 < r.Temperatures; i += 2 {
			l := chain*r.Temperatures + i
			r.trials = append(r.trials, trial{cold: l, hot: l + 1, uniform: float64(r.sources[chain].Uniform())})
		}
	}
	r.tried++
	for k, x := range c.x {
		r.states[k] = *x
	}
	r.potential.differences(r.layLines())
	for k, x := range c.x {
		*x = r.states[k]
	}
	for _, p := range r.trials {
		count := &r.counts[p.cold%r.Temperatures]
		count.tried++
		if !p.accurate() || !(math.Log(p.uniform) < (r.cold[p.hot]-r.cold[p.cold])*p.difference) {
			continue
		}
		count.accepted++
		for _, x := range c.x {
			x[p.cold], x[p.hot] = x[p.hot], x[p.cold]
		}
		if rule, ok := c.steps.(*leimkuhlerMatthews); ok { // the only one that remembers anything
			rule.exchange(p.cold, p.hot, r.heat[p.hot]/r.heat[p.cold])
		}
	}
}

// mostInaccurate is how much the exponent of an acceptance may be in error. Beyond it an exchange is
// refused, in both directions, which keeps the law.
const mostInaccurate = 0.01

// layLines finds the lines of all trials.
func (r *ladder) layLines() []*line {
	d := len(r.states)
	r.lines = slices.Grow(r.lines[:0], 3*d*len(r.trials))[:3*d*len(r.trials)]
	open := make([]*line, len(r.trials))
	for i := range r.trials {
		p := &r.trials[i]
		p.from, p.along, p.weights = r.lines[3*i*d:][:d], r.lines[(3*i+1)*d:][:d], r.lines[(3*i+2)*d:][:d]
		for k := range r.states {
			x := &r.states[k]
			p.from[k], p.along[k] = x[p.cold], x[p.hot]-x[p.cold]
		}
		p.tolerance = mostInaccurate / (r.cold[p.cold] - r.cold[p.hot])
		r.potential.weigh(&p.line)
		open[i] = &p.line
	}
	return open
}
