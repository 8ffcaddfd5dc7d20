package kernels

import "fmt"

// Bumps writes exp(−½(u − k)²), k = 0 … K−1, to dst [K].
func Bumps(dst []float32, u float32) { bumps(dst, u) }

func bumpsPlain(dst []float32, u float32) {
	for k := range dst {
		v := u - float32(k)
		dst[k] = exp(-0.5 * v * v)
	}
}

// Messages adds up what a particle receives of n others, with K weights w each and their
// messages p, both [n, K]: it writes
//
//	Σ_j w_jk p_jk,  Σ_j w_jk p_jk x_j,  Σ_j w_jk p_jk y_j
//
// to the three parts of dst [3, K].
func Messages(dst, w, p, x, y []float32) {
	width := len(dst) / 3
	if len(dst) != 3*width || len(y) != len(x) || len(w) != len(x)*width || len(p) != len(w) {
		panic(fmt.Sprintf("kernels: messages of %d weights and %d numbers from %d and %d places to %d", len(w), len(p), len(x), len(y), len(dst)))
	}
	messages(dst, w, p, x, y)
}

func messagesPlain(dst, w, p, x, y []float32) {
	width := len(dst) / 3
	sum, alongX, alongY := dst[:width], dst[width:2*width], dst[2*width:]
	clear(dst)
	for j := range x {
		own := w[j*width : (j+1)*width]
		for k, weight := range own {
			m := weight * p[j*width+k]
			sum[k] += m
			alongX[k] += m * x[j]
			alongY[k] += m * y[j]
		}
	}
}
