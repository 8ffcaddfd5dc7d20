package sensor_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
	"github.com/ergoflow/ergoflow/model/network/layers"
	"github.com/ergoflow/ergoflow/model/network/sensor"
	"github.com/ergoflow/ergoflow/model/network/velocity"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// The gradient of a batch in either precision. GFLOP/s counts the network as it is
// defined.
func BenchmarkGradient(b *testing.B) {
	plane := sensor.Plane()
	plane.Sensors = 128
	for _, test := range []struct {
		name               string
		config             sensor.Config
		functions, samples int
	}{
		{"plane", plane, 64, 64},
		{"particles", sensor.Particles(), 8, 64},
	} {
		for _, precision := range layers.Precisions() {
			b.Run(test.name+"/"+string(precision), func(b *testing.B) {
				benchmarkGradient(b, test.config, test.functions, test.samples, precision)
			})
		}
	}
}

func benchmarkGradient(b *testing.B, c sensor.Config, functions, samples int, precision layers.Precision) {
	device := backendtest.Fast(b)
	layout := c.Layout()
	states := []int{functions, samples, c.Dim()}
	arguments := []array{
		vector(trained(layout)),
		noise("probes", functions, c.Sensors, c.Steps, c.Features),
		noise("x", states...), noise("u", states...), noise("t", functions, samples),
	}
	var inputs []shapes.Shape
	var buffers []backend.Buffer
	defer func() { backend.Free(buffers...) }()
	for _, a := range arguments {
		buffer, err := device.Upload(a.values, a.shape...)
		if err != nil {
			b.Fatal(err)
		}
		inputs, buffers = append(inputs, backend.Shape(a.shape...)), append(buffers, buffer)
	}
	program, err := device.Compile("gradient", inputs, func(in []*graph.Node) []*graph.Node {
		parts := velocity.Split(layout, in[0])
		network := c.Network(parts, precision)
		r := graph.Sub(network.Velocity(network.Encode(in[1:2]), in[2], in[4]), in[3])
		loss := graph.ReduceAllSum(graph.Mul(r, r))
		flat := []*graph.Node{graph.Reshape(loss, 1)}
		for _, gradient := range graph.Gradient(loss, parts...) {
			flat = append(flat, graph.Reshape(gradient, -1))
		}
		return []*graph.Node{graph.Concatenate(flat, 0)}
	})
	if err != nil {
		b.Fatal(err)
	}
	defer program.Close()
	sum := make([]float32, layout.Size()+1)
	run := func() {
		outputs, err := program.Run(buffers...)
		if err != nil {
			b.Fatal(err)
		}
		err = backend.Download(sum, outputs[0])
		backend.Free(outputs...)
		if err != nil {
			b.Fatal(err)
		}
	}
	run() // touches the memory that later runs find
	used := processorSeconds(b)
	for b.Loop() {
		run()
	}
	b.ReportMetric((processorSeconds(b)-used)/float64(b.N), "cpu-s/op")
	b.ReportMetric(c.FLOPs(functions, functions*samples)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

// processorSeconds that the process has used so far.
func processorSeconds(b *testing.B) float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}
