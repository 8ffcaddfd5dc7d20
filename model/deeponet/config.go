// Package deeponet is the multi-input DeepONet for one-dimensional equations on
// a grid. With q the rank, b̂ and σ̂ the normalised coefficients on the grid,
//
//	v(x, t) = Σ_{l=1}^{q} f⁰_l(b̂) · f¹_l(σ̂) · u_l(x, t)
//
// Two convolutional branches give f⁰ and f¹ once per function; one
// fully-connected trunk gives u once per sample.
//
//	branch  [n, G] → 3 × (convolution, stride 2, GELU) → flatten → hidden, GELU → q
//	trunk   [x, emb(x), emb(t)] → depth × (width, GELU) → q
//
// emb is the interleaved sin/cos embedding with geometric frequencies. With the
// paper's sizes a grid of 64 nodes makes 940,928 parameters and one of 256 nodes
// 2,513,792: only the flattened convolution grows.
package deeponet

import (
	"fmt"

	"github.com/ergoflow/ergoflow/model/parameters"
)

// Config is the architecture.
type Config struct {
	Grid           int     `json:"grid" yaml:"grid"`                       // coefficient nodes G
	Rank           int     `json:"rank" yaml:"rank"`                       // q
	Channels       []int   `json:"channels" yaml:"channels"`               // of the branch convolutions
	Kernel         int     `json:"kernel" yaml:"kernel"`                   // odd width of every convolution
	Hidden         int     `json:"hidden" yaml:"hidden"`                   // fully-connected layer of a branch
	TrunkWidth     int     `json:"trunk_width" yaml:"trunk_width"`         //
	TrunkDepth     int     `json:"trunk_depth" yaml:"trunk_depth"`         // hidden layers
	TimeEmbedding  int     `json:"time_embedding" yaml:"time_embedding"`   // even
	StateEmbedding int     `json:"state_embedding" yaml:"state_embedding"` // even
	FMin           float64 `json:"f_min" yaml:"f_min"`                     // lowest embedding frequency, cycles per unit
	FMax           float64 `json:"f_max" yaml:"f_max"`                     // highest
}

// Paper returns the sizes of the paper's one-dimensional experiments for
// coefficients on a grid of that many nodes.
func Paper(grid int) Config {
	return Config{
		Grid: grid, Rank: 128,
		Channels: []int{32, 64, 128}, Kernel: 5, Hidden: 256,
		TrunkWidth: 256, TrunkDepth: 4,
		TimeEmbedding: 32, StateEmbedding: 32, FMin: 0.5, FMax: 16,
	}
}

// Bounds that keep a mistyped configuration from asking for absurd memory.
const (
	maxGrid   = 1 << 16
	maxWidth  = 1 << 14
	maxLayers = 64
)

// Validate reports the first field out of range.
func (c Config) Validate() error {
	for _, field := range []struct {
		name       string
		value      int
		low, high  int
		mustBeEven bool
	}{
		{"grid", c.Grid, 2, maxGrid, false},
		{"rank", c.Rank, 1, maxWidth, false},
		{"channels (their number)", len(c.Channels), 1, 8, false},
		{"kernel", c.Kernel, 1, 63, false},
		{"hidden", c.Hidden, 1, maxWidth, false},
		{"trunk_width", c.TrunkWidth, 1, maxWidth, false},
		{"trunk_depth", c.TrunkDepth, 1, maxLayers, false},
		{"time_embedding", c.TimeEmbedding, 2, maxWidth, true},
		{"state_embedding", c.StateEmbedding, 2, maxWidth, true},
	} {
		if field.value < field.low || field.value > field.high {
			return fmt.Errorf("model: %s is %d, not in %d…%d", field.name, field.value, field.low, field.high)
		}
		if field.mustBeEven && field.value%2 != 0 {
			return fmt.Errorf("model: %s is %d, not even", field.name, field.value)
		}
	}
	if c.Kernel%2 == 0 {
		return fmt.Errorf("model: kernel is %d, not odd", c.Kernel)
	}
	for i, n := range c.Channels {
		if n < 1 || n > maxWidth {
			return fmt.Errorf("model: channels[%d] is %d, not in 1…%d", i, n, maxWidth)
		}
	}
	if !(c.FMin > 0 && c.FMin <= c.FMax && c.FMax <= 1e6) {
		return fmt.Errorf("model: frequencies f_min %g and f_max %g do not satisfy 0 < f_min ≤ f_max ≤ 1e6", c.FMin, c.FMax)
	}
	return nil
}

// stride of the convolutions; with it and same padding a length L becomes ⌈L/2⌉.
const stride = 2

// lengths returns the number of positions before the first and after every
// convolution.
func (c Config) lengths() []int {
	lengths := []int{c.Grid}
	for range c.Channels {
		lengths = append(lengths, (lengths[len(lengths)-1]+stride-1)/stride)
	}
	return lengths
}

// flattened is the number of features that the convolutions hand on.
func (c Config) flattened() int {
	lengths := c.lengths()
	return lengths[len(lengths)-1] * c.Channels[len(c.Channels)-1]
}

// trunkInput is the number of features [x, emb(x), emb(t)].
func (c Config) trunkInput() int { return 1 + c.StateEmbedding + c.TimeEmbedding }

// Layout names every parameter, in the order in which the graph takes them.
// Dense weights are [in, out]; convolution weights are [kernel, in, out].
func (c Config) Layout() parameters.Layout {
	var l parameters.Layout
	dense := func(name string, in, out int) {
		l = append(l,
			parameters.Tensor{Name: name + ".weight", Shape: []int{in, out}, FanIn: in},
			parameters.Tensor{Name: name + ".bias", Shape: []int{out}, FanIn: in})
	}
	for _, branch := range branches {
		in := 1
		for i, out := range c.Channels {
			fan := in * c.Kernel
			name := fmt.Sprintf("%s.conv%d", branch, i)
			l = append(l,
				parameters.Tensor{Name: name + ".weight", Shape: []int{c.Kernel, in, out}, FanIn: fan},
				parameters.Tensor{Name: name + ".bias", Shape: []int{out}, FanIn: fan})
			in = out
		}
		dense(branch+".hidden", c.flattened(), c.Hidden)
		dense(branch+".output", c.Hidden, c.Rank)
	}
	in := c.trunkInput()
	for i := range c.TrunkDepth {
		dense(fmt.Sprintf("trunk.hidden%d", i), in, c.TrunkWidth)
		in = c.TrunkWidth
	}
	dense("trunk.output", in, c.Rank)
	return l
}

// branches in the order of the layout.
var branches = [...]string{"drift", "diffusion"}
