//go:build !goexperiment.simd || !amd64

package kernels

func gelu(x []float32)                        { geluPlain(x) }
func mish(x []float32)                        { mishPlain(x) }
func normalise(dst, x, gain, shift []float32) { normalisePlain(dst, x, gain, shift) }
func softmax(x []float32)                     { softmaxPlain(x) }
func scale(x, gain []float32)                 { scalePlain(x, gain) }
func addScaled(x, y, gain []float32)          { addScaledPlain(x, y, gain) }
func dot(a, b []float32) float32              { return dotPlain(a, b) }
func bumps(dst []float32, u float32)          { bumpsPlain(dst, u) }
func messages(dst, w, p, x, y []float32)      { messagesPlain(dst, w, p, x, y) }
