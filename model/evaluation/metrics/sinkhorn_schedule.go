package metrics

import (
	"fmt"
	"math"
)

// Options are those of the Sinkhorn divergence; the zero value has GeomLoss's
// defaults.
type Options struct {
	Blur    float64 // scale σ of the final ε = σ², in the unit of the coordinates; 0 means 0.05
	Scaling float64 // ratio of successive blur scales, in (0, 1); 0 means 0.5
}

// maxSchedule bounds the number of temperatures: a scaling of 0.999 and above
// over many decades is an error instead of hours of work.
const maxSchedule = 20_000

func (o Options) withDefaults() (Options, error) {
	if o.Blur == 0 {
		o.Blur = 0.05
	}
	if o.Scaling == 0 {
		o.Scaling = 0.5
	}
	if !(o.Blur > 1e-18 && o.Blur < 1e18) { // ε = blur² and 1/ε stay far from the limits
		return o, fmt.Errorf("blur %g must be positive and between 1e-18 and 1e18: %w", o.Blur, ErrOption)
	}
	if !(o.Scaling > 0 && o.Scaling < 1) {
		return o, fmt.Errorf("scaling %g is outside (0, 1): %w", o.Scaling, ErrOption)
	}
	return o, nil
}

// Schedule validates as Sinkhorn does and returns the joint diameter and the
// temperatures, in the coordinates' unit squared. There are none if the diameter
// is 0, where the divergence is 0 too. Each is that of one averaged update; the
// first is also that of the initial one, and the last that of the final one.
func Schedule(x, y Cloud, o Options) (diam float64, schedule []float64, err error) {
	if o, err = o.withDefaults(); err != nil {
		return 0, nil, err
	}
	if err := validatePair(x, y); err != nil {
		return 0, nil, err
	}
	if diam = diameter(x, y); diam == 0 {
		return 0, nil, nil
	}
	schedule, err = epsilons(diam, o)
	return diam, schedule, err
}

// epsilons is the annealing schedule of GeomLoss (epsilon_schedule, p = 2): the
// squared diameter; then from the squared diameter, once more, in steps of
// scaling² while above blur²; then blur².
func epsilons(diameter float64, o Options) ([]float64, error) {
	start, stop, step := 2*math.Log(diameter), 2*math.Log(o.Blur), 2*math.Log(o.Scaling)
	count := max(0, math.Ceil((stop-start)/step)) // numpy.arange's length
	if !(count <= maxSchedule) {
		return nil, fmt.Errorf("scaling %g from diameter %g to blur %g takes %.0f temperatures, above %d: %w",
			o.Scaling, diameter, o.Blur, count, maxSchedule, ErrOption)
	}
	list := make([]float64, 0, int(count)+2)
	list = append(list, diameter*diameter)
	for k := range int(count) {
		list = append(list, math.Exp(start+float64(k)*step))
	}
	return append(list, o.Blur*o.Blur), nil
}
