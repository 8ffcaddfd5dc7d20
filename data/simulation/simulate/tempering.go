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
	switch s := system.(type) {
	case sde.Space:
		if why := lacksPotential(s); why != "" {
			return fmt.Errorf("%w %s", ErrTempering, why)
		}
	case sde.Particles:
		if t.Temperatures > widest {
			return fmt.Errorf("%w.temperatures is %d: must be at most %d for particles", ErrTempering, t.Temperatures, widest)
		}
	default:
		return fmt.Errorf("%w is for families with a box, and for particles", ErrTempering)
	}
	return nil
}

// Exchanges is the part of the exchanges that is accepted between each temperature and the next, for
// the first chains of a system, as many as are simulated together. Where it is small, states hardly
// travel: there are too few temperatures for the range. It is 1 where so many steps try none.
func (e *Engine) Exchanges(ctx context.Context, system sde.System, s Scheme, steps int, seed, function uint64, purpose string) ([]float64, error) {
	if !s.Tempering.On() {
		return nil, nil
	}
	if err := s.Fits(system); err != nil {
		return nil, err
	}
	stream := stream{seed, purpose, function}
	switch system := system.(type) {
	case sde.Particles:
		w, err := e.firstSwarm(ctx, system, s, widest/s.Tempering.Temperatures, steps, stream)
		if err != nil {
			return nil, err
		}
		return w.ladder.accepted(), nil
	default:
		c, err := e.firstChains(ctx, system.(sde.Space), s, steps, stream)
		if err != nil {
			return nil, err
		}
		return c.ladder.accepted(), nil
	}
}

// turns say which replicas try to exchange their states, and how many did. Lane l has replica
// l%Temperatures of chain first + l/Temperatures, at that temperature.
type turns struct {
	Tempering
	sources []Source    // of the chains: one number for each exchange that is tried
	tried   int         // sweeps
	counts  []exchanges // of temperatures number i and i+1
}

// exchanges between two neighbouring temperatures.
type exchanges struct{ tried, accepted int }

func newTurns(t Tempering) *turns {
	return &turns{Tempering: t, counts: make([]exchanges, t.Temperatures-1)}
}

// begin starts the streams of chains first, first+1 and so on.
func (t *turns) begin(stream stream, first, count int) {
	t.tried, t.sources = 0, t.sources[:0]
	for i := range count {
		t.sources = append(t.sources, NewSource(stream.seed, stream.purpose+" exchanges", stream.function, uint64(first+i)))
	}
}

// next are the lanes whose states shall be exchanged with those of the next, with a uniform number each:
// temperatures number i and i+1 of every chain, for even i, and for odd ones the next time. States travel
// farther than by pairs at random (Okabe et al., Chem. Phys. Lett. 335, 2001).
func (t *turns) next(try func(lane int, uniform float64)) {
	for chain := range t.sources {
		for i := t.tried % 2; i+1 < t.Temperatures; i += 2 {
			try(chain*t.Temperatures+i, float64(t.sources[chain].Uniform()))
		}
	}
	t.tried++
}

// count counts an exchange with the next lane that was tried.
func (t *turns) count(lane int, accepted bool) {
	c := &t.counts[lane%t.Temperatures]
	c.tried++
	if accepted {
		c.accepted++
	}
}

// accepted is the part of the exchanges that was accepted, by pair of temperatures; 1 where none was tried.
func (t *turns) accepted() []float64 {
	parts := make([]float64, len(t.counts))
	for i, n := range t.counts {
		parts[i] = 1
		if n.tried > 0 {
			parts[i] = float64(n.accepted) / float64(n.tried)
		}
	}
	return parts
}

// ladder exchanges the states of a cloud's replicas.
type ladder struct {
	*turns
	heat      [lanes]float32 // √T, by lane
	cold      [lanes]float64 // 1/T
	potential Potential      // evaluated by the cloud

	states [][lanes]float64 // before the exchange
	trials []trial
	lines  []float64 // the memory of all trials' lines
}

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
	r := &ladder{turns: newTurns(t), states: make([][lanes]float64, s.Dim())}
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

// exchange tries those whose turn it is. One is accepted with the probability
// min(1, exp((1/T − 1/T′)(U(x) − U(y)))), of x at T and y at T′. The difference of U is −2∫b·A⁻¹dx along the
// line from x to y.
func (r *ladder) exchange(c *cloud) {
	r.trials = r.trials[:0]
	r.next(func(lane int, uniform float64) {
		r.trials = append(r.trials, trial{cold: lane, hot: lane + 1, uniform: uniform})
	})
	for k, x := range c.x {
		r.states[k] = *x
	}
	r.potential.differences(r.layLines())
	for k, x := range c.x {
		*x = r.states[k]
	}
	for _, p := range r.trials {
		accepted := p.accurate() && math.Log(p.uniform) < (r.cold[p.hot]-r.cold[p.cold])*p.difference
		r.count(p.cold, accepted)
		if !accepted {
			continue
		}
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
