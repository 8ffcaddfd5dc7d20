// Package sensor has the networks that observe a function through sensors: short
// trajectories of probes, which record the coefficients where they pass. The encoder
// accepts any number of sensors and does not depend on their order.
//
//	probes [m, steps, features]
//	   │ representation   a vector e_i for each sensor
//	   │ aggregator       one code z for all of them
//	   ▼
//	z ─┬─ c = W_c[z; τ(t)] + b_c
//	   │     │ conditioning
//	   ▼     ▼
//	decoder: x → v(x, t)
//
// The configuration chooses each part. e has the width of the last channel, z and c
// have Width.
//
//	trajectory  convolution, LayerNorm, GELU for every channel; mean over the steps
//	point       dense, GELU, dense of the first step
//	endpoint    the same of first step, last step and their difference
//	force       the force of a pair at K distances, without parameters: see force.go
//
//	perceiver   latent tokens read E = e P_e by cross-attention, see perceiver.go
//	mean        dense, GELU, dense of the mean of e
//	deepsets    the same of the sum of (dense, GELU, dense of e)
//	ratio       the same of the sum of the first half of e over the sum of its second
//
//	flat        residual blocks on a state of Dimension numbers, see decoder.go
//	particles   tokens of ParticleDim numbers each, with self-attention among them;
//	            a permutation of the particles permutes the velocities
//	pairs       tokens in the plane that see one another by their distances, see pairs.go;
//	            a rotation or reflection of the state also turns the velocities
//
//	adaln, film, concat, dot: how c acts on a block, see conditioning.go
package sensor

import (
	"fmt"
	"slices"
	"strings"
)

// Representation is the part of the network that embeds a sensor.
type Representation string

// Aggregator is the part that makes the code of a function from the embeddings.
type Aggregator string

// Conditioning is how the code and the time act on the decoder.
type Conditioning string

// Decoder is the part that computes the velocity, for one kind of state.
type Decoder string

// The parts.
const (
	Trajectory Representation = "trajectory"
	Point      Representation = "point"
	Endpoint   Representation = "endpoint"
	Force      Representation = "force"

	Perceiver Aggregator = "perceiver"
	MeanPool  Aggregator = "mean"
	DeepSets  Aggregator = "deepsets"
	Ratio     Aggregator = "ratio"

	AdaLN  Conditioning = "adaln"
	FiLM   Conditioning = "film"
	Concat Conditioning = "concat"
	Dot    Conditioning = "dot"

	Flat        Decoder = "flat"
	Equivariant Decoder = "particles"
	Pairs       Decoder = "pairs"
)

// The choices for each part, in the paper's order; the last ones are ours, except of the
// conditionings.
var (
	Representations = []Representation{Trajectory, Point, Endpoint, Force}
	Aggregators     = []Aggregator{Perceiver, MeanPool, DeepSets, Ratio}
	Conditionings   = []Conditioning{AdaLN, FiLM, Concat, Dot}
	Decoders        = []Decoder{Flat, Equivariant, Pairs}
)

