package sde

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/data/random"
)

const (
	// Lanes is how many states a Space evaluates together.
	Lanes = 64
	// MaxSpace bounds the dimension of a Space.
	MaxSpace = 64
)

// Space is an SDE dX = b(X)dt + S(X)dW in up to MaxSpace dimensions, whose coefficients are
// functions of the state instead of tables.
type Space struct {
	// Box is where the law is expected, an interval for each coordinate. Probes start in it; it
	// bounds nothing.
	Box []Interval
	// Domain is where the equation lives: the whole space if it is empty. The coefficients are those
	// at its states, and mean nothing outside.
	Domain Domain
	// Terms is k, the numbers of the diffusion: 1 for S = σ·I, Dim for a diagonal, Dim² for a
	// matrix, row after row. Only S·Sᵀ matters to the law.
	Terms int
	// Noise says what the diffusion depends on, as far as it is known.
	Noise Noise
	// Bind prepares the evaluation at the states x, one block for each coordinate, for one
	// goroutine, with the instructions of an engine (simulate.Engines; empty: the fastest, since all
	// give the same numbers). evaluate(n) computes at least the first n values of the Dim blocks of the drift and the Terms blocks of the
	// diffusion. These do not move and are none of x.
	Bind func(engine string, x []*[Lanes]float64) (evaluate func(n int), drift, diffusion []*[Lanes]float64)
}

// Noise says on which coordinates of the state a diffusion depends.
type Noise int

// Kinds of noise, each a case of the one before.
const (
	AnyNoise      Noise = iota // on any
	DiagonalNoise              // Dim numbers, and number k on coordinate k alone
	AdditiveNoise              // on none
)

// Interval is from Lo to Hi.
type Interval struct{ Lo, Hi float64 }

// Dim is the number of coordinates.
func (s Space) Dim() int { return len(s.Box) }

// Validate reports numbers out of range. It does not evaluate the coefficients.
func (s Space) Validate() error {
	d := s.Dim()
	if d < 1 || d > MaxSpace {
		return fmt.Errorf("%d dimensions, want 1 to %d", d, MaxSpace)
	}
	if s.Terms != 1 && s.Terms != d && s.Terms != d*d {
		return fmt.Errorf("diffusion of %d numbers in %d dimensions, want 1, %d or %d", s.Terms, d, d, d*d)
	}
	for k, box := range s.Box {
		if !(box.Lo < box.Hi) || math.IsInf(box.Hi-box.Lo, 0) {
			return fmt.Errorf("box of coordinate %d is [%v, %v], want a bounded interval", k, box.Lo, box.Hi)
		}
	}
	return s.Domain.validate(s.Box)
}

// Widened is the same equation with a diffusion of more terms: σ·I or a diagonal as a diagonal or a
// matrix.
func (s Space) Widened(terms int) Space {
	if s.Terms == terms {
		return s
	}
	wide := s
	wide.Terms = terms
	if s.Noise == DiagonalNoise && terms > s.Dim() {
		wide.Noise = AnyNoise // which is said of Dim numbers
	}
	wide.Bind = func(engine string, x []*[Lanes]float64) (func(int), []*[Lanes]float64, []*[Lanes]float64) {
		evaluate, drift, diffusion := s.Bind(engine, x)
		all, none := make([]*[Lanes]float64, terms), new([Lanes]float64)
		for k := range all {
			row, column := k, k
			if terms > s.Dim() {
				row, column = k/s.Dim(), k%s.Dim()
			}
			all[k] = none
			if row == column {
				all[k] = diffusion[min(row, len(diffusion)-1)]
			}
		}
		return evaluate, drift, all
	}
	return wide
}

// Blocks are Dim blocks of states.
func (s Space) Blocks() []*[Lanes]float64 {
	memory, blocks := make([][Lanes]float64, s.Dim()), make([]*[Lanes]float64, s.Dim())
	for k := range blocks {
		blocks[k] = &memory[k]
	}
	return blocks
}

