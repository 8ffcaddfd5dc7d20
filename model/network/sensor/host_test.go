package sensor_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/network/sensor"
	"github.com/gomlx/gomlx/core/graph"
)

// The processor alone gives the velocities of the network's graph, for every combination of the
// parts, several functions, and several blocks of samples.
func TestHostNetwork(t *testing.T) {
	b, err := backend.Open(backend.Go)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	variants(t, func(t *testing.T, c sensor.Config) { compareHost(t, b, c, 3, 200) })
}

// So it does with the sizes of experiments, for which the vector kernels are made.
func TestHostSizes(t *testing.T) {
	b, err := backend.Open(backend.Go)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for name, c := range map[string]sensor.Config{"plane": sensor.Plane(), "particles": sensor.Particles(), "pairs": sensor.ParticlePairs()} {
		t.Run(name, func(t *testing.T) {
			c.Sensors, c.Steps = 37, 5
			compareHost(t, b, c, 1, 7)
		})
	}
}

func compareHost(t *testing.T, b *backend.Backend, c sensor.Config, functions, samples int) {
	theta := trained(c.Layout())
	probes := noise("probes", functions, c.Sensors, c.Steps, c.Features)
	x := noise("states", functions, samples, c.Dimension)
	times := array{make([]float32, functions), []int{functions, 1}}
	for i := range times.values {
		times.values[i] = float32(i+1) / 5
	}
	out := evaluate(t, b, []array{vector(theta), probes, x, times}, func(in []*graph.Node) []*graph.Node {
		n := network(c, in[0])
		code := n.Encode(in[1:2])
		return []*graph.Node{code, n.Velocity(code, in[2], in[3])}
	})
	host, err := sensor.NewHost(c, theta)
	if err != nil {
		t.Fatal(err)
	}
	codes, err := host.Encode(t.Context(), [][]float32{probes.values}, functions)
	if err != nil {
		t.Fatal(err)
	}
	close32(t, "code", codes, out[0])
	velocities, size := make([]float32, len(x.values)), samples*c.Dimension
	for i := range functions {
		host.At(codes[i*host.CodeSize():(i+1)*host.CodeSize()], float64(times.values[i]))(velocities[i*size:(i+1)*size], x.values[i*size:(i+1)*size])
	}
	close32(t, "velocity", velocities, out[1])
}

// close32 fails unless got is within rounding of want, relative to want's largest element.
func close32(t *testing.T, what string, got, want []float32) {
	t.Helper()
	scale := 0.0
	for _, w := range want {
		scale = max(scale, math.Abs(float64(w)))
	}
	if len(got) != len(want) || scale == 0 {
		t.Fatalf("%d numbers of the %s, want %d; the largest is %g", len(got), what, len(want), scale)
	}
	for i, w := range want {
		if !(math.Abs(float64(got[i]-w)) <= 1e-5*scale) {
			t.Fatalf("%s[%d] is %g, want %g; largest %g", what, i, got[i], w, scale)
		}
	}
}

func TestHostRefuses(t *testing.T) {
	c := tiny(sensor.Flat)
	if _, err := sensor.NewHost(c, make([]float32, 7)); err == nil {
		t.Error("7 parameters are accepted")
	}
	host, err := sensor.NewHost(c, trained(c.Layout()))
	if err != nil {
		t.Fatal(err)
	}
	probe := make([]float32, c.Sensors*c.Steps*c.Features)
	for name, inputs := range map[string][][]float32{"no probes": nil, "two inputs": {probe, probe}, "a number more": {make([]float32, len(probe)+1)}} {
		if _, err := host.Encode(t.Context(), inputs, 1); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := host.Encode(cancelled, [][]float32{probe}, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("after cancellation: %v", err)
	}
}