// Config is the architecture. Sizes of parts that are not chosen have no effect, but
// must be in range.
type Config struct {
	Sensors  int `json:"sensors" yaml:"sensors"`   // m; no parameter depends on it
	Steps    int `json:"steps" yaml:"steps"`       // recorded points of a trajectory; no parameter depends on it
	Features int `json:"features" yaml:"features"` // numbers at each point

	Representation Representation `json:"representation" yaml:"representation"`
	Aggregator     Aggregator     `json:"aggregator" yaml:"aggregator"`
	Conditioning   Conditioning   `json:"conditioning" yaml:"conditioning"`
	Decoder        Decoder        `json:"decoder" yaml:"decoder"`

	Channels      []int `json:"channels" yaml:"channels"`             // of the convolutions; the last is the width of e
	Kernel        int   `json:"kernel" yaml:"kernel"`                 // odd width of every convolution
	Hidden        int   `json:"hidden" yaml:"hidden"`                 // hidden layer of point, endpoint, mean, deepsets
	Width         int   `json:"width" yaml:"width"`                   // of z, c and the latent tokens
	Latents       int   `json:"latents" yaml:"latents"`               // tokens of the perceiver
	EncoderBlocks int   `json:"encoder_blocks" yaml:"encoder_blocks"` // of the perceiver
	Heads         int   `json:"heads" yaml:"heads"`                   // of every attention; divides its width
	FeedForward   int   `json:"feed_forward" yaml:"feed_forward"`     // hidden layers of attention blocks, in widths

	Dimension     int     `json:"dimension" yaml:"dimension"`           // d, numbers of a state
	ParticleDim   int     `json:"particle_dim" yaml:"particle_dim"`     // of them for one particle
	DecoderWidth  int     `json:"decoder_width" yaml:"decoder_width"`   // D
	DecoderBlocks int     `json:"decoder_blocks" yaml:"decoder_blocks"` //
	Radial        int     `json:"radial,omitempty" yaml:"radial"`       // K, functions of a distance, of force and pairs
	TimeEmbedding int     `json:"time_embedding" yaml:"time_embedding"` // even
	FMin          float64 `json:"f_min" yaml:"f_min"`                   // lowest embedding frequency, cycles per unit
	FMax          float64 `json:"f_max" yaml:"f_max"`                   // highest
}

// Plane returns the network of the paper's two-dimensional experiment: 256
// trajectories of 20 steps with 8 features (state, drift, diffusion matrix);
// 1,126,338 parameters.
func Plane() Config {
	return Config{
		Sensors: 256, Steps: 20, Features: 8,
		Representation: Trajectory, Aggregator: Perceiver, Conditioning: AdaLN, Decoder: Flat,
		Channels: []int{64, 128}, Kernel: 3, Hidden: 128,
		Width: 128, Latents: 4, EncoderBlocks: 2, Heads: 4, FeedForward: 4,
		Dimension: 2, ParticleDim: 2, DecoderWidth: 128, DecoderBlocks: 4,
		TimeEmbedding: 32, FMin: 0.5, FMax: 16,
	}
}

// Particles returns the network of the paper's 32 particles in the plane: 512
// isolated pairs of 20 steps with 4 features (relative displacement, force);
// 1,784,514 parameters.
func Particles() Config {
	c := Plane()
	c.Sensors, c.Features = 512, 4
	c.Decoder, c.Dimension = Equivariant, 64
	return c
}

// ParticlePairs returns our network of the same sensors and states: it reads the force as a
// function of the distance, and moves particles along the lines between them; 290,643 parameters.
func ParticlePairs() Config {
	c := Particles()
	c.Representation, c.Aggregator, c.Decoder, c.Radial = Force, Ratio, Pairs, 24
	c.DecoderWidth, c.DecoderBlocks = 64, 3
	return c
}

// Bounds that keep a mistyped configuration from exhausting the memory.
const (
	maxSensors = 1 << 16
	maxWidth   = 1 << 14
	maxLayers  = 64
	maxRadial  = 256
)

