package deeponet

import (
	"fmt"
	"strings"
)

// Layer describes one layer for people.
type Layer struct {
	Name       string `json:"name"`
	Kind       string `json:"kind"`
	Output     []int  `json:"output"` // for one function, or one sample in the trunk
	Parameters int    `json:"parameters"`
	// MultiplyAdds of a forward pass, for one function, or one sample.
	MultiplyAdds int `json:"multiply_adds"`
}

// Summary lists the layers in the order of computation.
func (c Config) Summary() []Layer {
	var layers []Layer
	dense := func(name string, in, out int, activation string) {
		layers = append(layers, Layer{name, fmt.Sprintf("dense %d→%d%s", in, out, activation), []int{out}, in*out + out, in * out})
	}
	lengths := c.lengths()
	for _, branch := range branches {
		in := 1
		for i, out := range c.Channels {
			layers = append(layers, Layer{
				Name:         fmt.Sprintf("%s.conv%d", branch, i),
				Kind:         fmt.Sprintf("convolution %d→%d, width %d, stride %d, GELU", in, out, c.Kernel, stride),
				Output:       []int{lengths[i+1], out},
				Parameters:   c.Kernel*in*out + out,
				MultiplyAdds: lengths[i+1] * c.Kernel * in * out,
			})
			in = out
		}
		dense(branch+".hidden", c.flattened(), c.Hidden, ", GELU")
		dense(branch+".output", c.Hidden, c.Rank, "")
	}
	in := c.trunkInput()
	for i := range c.TrunkDepth {
		dense(fmt.Sprintf("trunk.hidden%d", i), in, c.TrunkWidth, ", GELU")
		in = c.TrunkWidth
	}
	dense("trunk.output", in, c.Rank, "")
	return layers
}

// FLOPs of the gradient of a batch as the network is defined: two for every
// multiply–add, and twice as many backward as forward. The dense layers and
// convolutions are counted, nothing else.
func (c Config) FLOPs(functions, samples int) float64 {
	total := 0.0
	for _, layer := range c.Summary() {
		times := functions
		if strings.HasPrefix(layer.Name, "trunk.") {
			times *= samples
		}
		total += 6 * float64(layer.MultiplyAdds) * float64(times)
	}
	return total
}
