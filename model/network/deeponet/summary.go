package deeponet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ergoflow/ergoflow/model/network/velocity"
)

// Summary lists the layers in the order of computation.
func (c Config) Summary() []velocity.Layer {
	var layers []velocity.Layer
	dense := func(per, name string, in, out int, activation string) {
		layers = append(layers, velocity.Layer{
			Name: name, Kind: fmt.Sprintf("dense %d→%d%s", in, out, activation), Output: []int{out}, Per: per,
			Parameters: in*out + out, MultiplyAdds: in * out,
		})
	}
	for _, f := range c.grids() {
		for _, v := range c.convolutions(f) {
			layers = append(layers, velocity.Layer{
				Name:         v.name,
				Kind:         fmt.Sprintf("convolution %d→%d, width %s, stride %d, GELU", v.in, v.out, times(v.kernel), stride),
				Output:       slices.Concat(v.nodes, []int{v.out}),
				Per:          velocity.PerFunction,
				Parameters:   v.fanIn()*v.out + v.out,
				MultiplyAdds: product(v.nodes) * v.fanIn() * v.out,
			})
		}
		dense(velocity.PerFunction, f.Name+".hidden", c.hiddenInput(f), c.Hidden, ", GELU")
		dense(velocity.PerFunction, f.Name+".output", c.Hidden, c.factors(), "")
	}
	in := c.trunkInput()
	for i := range c.TrunkDepth {
		dense(velocity.PerSample, fmt.Sprintf("trunk.hidden%d", i), in, c.TrunkWidth, ", GELU")
		in = c.TrunkWidth
	}
	dense(velocity.PerSample, "trunk.output", in, c.factors(), "")
	return layers
}

// times formats sizes as 3×3.
func times(sizes []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(sizes), "[]"), " ", "×")
}

// FLOPs implements velocity.Model.
func (c Config) FLOPs(functions, states int) float64 {
	return velocity.FLOPs(c.Summary(), functions, states)
}
