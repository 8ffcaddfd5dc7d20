package fokkerplanck

import (
	"errors"
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/expression/expressiontest"
	"github.com/ergoflow/ergoflow/data/random"
)

// A chain up and down between neighbours has the law of its detailed balance, over a barrier of e⁴⁰⁰, too.
func TestStationaryOverABarrier(t *testing.T) {
	const n = 41
	height := func(i int) float64 {
		return 400 * math.Pow(math.Sin(math.Pi*float64(i)/(n-1)), 2) * (1 - 0.3*float64(i)/n)
	}
	var links []link
	want, total := make([]float64, n), 0.
	for i := range n {
		want[i] = math.Exp(-height(i))
		total += want[i]
		for _, j := range []int{i - 1, i + 1} {
			if j >= 0 && j < n {
				links = append(links, link{i, j, math.Exp((height(i) - height(j)) / 2)})
			}
		}
	}
	p, err := stationary(n, links)
	if err != nil {
		t.Fatal(err)
	}
	for i := range p {
		if want := want[i] / total; math.Abs(p[i]-want) > 1e-12*want {
			t.Errorf("state %d has %g, want %g", i, p[i], want)
		}
	}
}

// What leaves a state of a random chain comes back to it.
func TestStationaryBalances(t *testing.T) {
	rng := random.New(1, "fokkerplanck/chain")
	const n, w = 60, 7
	var links []link
	for i := range n {
		for range 6 {
			if j := min(max(i+rng.IntN(2*w+1)-w, 0), n-1); j != i {
				links = append(links, link{i, j, math.Exp(5 * rng.NormFloat64())})
			}
		}
		if i > 0 {
			links = append(links, link{i, i - 1, 1})
		}
	}
	p, err := stationary(n, links)
	if err != nil {
		t.Fatal(err)
	}
	net, flow := make([]float64, n), make([]float64, n)
	for _, l := range links {
		net[l.from] -= p[l.from] * l.rate
		net[l.to] += p[l.from] * l.rate
		flow[l.from] += p[l.from] * l.rate
	}
	for i := range net {
		if !(math.Abs(net[i]) <= 1e-12*flow[i]) {
			t.Errorf("state %d: %g more comes than goes, of %g", i, net[i], flow[i])
		}
	}
}

// A law that rises by more than float64 holds is scaled.
func TestStationaryOfALongRise(t *testing.T) {
	const n = 300
	var links []link
	for i := 1; i < n; i++ {
		links = append(links, link{i - 1, i, 1e3}, link{i, i - 1, 1e-3})
	}
	p, err := stationary(n, links)
	if err != nil || math.Abs(p[n-1]-(1-1e-6)) > 1e-9 || p[0] != 0 {
		t.Errorf("the last state has %g, the first %g, error %v", p[n-1], p[0], err)
	}
	if _, err := stationary(n, links[:n]); !errors.Is(err, errReducible) {
		t.Errorf("half a chain: error %v", err)
	}
}

// The cells' numbers are as near to their neighbours' as the estimate of the work says.
func TestWork(t *testing.T) {
	for _, circles := range [][2]bool{{}, {true, false}, {false, true}, {true, true}} {
		g := grid{n: 16}
		for c := range g.axes {
			g.axes[c] = axis{0, 1, circles[c]}
		}
		l, _ := g.evaluate(expressiontest.Space(t, 2, "x[i]", "i + 1.5"))
		links, _ := l.links()
		w := float64(width(links))
		if 256*w*w > g.work() || 256*(w+2)*(w+2) < g.work() {
			t.Errorf("circles %v: neighbours are %g apart, the work is %g", circles, w, g.work())
		}
	}
}
