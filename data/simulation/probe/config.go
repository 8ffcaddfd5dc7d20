// Package probe records equations along short paths, the sensors of networks that read no
// grid. A probe starts at a random point and moves. Each of its points gives a row: its
// position and the coefficients there.
//
// Probes are made again for every batch and never stored. They depend on (seed, purpose,
// function, equation, configuration) alone. The first m of M sensors are the same for every
// M.
package probe

import (
	"errors"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Kind is the motion of the probes.
type Kind string

// Kinds of probes.
const (
	// Trajectory follows an equation in the plane, dX = b dt + S dW, from a uniform
	// start in the grid's rectangle. A row is (x, b(x), S(x)), eight numbers, the last
	// four (S₁₁, S₁₂, S₂₁, S₂₂).
	Trajectory Kind = "trajectory"
	// Walk is Brownian motion from the same start, dX = dW: a time step of 0.0025 makes
	// steps of standard deviation 0.05 (see PerGrid). Rows are as of a Trajectory.
	Walk Kind = "walk"
	// Pairs are two particles without the trap. Their displacement r = x₁ − x₂ has
	//
	//	dr = 2F(r)dt + √2·Noise·dW,  F(r) = f(|r|²)r, the force on the first,
	//
	// √2·Noise = √(4/β). They start at a distance that is uniform between 0.2 and 4 times
	// Noise/√(2·Trap), the deviation of one particle alone in the trap (1 without a trap), in
	// a uniform direction. A row is (r, F(r)), four numbers.
	Pairs Kind = "pairs"
	// Path is a Trajectory of an equation without a grid, in Dim dimensions, from a uniform start
	// in its box. A row is (x, b(x)) and the Terms numbers of the diffusion.
	Path Kind = "path"
)

// Config describes the probes of one function: Sensors times Steps rows, the
// first of each sensor at its start, by Euler–Maruyama steps of DT.
type Config struct {
	Kind    Kind    `json:"kind" yaml:"kind"`
	Sensors int     `json:"sensors" yaml:"sensors"`
	Steps   int     `json:"steps" yaml:"steps"` // recorded points of each
	DT      float64 `json:"dt" yaml:"dt"`       // time between them
	// PerGrid makes a tenth of the grid's width along each axis the unit in which a Walk
	// moves, as in the grid ±5 of cn2d, instead of 1.
	PerGrid bool `json:"-" yaml:"-"`
	// Dim and Terms are those of the equations of a Path.
	Dim   int `json:"-" yaml:"-"`
	Terms int `json:"-" yaml:"-"`
}

const (
	maxSensors = 1 << 16
	MaxSteps   = 1 << 12 // bounds Config.Steps
	// MaxTerms bounds the numbers of the diffusion in a row: a full matrix in 16 dimensions.
	MaxTerms = 256
)

// ErrSystem means that an equation has no probes of that kind.
var ErrSystem = errors.New("no probes of that kind")

// Validate reports the first field that is out of range.
func (c Config) Validate() error {
	switch {
	case c.Features() == 0:
		return fmt.Errorf("kind is %q: must be %s, %s, %s or %s", c.Kind, Trajectory, Walk, Pairs, Path)
	case c.Kind == Path && (c.Dim < 1 || c.Dim > sde.MaxSpace || c.Terms < 1 || c.Terms > MaxTerms):
		return fmt.Errorf("paths with %d coordinates and %d numbers of diffusion: must be 1 to %d and 1 to %d", c.Dim, c.Terms, sde.MaxSpace, MaxTerms)
	case c.Sensors < 1 || c.Sensors > maxSensors:
		return fmt.Errorf("sensors is %d: must be from 1 to %d", c.Sensors, maxSensors)
	case c.Steps < 1 || c.Steps > MaxSteps:
		return fmt.Errorf("steps is %d: must be from 1 to %d", c.Steps, MaxSteps)
	case !(c.DT > 0) || math.IsInf(c.DT, 0):
		return fmt.Errorf("dt is %v: must be positive", c.DT)
	}
	return nil
}

// Features is how many numbers a row has, 0 for unknown kinds.
func (c Config) Features() int {
	switch c.Kind {
	case Trajectory, Walk:
		return 8
	case Pairs:
		return 4
	case Path:
		return 2*c.Dim + c.Terms
	}
	return 0
}

// Shape is the shape of one function's probes: [Sensors, Steps, Features].
func (c Config) Shape() []int { return []int{c.Sensors, c.Steps, c.Features()} }

// Size is the number of values of one function's probes.
func (c Config) Size() int { return c.Sensors * c.Steps * c.Features() }

// Fill writes the probes of one function into dst, of shape Shape. The random stream is that
// of (seed, purpose, function); different purposes give independent probes. It runs on the
// calling goroutine, and allocates nothing but for a Path.
//
// Outside the grid the coefficients have their values at the boundary, as for simulated
// chains. Fill refuses an equation that the kind is not for (ErrSystem) and invalid
// coefficients. It fails with ErrDiverged for a probe that ends beyond ±1e6. Errors name the
// function; the contents of dst are undefined then.
func (c Config) Fill(dst []float32, system sde.System, seed uint64, purpose string, function uint64) error {
	if err := c.fill(dst, system, seed, purpose, function); err != nil {
		return fmt.Errorf("probes of function %d: %w", function, err)
	}
	return nil
}

func (c Config) fill(dst []float32, system sde.System, seed uint64, purpose string, function uint64) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if len(dst) != c.Size() {
		return fmt.Errorf("%d values for %d sensors with %d rows of %d", len(dst), c.Sensors, c.Steps, c.Features())
	}
	if err := system.Validate(); err != nil {
		return err
	}
	s := stream{seed: seed, purpose: "probe/" + purpose, function: function}
	switch system := system.(type) {
	case sde.Plane:
		if c.Kind == Trajectory || c.Kind == Walk {
			return c.plane(dst, system, s)
		}
	case sde.Particles:
		if c.Kind == Pairs {
			return c.pairs(dst, system, s)
		}
	case sde.Space:
		if c.Kind == Path {
			return c.space(dst, system, s)
		}
	}
	return fmt.Errorf("%w: %s of %T", ErrSystem, c.Kind, system)
}