// Coefficients are the drift [states, Dim] and the diffusion [states, Terms] at states [states, Dim].
func (s Space) Coefficients(states []float64) (drift, diffusion []float64) {
	d := s.Dim()
	x := s.Blocks()
	evaluate, b, sigma := s.Bind("", x)
	drift, diffusion = make([]float64, 0, len(states)), make([]float64, 0, len(states)/d*s.Terms)
	for ; len(states) > 0; states = states[min(Lanes*d, len(states)):] {
		n := min(Lanes, len(states)/d)
		for l := range n {
			for k := range d {
				x[k][l] = states[l*d+k]
			}
		}
		evaluate(n)
		for l := range n {
			for _, block := range b {
				drift = append(drift, block[l])
			}
			for _, block := range sigma {
				diffusion = append(diffusion, block[l])
			}
		}
	}
	return drift, diffusion
}

// ErrNoNoise means a diffusion that is zero at all states.
var ErrNoNoise = errors.New("its diffusion is 0 everywhere")

// CheckUniform evaluates the equation at n states that are uniform in its box, the same for a seed.
// It refuses a coefficient that is not finite (a *CoefficientError), no noise at all (ErrNoNoise), and
// coefficients that do not suit the domain (ErrEnds).
func (s Space) CheckUniform(n int, seed uint64) error {
	d, states := s.Dim(), s.Uniform(n, seed)
	drift, diffusion := s.Coefficients(states)
	for _, part := range []struct {
		name   string
		values []float64
		width  int
	}{{"drift", drift, d}, {"diffusion", diffusion, s.Terms}} {
		for at, v := range part.values {
			if math.IsNaN(v) || math.Abs(v) > math.MaxFloat32 {
				state := states[at/part.width*d:][:d]
				return &CoefficientError{part.name, at % part.width, v, state}
			}
		}
	}
	if !slices.ContainsFunc(diffusion, func(v float64) bool { return v != 0 }) {
		return ErrNoNoise
	}
	return s.checkEnds(states)
}

// CoefficientError is an ErrNotFinite of a Space.
type CoefficientError struct {
	Part      string // drift or diffusion
	Component int
	Value     float64
	State     []float64
}

func (e *CoefficientError) Error() string {
	return fmt.Sprintf("component %d of the %s is %v at x = %.4g: %v", e.Component, e.Part, e.Value, e.State, ErrNotFinite)
}

// Unwrap gives ErrNotFinite.
func (e *CoefficientError) Unwrap() error { return ErrNotFinite }

// Uniform are n states that are uniform in the box: [n, Dim].
func (s Space) Uniform(n int, seed uint64) []float64 {
	rng, states := random.New(seed, "sde/box"), make([]float64, n*s.Dim())
	for i := range states {
		box := s.Box[i%s.Dim()]
		states[i] = box.Lo + (box.Hi-box.Lo)*rng.Float64()
	}
	return states
}

// MeanSpread is the mean of S·Sᵀ [Dim, Dim] over the diffusions of states [states, Terms].
func (s Space) MeanSpread(diffusions []float64) []float64 {
	mean, n := make([]float64, s.Dim()*s.Dim()), float64(len(diffusions)/s.Terms)
	for ; len(diffusions) > 0; diffusions = diffusions[s.Terms:] {
		for k, v := range Spread(diffusions[:s.Terms], s.Dim()) {
			mean[k] += v / n
		}
	}
	return mean
}

// Spread is S·Sᵀ [dim, dim] of the terms of a diffusion.
func Spread(terms []float64, dim int) []float64 {
	spread := make([]float64, dim*dim)
	for i := range dim {
		switch len(terms) {
		case dim * dim:
			for j := range dim {
				for k := range dim {
					spread[i*dim+j] += terms[i*dim+k] * terms[j*dim+k]
				}
			}
		case dim:
			spread[i*dim+i] = terms[i] * terms[i]
		default:
			spread[i*dim+i] = terms[0] * terms[0]
		}
	}
	return spread
}
