package simulate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ergoflow/ergoflow/data/equations/lift"
	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Integrator is the rule by which chains take steps of dX = b(X)dt + S(X)dW, in the sense of Itô.
// The orders are those of averages over the invariant law: an error of order p is about 2ᵖ times
// smaller with half the time step.
type Integrator string

// Integrators. Euler is empty, so that the hashes of older data sets stay.
const (
	Euler              Integrator = ""                    // order 1
	LeimkuhlerMatthews Integrator = "leimkuhler-matthews" // order 2 for gradients and a constant S
	Heun               Integrator = "heun"                // order 2 for a constant S, otherwise 1
	Milstein           Integrator = "milstein"            // order 1; strong order 1 for a diagonal S
	Platen             Integrator = "platen"              // order 2 for a diagonal S
	Tamed              Integrator = "tamed"               // order 1, for drifts that grow fast
	BAOAB              Integrator = "baoab"               // order 2 for positions and velocities
	MALA               Integrator = "mala"                // no error of the step, for gradients and a constant S
)

// Integrators are all of them.
func Integrators() []Integrator {
	return []Integrator{Euler, LeimkuhlerMatthews, Heun, Milstein, Platen, Tamed, BAOAB, MALA}
}

// ErrIntegrator means that an integrator does not suit an equation, or does not exist.
var ErrIntegrator = errors.New("integrator")

// String is the name in configurations.
func (i Integrator) String() string {
	if i == Euler {
		return "euler"
	}
	return string(i)
}

// Title is the name in sentences and tables.
func (i Integrator) Title() string {
	switch i {
	case Euler:
		return "Euler–Maruyama"
	case LeimkuhlerMatthews:
		return "Leimkuhler–Matthews"
	case Tamed:
		return "tamed Euler"
	case BAOAB, MALA:
		return strings.ToUpper(string(i))
	}
	return strings.ToUpper(string(i[:1])) + string(i[1:])
}

// UnmarshalText reads a name. Validate of the scheme checks it.
func (i *Integrator) UnmarshalText(name []byte) error {
	*i = Integrator(name)
	if *i == Integrator(Euler.String()) {
		*i = Euler
	}
	return nil
}

func (i Integrator) validate() error {
	if slices.Contains(Integrators(), i) {
		return nil
	}
	var names []string
	for _, known := range Integrators() {
		names = append(names, known.String())
	}
	return fmt.Errorf("%w %.40q is unknown: must be %s", ErrIntegrator, string(i), strings.Join(names, ", "))
}

// Fits reports why an integrator does not suit a system: an ErrIntegrator. Chains check it, too.
func (i Integrator) Fits(system sde.System) error {
	if err := i.validate(); err != nil || i == Euler {
		return err
	}
	switch s := system.(type) {
	case sde.Space:
		_, err := i.steps(s, 1)
		return err
	case sde.Particles:
		if i != MALA {
			return fmt.Errorf("%w %v is for families with a box: particles have %v and %v", ErrIntegrator, i, Euler, MALA)
		}
		return nil
	}
	return fmt.Errorf("%w %v is for families with a box: equations on a grid have %v", ErrIntegrator, i, Euler)
}

// steps makes the rule for an equation, in its coordinates without ends, and a time step.
func (i Integrator) steps(s sde.Space, dt float64) (steps, error) {
	if i == MALA {
		if why := lacksPotential(s); why != "" {
			return nil, i.refuse(why, s)
		}
	}
	s = lift.Of(s)
	switch {
	case i == LeimkuhlerMatthews && s.Noise != sde.AdditiveNoise:
		return nil, i.refuse("needs a diffusion that does not depend on the state", s)
	case (i == Milstein || i == Platen) && s.Noise == sde.AnyNoise:
		return nil, i.refuse("needs a diagonal diffusion, of which number k depends on x[k] alone", s)
	}
	switch i {
	case Euler:
		return euler{}, nil
	case LeimkuhlerMatthews:
		return newLeimkuhlerMatthews(s), nil
	case Milstein:
		if s.Noise == sde.AdditiveNoise { // of which it is a more expensive way
			return euler{}, nil
		}
		return newMilstein(s), nil
	case Platen:
		if s.Noise == sde.AdditiveNoise {
			return newHeun(s), nil
		}
		return newPlaten(s), nil
	case Heun:
		return newHeun(s), nil
	case Tamed:
		return newTamed(s), nil
	case BAOAB:
		return newBAOAB(s, dt)
	case MALA:
		return newMALA(s)
	}
	return nil, i.validate()
}

func (i Integrator) refuse(why string, s sde.Space) error {
	return fmt.Errorf("%w %v %s; %v would do", ErrIntegrator, i, why, Suited(s))
}

// steps move the states of a cloud. They write neither to the drift nor to the diffusion, of which
// two components may be one block.
type steps interface {
	// begin is called once the first states are known.
	begin(c *cloud)
	// take moves the states c.x, which are also in c.before, by a step.
	take(c *cloud)
}

// euler is the scheme of Euler and Maruyama: X + b dt + S√dt·R (Maruyama, Rend. Circ. Mat. Palermo 4, 1955).
type euler struct{}

func (euler) begin(*cloud) {}

func (euler) take(c *cloud) {
	c.evaluate(c.active)
	c.noise()
	c.add(c.drift, c.z)
}

// blocks are values of a step that the next evaluation would overwrite.
type blocks [][lanes]float64

func (b blocks) keep(from []*[lanes]float64) {
	for k, block := range from {
		b[k] = *block
	}
}

// of is block k of a diffusion: a scalar one has one for all coordinates.
func (b blocks) of(k int) *[lanes]float64 { return &b[min(k, len(b)-1)] }

// support evaluates at X + b dt + root·σ, for the X, b and a diagonal σ of the beginning of a step.
func (c *cloud) support(drift, diffusion blocks, root float64) {
	for k, x := range c.x {
		x := x[:c.active]
		b, sigma := drift[k][:len(x)], diffusion.of(k)[:len(x)]
		for l, v := range c.before[k][:len(x)] {
			x[l] = v + (float64(b[l]*c.step.dt) + float64(sigma[l]*root))
		}
	}
	c.evaluate(c.active)
}
