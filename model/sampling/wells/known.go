package wells

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/ergoflow/ergoflow/data/equations/lift"
)

const (
	// neighbours is how many samples a state must have near it.
	neighbours = 3
	// near is how far they may be, in deviations of the samples; or farther times as far as samples are
	// from samples, of which one in a hundred is not.
	near    = 1
	farther = 1.5
	common  = 0.99
	// underway is a part of a state's distance from the samples. A state that comes so much nearer
	// while the drift leads it is on its way to them; and so is a chain that comes nearer by the larger
	// part between two looks, since noise moves it, too.
	underway, nearer = 0.03, 0.1
)

// known are regions with samples.
type known struct {
	features []lift.Feature
	scale    []float64  // of a feature: one over its deviation
	samples  [2]points  // at rest, once and twice
	reach    [2]float64 // the distance of states with samples near them
}

// points are states by their features, [n, features], in deviations.
type points []float64

// newKnown has the deviations of samples, and the regions where they rest.
func newKnown(features []lift.Feature, samples []float32, r rest) *known {
	m := len(features)
	k := &known{features: features, scale: make([]float64, m)}
	d := features[m-1].Coordinate + 1
	for c, f := range features {
		k.scale[c] = 1
		if deviation := stat.StdDev(f.Along(samples, d), nil); deviation > 0 {
			k.scale[c] = 1 / deviation
		}
	}
	for time, x := range [][]float32{r.once, r.twice} {
		k.samples[time] = k.points(x)
		distances := make([]float64, len(x)/d)
		for i := range distances {
			distances[i] = k.distance(time, k.samples[time][i*m:][:m], i)
		}
		slices.Sort(distances)
		k.reach[time] = max(near, farther*stat.Quantile(common, stat.Empirical, distances, nil))
	}
	return k
}

// points are those of states x [n, Dim].
func (k *known) points(x []float32) points {
	d := k.features[len(k.features)-1].Coordinate + 1
	p := make(points, 0, len(x)/d*len(k.features))
	for at := 0; at < len(x); at += d {
		for c, f := range k.features {
			p = append(p, f.Of(float64(x[at+f.Coordinate]))*k.scale[c])
		}
	}
	return p
}

// distance of a point from its neighbours among the samples at a time of rest. Sample number except does
// not count.
func (k *known) distance(time int, p []float64, except int) float64 {
	m := len(p)
	var nearest [neighbours]float64 // squares, increasing
	for i := range nearest {
		nearest[i] = math.Inf(1)
	}
	for i := range len(k.samples[time]) / m {
		if i == except {
			continue
		}
		sum := squared(k.samples[time][i*m:][:m], p)
		for at := neighbours - 1; at >= 0 && sum < nearest[at]; at-- {
			if at < neighbours-1 {
				nearest[at+1] = nearest[at]
			}
			nearest[at] = sum
		}
	}
	return math.Sqrt(nearest[neighbours-1])
}

// squared is the square of the distance of two points.
func squared(p, q points) (sum float64) {
	for c, v := range p {
		sum += (v - q[c]) * (v - q[c])
	}
	return sum
}

// distances of states from the samples; 0 of those with samples near them, and of those on their way
// there.
func (k *known) distances(r rest) []float64 {
	once, twice, m := k.points(r.once), k.points(r.twice), len(k.features)
	all := make([]float64, len(twice)/m)
	for i := range all {
		before, after := k.distance(0, once[i*m:][:m], -1), k.distance(1, twice[i*m:][:m], -1)
		if before > k.reach[0] && after > k.reach[1] && after > (1-underway)*before {
			all[i] = after
		}
	}
	return all
}

// centre is the one of the states that has most of the others within near; nil of none.
func (k *known) centre(r rest, numbers []int) (x []float32) {
	p, m, best := k.points(r.twice), len(k.features), 0
	for _, i := range numbers {
		count := 0
		for _, j := range numbers {
			if squared(p[i*m:][:m], p[j*m:][:m]) <= near*near {
				count++
			}
		}
		if count > best {
			d := len(r.twice) / (len(p) / m)
			best, x = count, slices.Clone(r.twice[i*d:][:d])
		}
	}
	return x
}
