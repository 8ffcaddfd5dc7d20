// Command velocities writes what every network of the paper computes, at full
// size, one safetensors file each, for verify_torch.py to compare with PyTorch:
//
//	go run ./docs/benchmarks/velocities DIR
//
// A file holds the parameters under their names, the network's inputs as
// "input.NAME", states "x" [n, S, d] and times "t" [n, S], and "velocity"
// [n, S, d]; its metadata have "kind" and "config", the package and the
// configuration of the network.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/internal/safetensors"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/network/deeponet"
	"github.com/ergoflow/ergoflow/model/network/layers"
	"github.com/ergoflow/ergoflow/model/network/parameters"
	"github.com/ergoflow/ergoflow/model/network/sensor"
	"github.com/ergoflow/ergoflow/model/network/velocity"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// Functions of a file, and samples of each.
const (
	functions = 3
	samples   = 32
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: velocities DIR")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "velocities: %v\n", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	b, err := backend.Open(backend.Auto)
	if err != nil {
		return err
	}
	defer b.Close()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, n := range networks() {
		if err := write(filepath.Join(dir, n.name+".safetensors"), b, n); err != nil {
			return fmt.Errorf("%s: %w", n.name, err)
		}
	}
	return nil
}

type network struct {
	name, kind string
	model      velocity.Model
}

// networks are those of the paper's tables.
func networks() []network {
	timed := deeponet.Paper(64)
	timed.Fields = append(timed.Fields, velocity.Input{Name: "log_time", Shape: []int{1}})
	list := []network{
		{"vn1d", "deeponet", deeponet.Paper(64)},
		{"vn1d_time", "deeponet", timed},
		{"rare1d", "deeponet", deeponet.Paper(256)},
		{"cn2d-grid", "deeponet", deeponet.PaperPlane(32)},
		{"cn2d", "sensor", sensor.Plane()},
		{"particles64d", "sensor", sensor.Particles()},
	}
	for _, v := range []struct {
		name   string
		change func(*sensor.Config)
	}{
		{"point", func(c *sensor.Config) { c.Representation = sensor.Point }},
		{"endpoint", func(c *sensor.Config) { c.Representation = sensor.Endpoint }},
		{"mean", func(c *sensor.Config) { c.Aggregator = sensor.MeanPool }},
		{"deepsets", func(c *sensor.Config) { c.Aggregator = sensor.DeepSets }},
		{"film", func(c *sensor.Config) { c.Conditioning = sensor.FiLM }},
		{"concat", func(c *sensor.Config) { c.Conditioning = sensor.Concat }},
		{"dot", func(c *sensor.Config) { c.Conditioning = sensor.Dot }},
	} {
		c := sensor.Plane()
		v.change(&c)
		list = append(list, network{"cn2d-" + v.name, "sensor", c})
	}
	return list
}

// write evaluates a network at its initial parameters, to which noise is added
// where they start as constants: the sensor networks' velocities start at zero.
func write(path string, b *backend.Backend, n network) error {
	config, err := json.Marshal(n.model)
	if err != nil {
		return err
	}
	layout := n.model.Layout()
	theta := layout.Initialise(1)
	var tensors []safetensors.Tensor
	for i, offset := range layout.Offsets()[:len(layout)] {
		t := layout[i]
		part := theta[offset : offset+t.Size()]
		if t.Start == parameters.Zeros || t.Start == parameters.Ones {
			for j, v := range normal("velocities/"+t.Name, len(part)) {
				part[j] += 0.1 * v
			}
		}
		tensors = append(tensors, safetensors.Float32(t.Name, t.Shape, part))
	}

	shape := []int{functions, samples, n.model.Dim()}
	times := make([]float32, functions*samples)
	source := random.New(1, "velocities/t")
	for i := range times {
		times[i] = source.Float32()
	}
	var data []safetensors.Tensor
	for _, input := range n.model.Inputs() {
		data = append(data, safetensors.Float32("input."+input.Name,
			append([]int{functions}, input.Shape...), normal("velocities/"+input.Name, functions*input.Size())))
	}
	data = append(data,
		safetensors.Float32("x", shape, normal("velocities/x", functions*samples*n.model.Dim())),
		safetensors.Float32("t", shape[:2], times))
	v, err := evaluate(b, n.model, theta, data)
	if err != nil {
		return err
	}
	tensors = append(append(tensors, data...), safetensors.Float32("velocity", shape, v))
	file, err := safetensors.Encode(tensors, map[string]string{"kind": n.kind, "config": string(config)})
	if err != nil {
		return err
	}
	return os.WriteFile(path, file, 0o644)
}

func normal(purpose string, n int) []float32 {
	source := random.New(1, purpose)
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(source.NormFloat64())
	}
	return values
}

// evaluate returns the velocities; data are the inputs, x and t.
func evaluate(b *backend.Backend, model velocity.Model, theta []float32, data []safetensors.Tensor) ([]float32, error) {
	inputs := []shapes.Shape{backend.Shape(len(theta))}
	values := [][]float32{theta}
	for _, d := range data {
		v, err := d.Float32s()
		if err != nil {
			return nil, err
		}
		inputs, values = append(inputs, backend.Shape(d.Shape...)), append(values, v)
	}
	program, err := b.Compile("velocities", inputs, func(in []*graph.Node) []*graph.Node {
		network := model.Network(velocity.Split(model.Layout(), in[0]), layers.Float32)
		last := len(in) - 2
		return []*graph.Node{network.Velocity(network.Encode(in[1:last]), in[last], in[last+1])}
	})
	if err != nil {
		return nil, err
	}
	defer program.Close()
	var buffers []backend.Buffer
	defer func() { backend.Free(buffers...) }()
	for i, v := range values {
		buffer, err := b.Upload(v, inputs[i].Dimensions...)
		if err != nil {
			return nil, err
		}
		buffers = append(buffers, buffer)
	}
	outputs, err := program.Run(buffers...)
	if err != nil {
		return nil, err
	}
	buffers = append(buffers, outputs...)
	velocities := make([]float32, functions*samples*model.Dim())
	return velocities, backend.Download(velocities, outputs[0])
}
