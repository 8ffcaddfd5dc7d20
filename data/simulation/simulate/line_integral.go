package simulate

import "math"

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

const (
	// mostInaccurate is how much the exponent of an acceptance may be in error. Beyond it an exchange
	// is refused, in both directions, which keeps the law.
	mostInaccurate = 0.01
	// mostPanels of a line: they are doubled until the integral is accurate.
	mostPanels = 64
)

// differences are those of U between the states of all trials, −2∫b·A⁻¹dx along the line from one to
// the other.
func (r *ladder) differences(c *cloud) {
	open := make([]*trial, len(r.trials))
	for i := range r.trials {
		open[i] = &r.trials[i]
	}
	for panels := 1; panels <= mostPanels && len(open) > 0; panels *= 2 {
		r.integrate(c, open, panels)
		still := open[:0]
		for _, p := range open {
			if !(p.inaccuracy <= mostInaccurate) {
				still = append(still, p)
			}
		}
		open = still
	}
}

// integrate applies the rule to so many panels of each line. Points take the lanes of the
// evaluation, one after the other.
func (r *ladder) integrate(c *cloud, open []*trial, panels int) {
	parts := make([]struct{ kronrod, gauss float64 }, len(open)*panels)
	total := len(parts) * len(rule)
	for first := 0; first < total; first += lanes {
		n := min(lanes, total-first)
		for l := range n {
			part := (first + l) / len(rule)
			p := open[part/panels]
			at := (float64(part%panels) + rule[(first+l)%len(rule)].at) / float64(panels)
			for k, x := range c.x {
				x[l] = p.from[k] + float64(at*p.along[k])
			}
		}
		c.evaluate(n)
		for l := range n {
			part, point := (first+l)/len(rule), &rule[(first+l)%len(rule)]
			slope := 0. // of U along the line
			for k, w := range open[part/panels].weights {
				slope -= float64(2 * c.drift[k][l] * w)
			}
			parts[part].kronrod += float64(point.weight * slope)
			parts[part].gauss += float64(point.gauss * slope)
		}
	}
	for i, p := range open {
		p.difference, p.inaccuracy = 0, 0
		for _, part := range parts[i*panels:][:panels] {
			p.difference += part.kronrod / float64(panels)
			p.inaccuracy += math.Abs(part.kronrod-part.gauss) / float64(panels)
		}
		p.inaccuracy *= r.cold[p.cold] - r.cold[p.hot]
	}
}
