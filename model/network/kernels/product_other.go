//go:build !amd64

package kernels

func multiply(t *tile, rows *[tileRows][]float32, panel []float32, bias *[tileColumns]float32) {
	multiplyPlain(t, rows, panel, bias)
}
