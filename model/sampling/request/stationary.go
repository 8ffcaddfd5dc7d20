package request

import (
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

const (
	// changing is |E Lf| over E|Lf| without a warning. For a linear drift and f = x² that
	// is a variance between 0.6 and 1.7 times the right one.
	changing = 0.5
	// certain is how many standard errors E Lf must be from 0.
	certain = 5
)

// stationary warns of samples [n, 2] whose law an equation in the plane does not keep. Of
// an invariant law E Lf = 0 for every f with the generator
//
//	Lf = b·∇f + ½ Σ (SSᵀ)ᵢⱼ ∂ᵢ∂ⱼf.
//
// It takes f = x, y, x², xy and y² about the samples' mean, and names the worst.
func stationary(p sde.Plane, x []float32) []string {
	n := len(x) / 2
	var mean [2]float64
	for i := range n {
		mean[0] += float64(x[2*i]) / float64(n)
		mean[1] += float64(x[2*i+1]) / float64(n)
	}
	names := [5]string{"x", "y", "x²", "xy", "y²"}
	var sum, size, squares [5]float64
	for i := range n {
		u, v := float64(x[2*i]), float64(x[2*i+1])
		b, s := p.At(u, v)
		u, v = u-mean[0], v-mean[1]
		for k, lf := range [5]float64{
			b[0], b[1],
			2*u*b[0] + s[0]*s[0] + s[1]*s[1],
			v*b[0] + u*b[1] + s[0]*s[2] + s[1]*s[3],
			2*v*b[1] + s[2]*s[2] + s[3]*s[3],
		} {
			sum[k] += lf / float64(n)
			size[k] += math.Abs(lf) / float64(n)
			squares[k] += lf * lf / float64(n)
		}
	}
	worst := 0
	for k := range names {
		if math.Abs(sum[k])*size[worst] > math.Abs(sum[worst])*size[k] {
			worst = k
		}
	}
	if rate := sum[worst]; math.Abs(rate) > max(changing*size[worst], certain*math.Sqrt(squares[worst]/float64(n))) {
		return []string{fmt.Sprintf("the samples do not have the invariant law: drift and diffusion would change their mean %s by %.3g per unit of time (an invariant law by 0), so the model has not learned this equation", names[worst], rate)}
	}
	return nil
}
