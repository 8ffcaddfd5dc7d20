package sensor_test

import (
	"testing"

	"github.com/ergoflow/ergoflow/model/network/sensor"
)

// BenchmarkHost times one processor: velocities of a block, and the code of a function.
func BenchmarkHost(b *testing.B) {
	for name, c := range map[string]sensor.Config{"plane": sensor.Plane(), "particles": sensor.Particles()} {
		host, err := sensor.NewHost(c, trained(c.Layout()))
		if err != nil {
			b.Fatal(err)
		}
		x := noise("states", host.Block()*c.Dimension).values
		dst, code := make([]float32, len(x)), noise("code", c.Width).values
		b.Run(name+"/velocity", func(b *testing.B) {
			velocity := host.At(code, 0.3)
			for b.Loop() {
				velocity(dst, x)
			}
			b.ReportMetric(float64(host.Block())*float64(b.N)/b.Elapsed().Seconds(), "states/s")
		})
		b.Run(name+"/time", func(b *testing.B) {
			for b.Loop() {
				host.At(code, 0.3)
			}
		})
		b.Run(name+"/encode", func(b *testing.B) {
			probes := noise("probes", c.Sensors*c.Steps*c.Features).values
			for b.Loop() {
				if _, err := host.Encode(b.Context(), [][]float32{probes}, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
