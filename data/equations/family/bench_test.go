package family

import (
	"fmt"
	"testing"

	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// The paper's whole vn1d data set, 65,536 functions with 4,096 samples each,
// coefficients and simulation on all cores, without disk: docs/benchmarks/dataset.py.
func BenchmarkVN1D(b *testing.B) {
	const functions, samples, stretch = 65536, 4096, 4096
	dst := make([]float32, stretch*samples)
	for _, chains := range []int{64, 1024} {
		b.Run(fmt.Sprintf("chains=%d", chains), func(b *testing.B) {
			scheme := simulate.Scheme{DT: 0.01, BurnIn: 5000, Thin: 10, Chains: chains}
			for b.Loop() {
				for first := 0; first < functions; first += stretch {
					d := SampleSpec{First: first, Count: stretch, Seed: 1, Scheme: scheme, Purpose: "train"}
					if err := Sample(b.Context(), vn1d{line{vn1dGrid}}, dst, d, simulate.Fastest(), nil); err != nil {
						b.Fatal(err)
					}
				}
			}
			steps := functions * chains * scheme.Steps(samples/chains)
			b.ReportMetric(float64(steps)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Msteps/s")
		})
	}
}

// The scaled preset's training samples of vn1d as exact draws, 64,512 functions
// with 512 each, coefficients and laws on all cores, without disk.
func BenchmarkVN1DExact(b *testing.B) {
	const functions, samples, stretch = 64512, 512, 8064
	dst := make([]float32, stretch*samples)
	for b.Loop() {
		for first := 0; first < functions; first += stretch {
			d := SampleSpec{First: first, Count: stretch, Seed: 1, Purpose: "train", Exact: true}
			if err := Sample(b.Context(), vn1d{line{vn1dGrid}}, dst, d, simulate.Fastest(), nil); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// Functions of cn2d, fields and all, on one goroutine: a batch of the paper has
// 512, its data set 69,632.
func BenchmarkCN2DFunction(b *testing.B) {
	i := 0
	for b.Loop() {
		if _, err := (cn2d{}).Function(1, i); err != nil {
			b.Fatal(err)
		}
		i++
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "functions/s")
}
