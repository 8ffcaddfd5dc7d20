// Package testclouds draws the clouds of the golden file and of tests. It
// repeats the arithmetic of docs/benchmarks/geomloss_golden.py bit for bit.
package testclouds

import "fmt"

// Law is a seeded cloud of N points in D dimensions. Parameters depend on the
// Kind:
//
//	normal   mean, standard deviation
//	modes    weight of the first mode, two centres, standard deviation
//	uniform  low, high
//	ratio    scale; heavy tails
//
// Means and centres are along the first axis, a quarter of that along others.
type Law struct {
	Kind       string
	N, D       int
	Seed       uint64
	Parameters []float64
}

// Uniform is draw k of the numbers with that index, in [0, 1).
func (l Law) Uniform(index, k int) float64 {
	z := l.Seed<<32 + uint64(index)*16 + uint64(k)
	z = z*0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	z ^= z >> 31
	return float64(z>>11) * 0x1p-53
}

// bell is about normal: the sum of twelve uniform numbers, less 6.
func (l Law) bell(index int) float64 {
	var total float64
	for k := range 12 {
		total += l.Uniform(index, k)
	}
	return total - 6
}

// Points draws the coordinates, [N, D]. It panics on an unknown kind.
func (l Law) Points() []float32 {
	p := l.Parameters
	x := make([]float32, l.N*l.D)
	for i := range l.N {
		for axis := range l.D {
			weight, index := 0.25, i*l.D+axis
			if axis == 0 {
				weight = 1
			}
			var v float64 // float64(a*b) keeps the compiler from fusing products into sums
			switch l.Kind {
			case "normal":
				v = float64(p[0]*weight) + float64(p[1]*l.bell(index))
			case "modes":
				centre := p[2]
				if l.Uniform(i*l.D, 12) < p[0] {
					centre = p[1]
				}
				v = float64(centre*weight) + float64(p[3]*l.bell(index))
			case "uniform":
				v = float64(p[0]*weight) + float64((p[1]-p[0])*l.Uniform(index, 0))
			case "ratio":
				v = float64(p[0]*l.bell(index)) / (l.Uniform(index, 12) + 0.001)
			default:
				panic(fmt.Sprintf("unknown kind %q", l.Kind))
			}
			x[index] = float32(v)
		}
	}
	return x
}