// Validate reports the first field out of range.
func (c Config) Validate() error {
	if err := c.validateParts(); err != nil {
		return err
	}
	for _, field := range []struct {
		name             string
		value, low, high int
	}{
		{"sensors", c.Sensors, 1, maxSensors},
		{"steps", c.Steps, 1, maxSensors},
		{"features", c.Features, 1, maxWidth},
		{"channels (their number)", len(c.Channels), 1, 8},
		{"kernel", c.Kernel, 1, 63},
		{"hidden", c.Hidden, 1, maxWidth},
		{"width", c.Width, 1, maxWidth},
		{"latents", c.Latents, 1, maxWidth},
		{"encoder_blocks", c.EncoderBlocks, 1, maxLayers},
		{"heads", c.Heads, 1, maxWidth},
		{"feed_forward", c.FeedForward, 1, maxLayers},
		{"dimension", c.Dimension, 1, maxWidth},
		{"particle_dim", c.ParticleDim, 1, maxWidth},
		{"decoder_width", c.DecoderWidth, 1, maxWidth},
		{"decoder_blocks", c.DecoderBlocks, 1, maxLayers},
		{"time_embedding", c.TimeEmbedding, 2, maxWidth},
	} {
		if field.value < field.low || field.value > field.high {
			return fmt.Errorf("model: %s is %d, not in %d…%d", field.name, field.value, field.low, field.high)
		}
	}
	for i, n := range c.Channels {
		if n < 1 || n > maxWidth {
			return fmt.Errorf("model: channels[%d] is %d, not in 1…%d", i, n, maxWidth)
		}
	}
	if c.Kernel%2 == 0 {
		return fmt.Errorf("model: kernel is %d, not odd", c.Kernel)
	}
	if c.TimeEmbedding%2 != 0 {
		return fmt.Errorf("model: time_embedding is %d, not even", c.TimeEmbedding)
	}
	if !(c.FMin > 0 && c.FMin <= c.FMax && c.FMax <= 1e6) {
		return fmt.Errorf("model: frequencies f_min %g and f_max %g do not satisfy 0 < f_min ≤ f_max ≤ 1e6", c.FMin, c.FMax)
	}
	if c.Aggregator == Perceiver && c.Width%c.Heads != 0 {
		return fmt.Errorf("model: width %d is not a multiple of the %d heads", c.Width, c.Heads)
	}
	if c.Decoder == Equivariant && c.DecoderWidth%c.Heads != 0 {
		return fmt.Errorf("model: decoder_width %d is not a multiple of the %d heads", c.DecoderWidth, c.Heads)
	}
	if c.Decoder != Flat && c.Dimension%c.ParticleDim != 0 {
		return fmt.Errorf("model: dimension %d is not a multiple of particle_dim %d", c.Dimension, c.ParticleDim)
	}
	return c.validateRadial()
}

// validateRadial reports what does not fit the functions of a distance.
func (c Config) validateRadial() error {
	least, most := 0, maxRadial
	if c.Decoder == Pairs || c.Representation == Force {
		least = 2
	}
	if c.Decoder == Pairs {
		most = min(most, c.DecoderWidth/2)
	}
	switch {
	case c.Radial < least || c.Radial > most:
		return fmt.Errorf("model: radial is %d, not in %d…%d (of pairs, at most half of decoder_width)", c.Radial, least, most)
	case c.Decoder == Pairs && c.ParticleDim != 2:
		return fmt.Errorf("model: particle_dim is %d, not 2 as for pairs", c.ParticleDim)
	case c.Representation == Force && c.Features != 4:
		return fmt.Errorf("model: features is %d, not the 4 of pairs, which %s reads", c.Features, Force)
	case c.Aggregator == Ratio && c.Representation != Force:
		return fmt.Errorf("model: %s is for the representation %s, not %s", Ratio, Force, c.Representation)
	}
	return nil
}

func (c Config) validateParts() error {
	if err := among("representation", c.Representation, Representations); err != nil {
		return err
	}
	if err := among("aggregator", c.Aggregator, Aggregators); err != nil {
		return err
	}
	if err := among("conditioning", c.Conditioning, Conditionings); err != nil {
		return err
	}
	return among("decoder", c.Decoder, Decoders)
}

func among[S ~string](field string, value S, choices []S) error {
	if slices.Contains(choices, value) {
		return nil
	}
	names := make([]string, len(choices))
	for i, choice := range choices {
		names[i] = string(choice)
	}
	return fmt.Errorf("model: %s is %q, not one of %s", field, value, strings.Join(names, ", "))
}

// embedding is the width of a sensor's vector e.
func (c Config) embedding() int {
	if c.Representation == Force {
		return 2 * c.Radial
	}
	return c.Channels[len(c.Channels)-1]
}

// token is how many numbers of a state make a token of the decoder.
func (c Config) token() int {
	if c.Decoder == Flat {
		return c.Dimension
	}
	return c.ParticleDim
}

// tokens is the number of tokens of a state.
func (c Config) tokens() int { return c.Dimension / c.token() }
