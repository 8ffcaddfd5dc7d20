package fokkerplanck

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
)

// link is a transition of a Markov chain in continuous time.
type link struct {
	from, to int
	rate     float64 // positive
}

// errReducible means that the states of a chain do not lead to one another.
var errReducible = errors.New("the states of the chain do not lead to one another")

// stationary is the invariant law of a chain of n states, by the elimination of Grassmann, Taksar and
// Heyman (Oper. Res. 33, 1985). It subtracts nothing, so that every probability has a small relative
// error, whatever the barriers between states are (O'Cinneide, Numer. Math. 65, 1993). With links of
// states that are at most w apart it takes n·w² multiplications.
func stationary(n int, links []link) ([]float64, error) {
	w := width(links)
	// q is a band: the rate from i to j is at i·(2w+1) + j − i + w.
	q := make([]float64, n*(2*w+1))
	row := func(i, from, to int) []float64 { // rates from i to from ≤ j < to
		at := i*(2*w+1) - i + w
		return q[at+from : at+to]
	}
	for _, l := range links {
		row(l.from, l.to, l.to+1)[0] += l.rate
	}
	for k := n - 1; k > 0; k-- {
		first := max(0, k-w)
		out := row(k, first, k)
		total := floats.Sum(out)
		if !(total > 0) || math.IsInf(total, 0) {
			return nil, errReducible
		}
		for i := first; i < k; i++ {
			in := &row(i, k, k+1)[0]
			if *in == 0 {
				continue
			}
			*in /= total
			floats.AddScaled(row(i, first, k), *in, out)
		}
	}
	const large = 1e100
	p := make([]float64, n)
	p[0] = 1
	for k := 1; k < n; k++ {
		for i := max(0, k-w); i < k; i++ {
			p[k] += float64(p[i] * row(i, k, k+1)[0])
		}
		if p[k] > large { // the first states have next to nothing
			floats.Scale(1/p[k], p[:k+1])
		}
	}
	total := floats.Sum(p)
	if !(total > 0) || math.IsInf(total, 0) {
		return nil, errReducible
	}
	floats.Scale(1/total, p)
	return p, nil
}

// width is how far the states of a link are apart at most.
func width(links []link) (w int) {
	for _, l := range links {
		w = max(w, l.to-l.from, l.from-l.to)
	}
	return w
}
