package simulate

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// The rule of Gauss and Kronrod with 15 points on [−1, 1] is exact for polynomials of degree 22. Every
// second of its points, from the second on, is one of Gauss's 7, which are exact for degree 13. What the
// two differ by is a bound of the error that is far above it as a rule (Kronrod 1965; digits of
// QUADPACK's QK15).
var kronrod = [8]struct{ node, weight, gauss float64 }{
	{0.991455371120812639206854697526329, 0.022935322010529224963732008058970, 0},
	{0.949107912342758524526189684047851, 0.063092092629978553290700663189204, 0.129484966168869693270611432679082},
	{0.864864423359769072789712788640926, 0.104790010322250183839876322541518, 0},
	{0.741531185599394439863864773280788, 0.140653259715525918745189590510238, 0.279705391489276667901467771423780},
	{0.586087235467691130294144258838250, 0.169004726639267902826583426598550, 0},
	{0.405845151377397166906606412076961, 0.190350578064785409913256402421014, 0.381830050505118944950369775488975},
	{0.207784955007898467600689403773245, 0.204432940075298892414161999234649, 0},
	{0, 0.209482141084727828012999174891714, 0.417959183673469387755102040816327},
}

// rule is the one of Gauss and Kronrod on [0, 1].
var rule = func() (all [2*len(kronrod) - 1]struct{ at, weight, gauss float64 }) {
	for i, p := range kronrod {
		for at, node := range map[int]float64{i: -p.node, len(all) - 1 - i: p.node} {
			all[at].at, all[at].weight, all[at].gauss = (1+node)/2, p.weight/2, p.gauss/2
		}
	}
	return all
}()

// mostPanels of a line: they are doubled until the integral is accurate.
const mostPanels = 64

// Potential has the differences of U for a gradient, b = −½SSᵀ∇U with a constant S, by integrals of the
// drift along lines. It is for one goroutine.
type Potential struct {
	inverse  []float64 // of SSᵀ, [dim, dim]
	x, drift []*[lanes]float64
	evaluate func(n int)
}

// NewPotential is that of an equation without ends. Its error is an ErrTempering, which says why there is none.
func NewPotential(s sde.Space) (*Potential, error) {
	if why := lacksPotential(s); why != "" {
		return nil, fmt.Errorf("%w %s", ErrTempering, why)
	}
	inverse, err := inverseNoise(s)
	if err != nil {
		return nil, err
	}
	p := &Potential{inverse: inverse, x: s.Blocks()}
	p.evaluate, p.drift, _ = s.Bind("", p.x)
	return p, nil
}

// lacksPotential says what a method that compares states by the potential of an equation would need of it;
// empty: it has all.
func lacksPotential(s sde.Space) string {
	switch {
	case s.Domain.Restricts():
		return "is for states without ends: the domain has some"
	case s.Noise != sde.AdditiveNoise:
		return "needs a diffusion that does not depend on the state"
	case !gradient(s):
		return "needs a drift that is a gradient, and noise of all coordinates: otherwise the density of the law is not known"
	}
	return ""
}

// inverseNoise is the inverse of SSᵀ, [dim, dim], of a constant S.
func inverseNoise(s sde.Space) ([]float64, error) {
	d := s.Dim()
	_, sigma := s.Coefficients(s.Uniform(1, 0))
	var factor mat.Cholesky
	if !factor.Factorize(mat.NewSymDense(d, sde.Spread(sigma, d))) {
		return nil, fmt.Errorf("%w needs noise of all coordinates", ErrTempering)
	}
	inverse := mat.NewSymDense(d, nil)
	if err := factor.InverseTo(inverse); err != nil {
		return nil, fmt.Errorf("%w: the inverse of SSᵀ: %w", ErrTempering, err)
	}
	full := make([]float64, d*d) // of which inverse stores a half
	for at := range full {
		full[at] = inverse.At(at/d, at%d)
	}
	return full, nil
}

// Rises are U(y) − U(x) of states [n, dim], with errors of at most tolerance; NaN where they are larger.
func (p *Potential) Rises(x, y []float32, tolerance float64) []float64 {
	d := len(p.x)
	lines, open := make([]line, len(x)/d), make([]*line, len(x)/d)
	memory := make([]float64, 3*len(x))
	for i := range lines {
		l := &lines[i]
		l.from, l.along, l.weights = memory[3*i*d:][:d], memory[(3*i+1)*d:][:d], memory[(3*i+2)*d:][:d]
		for k := range d {
			l.from[k], l.along[k] = float64(x[i*d+k]), float64(y[i*d+k])-float64(x[i*d+k])
		}
		l.tolerance = tolerance
		p.weigh(l)
		open[i] = l
	}
	p.differences(open)
	rises := make([]float64, len(lines))
	for i, l := range lines {
		rises[i] = l.difference
		if !l.accurate() {
			rises[i] = math.NaN()
		}
	}
	return rises
}

// line is from a state x to a state y.
type line struct {
	from, along, weights []float64 // x, y − x and A⁻¹(y − x), with A = SSᵀ
	tolerance            float64
	difference           float64 // U(y) − U(x)
	inaccuracy           float64 // of it
}

func (l *line) accurate() bool { return l.inaccuracy <= l.tolerance }

// weigh finds the weights of a line.
func (p *Potential) weigh(l *line) {
	d := len(l.along)
	for k := range l.weights {
		sum := 0.
		for j, a := range p.inverse[k*d:][:d] {
			sum += float64(a * l.along[j])
		}
		l.weights[k] = sum
	}
}

// differences are those of U between the ends of lines, −2∫b·A⁻¹dx along them. It changes the slice.
func (p *Potential) differences(open []*line) {
	for panels := 1; panels <= mostPanels && len(open) > 0; panels *= 2 {
		p.integrate(open, panels)
		still := open[:0]
		for _, l := range open {
			if !l.accurate() {
				still = append(still, l)
			}
		}
		open = still
	}
}

// integrate applies the rule to so many panels of each line. Points take the lanes of the
// evaluation, one after the other.
func (p *Potential) integrate(open []*line, panels int) {
	parts := make([]struct{ kronrod, gauss float64 }, len(open)*panels)
	total := len(parts) * len(rule)
	for first := 0; first < total; first += lanes {
		n := min(lanes, total-first)
		for l := range n {
			part := (first + l) / len(rule)
			line := open[part/panels]
			at := (float64(part%panels) + rule[(first+l)%len(rule)].at) / float64(panels)
			for k, x := range p.x {
				x[l] = line.from[k] + float64(at*line.along[k])
			}
		}
		p.evaluate(n)
		for l := range n {
			part, point := (first+l)/len(rule), &rule[(first+l)%len(rule)]
			slope := 0. // of U along the line
			for k, w := range open[part/panels].weights {
				slope -= float64(2 * p.drift[k][l] * w)
			}
			parts[part].kronrod += float64(point.weight * slope)
			parts[part].gauss += float64(point.gauss * slope)
		}
	}
	for i, l := range open {
		l.difference, l.inaccuracy = 0, 0
		for _, part := range parts[i*panels:][:panels] {
			l.difference += part.kronrod / float64(panels)
			l.inaccuracy += math.Abs(part.kronrod-part.gauss) / float64(panels)
		}
	}
}
