package serve

import (
	"fmt"
	"testing"
)

// BenchmarkSample reports the time of a request for 4,096 samples of an equation that the server
// has not seen, without the network's connection. "shape" has one well on the whole line, "wells"
// two; "power" a law whose tails fall as a power of x; "json" answers numbers as text.
func BenchmarkSample(b *testing.B) {
	s := line(b, config())
	for _, c := range []struct{ name, body, accept string }{
		{"shape", `{"drift": "-x + %.6f*x^2*exp(-x^2)", "diffusion": "1"}`, "application/x-npy"},
		{"wells", `{"drift": "x-x^3+%.6f", "diffusion": "sqrt(1+0.1*x^2)"}`, "application/x-npy"},
		{"power", `{"drift": "-(2+%.6f)*x", "diffusion": "sqrt(1+x^2)"}`, "application/x-npy"},
		{"json", `{"drift": "-x + %.6f*x^2*exp(-x^2)", "diffusion": "1"}`, "application/json"},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				i++
				if code, content, _ := ask(b, s, "/v1/sample", fmt.Sprintf(c.body, float64(i%1_000_000)/1e6), "Accept", c.accept); code != 200 {
					b.Fatalf("status %d: %s", code, content)
				}
			}
		})
	}
}
