package sensor_test

import (
	"math"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/network/sensor"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/gomlx/gomlx/core/graph"
)

// goBackend compiles in no time, which the many small graphs here need.
func goBackend(t *testing.T) *backend.Backend {
	t.Helper()
	b, err := backend.Open(backend.Go)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// encode returns the codes [n, Width] of probes [n, m, steps, features].
func encode(t *testing.T, b *backend.Backend, c sensor.Config, theta []float32, probes array) []float32 {
	t.Helper()
	return evaluate(t, b, []array{vector(theta), probes}, func(in []*graph.Node) []*graph.Node {
		return []*graph.Node{network(c, in[0]).Encode(in[1:2])}
	})[0]
}

// move returns the velocities [n, S, d] of codes, states and times.
func move(t *testing.T, b *backend.Backend, c sensor.Config, theta []float32, code, x, times array) []float32 {
	t.Helper()
	return evaluate(t, b, []array{vector(theta), code, x, times}, func(in []*graph.Node) []*graph.Node {
		return []*graph.Node{network(c, in[0]).Velocity(in[1], in[2], in[3])}
	})[0]
}

// distance is the largest difference, and largest the largest absolute value.
func distance(a, b []float32) float64 {
	d := 0.0
	for i := range a {
		d = max(d, math.Abs(float64(a[i])-float64(b[i])))
	}
	return d
}

func largest(a []float32) float64 { return distance(a, make([]float32, len(a))) }

// permuted puts row order[i] of rows of that width at i, within each of n groups.
func permuted(values []float32, n, width int, order []int) []float32 {
	out := make([]float32, 0, len(values))
	for group := range slices.Chunk(values, len(values)/n) {
		for _, i := range order {
			out = append(out, group[i*width:(i+1)*width]...)
		}
	}
	return out
}

// The code does not depend on the order of the sensors. It takes one sensor, or
// more than configured, with the same parameters. Of perceiver and mean it is a
// function of the sensors' empirical measure: every sensor twice is the same.
func TestEncoderReadsSets(t *testing.T) {
	b := goBackend(t)
	encoders(t, func(t *testing.T, c sensor.Config) {
		theta := trained(c.Layout())
		const n = 2
		for _, m := range []int{1, c.Sensors, 3 * c.Sensors} {
			width := c.Steps * c.Features
			probes := noise("probes", n, m, c.Steps, c.Features)
			code := encode(t, b, c, theta, probes)
			order := random.New(1, "test/order").Perm(m)
			turned := encode(t, b, c, theta, array{permuted(probes.values, n, width, order), probes.shape})
			if d := distance(code, turned); !(d <= 1e-5*largest(code)) {
				t.Errorf("%d sensors: the order moves the code by %g of %g", m, d, largest(code))
			}
			if c.Aggregator == sensor.DeepSets {
				continue
			}
			twice := array{permuted(probes.values, n, width, append(order, order...)), []int{n, 2 * m, c.Steps, c.Features}}
			if d := distance(code, encode(t, b, c, theta, twice)); !(d <= 1e-5*largest(code)) {
				t.Errorf("%d sensors: duplicates move the code by %g of %g", m, d, largest(code))
			}
		}
	})
}

// The code depends on every sensor and on every step that the representation reads, and
// not on other steps.
func TestEncoderReadsEverything(t *testing.T) {
	b := goBackend(t)
	encoders(t, func(t *testing.T, c sensor.Config) {
		rows := c.Sensors * c.Steps
		probes := noise("probes", 1, c.Sensors, c.Steps, c.Features)
		changed := array{slices.Repeat(probes.values, 1+rows), []int{1 + rows, c.Sensors, c.Steps, c.Features}}
		for i := range rows { // function 1+i has another row i than function 0
			changed.values[(1+i)*len(probes.values)+i*c.Features]++
		}
		codes := slices.Collect(slices.Chunk(encode(t, b, c, trained(c.Layout()), changed), c.Width))
		for i := range rows {
			step := i % c.Steps
			read := c.Representation == sensor.Trajectory || c.Representation == sensor.Force || step == 0 || c.Representation == sensor.Endpoint && step == c.Steps-1
			if d := distance(codes[0], codes[1+i]); read && !(d >= 1e-6) || !read && d != 0 {
				t.Errorf("sensor %d step %d moves the code by %g", i/c.Steps, step, d)
			}
		}
	})
}

// A permutation of the particles permutes their velocities; each velocity depends on
// the other particles.
func TestParticlesAreEquivariant(t *testing.T) {
	b := goBackend(t)
	for _, decoder := range []sensor.Decoder{sensor.Equivariant, sensor.Pairs} {
		for _, k := range sensor.Conditionings {
			c := tiny(decoder)
			c.Conditioning = k
			theta := trained(c.Layout())
			const n, samples = 2, 3
			code, x, times := noise("code", n, c.Width), noise("x", n, samples, c.Dimension), noise("t", n, samples)
			v := move(t, b, c, theta, code, x, times)
			order := []int{2, 0, 3, 1}
			turned := move(t, b, c, theta, code, array{permuted(x.values, n*samples, c.ParticleDim, order), x.shape}, times)
			if d := distance(permuted(v, n*samples, c.ParticleDim, order), turned); !(d <= 1e-5*largest(v)) {
				t.Errorf("%s, %s: renamed particles have velocities that differ by %g of %g", decoder, k, d, largest(v))
			}
			x.values[0]++ // of the first particle
			if d := distance(v[c.ParticleDim:c.Dimension], move(t, b, c, theta, code, x, times)[c.ParticleDim:c.Dimension]); !(d >= 1e-4) {
				t.Errorf("%s, %s: the other particles do not feel the first", decoder, k)
			}
		}
	}
}

// A rotation and a reflection of the state turn the velocities of pairs; those of particles do not
// follow.
func TestPairsTurnWithTheState(t *testing.T) {
	b := goBackend(t)
	const n, samples = 2, 3
	sin, cos := math.Sincos(0.7)
	for _, mirror := range []float64{1, -1} {
		turn := func(values []float32) []float32 {
			turned := make([]float32, len(values))
			for i := 0; i < len(values); i += 2 {
				x, y := float64(values[i]), mirror*float64(values[i+1])
				turned[i], turned[i+1] = float32(cos*x-sin*y), float32(sin*x+cos*y)
			}
			return turned
		}
		for _, decoder := range []sensor.Decoder{sensor.Pairs, sensor.Equivariant} {
			c := tiny(decoder)
			theta := trained(c.Layout())
			code, x, times := noise("code", n, c.Width), noise("x", n, samples, c.Dimension), noise("t", n, samples)
			v := move(t, b, c, theta, code, x, times)
			d := distance(turn(v), move(t, b, c, theta, code, array{turn(x.values), x.shape}, times))
			if follows := d <= 1e-5*largest(v); follows != (decoder == sensor.Pairs) {
				t.Errorf("%s, mirror %g: velocities of a turned state differ by %g of %g", decoder, mirror, d, largest(v))
			}
		}
	}
}

// The code of forces does not change where a rotation or reflection turns each sensor's probe by
// itself, and changes where the force does.
func TestForceHasNoDirection(t *testing.T) {
	b := goBackend(t)
	c := tiny(sensor.Pairs)
	c.Representation, c.Aggregator, c.Features = sensor.Force, sensor.Ratio, 4
	theta := trained(c.Layout())
	probes := noise("probes", 2, c.Sensors, c.Steps, c.Features)
	code := encode(t, b, c, theta, probes)
	turned := array{slices.Clone(probes.values), probes.shape}
	for i := 0; i < len(turned.values); i += 2 {
		sin, cos := math.Sincos(float64(i / (c.Steps * c.Features))) // an angle for each sensor
		x, y := float64(probes.values[i]), -float64(probes.values[i+1])
		turned.values[i], turned.values[i+1] = float32(cos*x-sin*y), float32(sin*x+cos*y)
	}
	if d := distance(code, encode(t, b, c, theta, turned)); !(d <= 1e-5*largest(code)) {
		t.Errorf("codes of turned probes differ by %g of %g", d, largest(code))
	}
	for i := 2; i < len(turned.values); i += 4 {
		turned.values[i] *= 2
		turned.values[i+1] *= 2
	}
	if d := distance(code, encode(t, b, c, theta, turned)); !(d >= 1e-3) {
		t.Errorf("codes of twice the force differ by %g", d)
	}
}

// At the start of training the velocity is zero for every function.
func TestVelocityStartsAtZero(t *testing.T) {
	b := goBackend(t)
	variants(t, func(t *testing.T, c sensor.Config) {
		v := move(t, b, c, c.Layout().Initialise(1), noise("code", 2, c.Width), noise("x", 2, 3, c.Dimension), noise("t", 2, 3))
		if largest(v) != 0 {
			t.Errorf("velocities start as large as %g", largest(v))
		}
	})
}

// One time for all samples of a function is the same as that time for each, and
// other times and codes give other velocities.
func TestOneTimeForAFunction(t *testing.T) {
	b := goBackend(t)
	for _, decoder := range sensor.Decoders {
		for _, k := range sensor.Conditionings {
			c := tiny(decoder)
			c.Conditioning = k
			theta := trained(c.Layout())
			// More times than columns of W_τ w, so that the two differ in the order
			// of the products too.
			const n, samples = 2, 50
			code, x := noise("code", n, c.Width), noise("x", n, samples, c.Dimension)
			one := array{[]float32{0.3, 0.8}, []int{n, 1}}
			each := array{append(slices.Repeat([]float32{0.3}, samples), slices.Repeat([]float32{0.8}, samples)...), []int{n, samples}}
			v := move(t, b, c, theta, code, x, one)
			if d := distance(v, move(t, b, c, theta, code, x, each)); !(d <= 1e-5*largest(v)) {
				t.Errorf("%s, %s: velocities differ by %g of %g", decoder, k, d, largest(v))
			}
			each.values[0] = 0.31
			if d := distance(v[:c.Dimension], move(t, b, c, theta, code, x, each)[:c.Dimension]); !(d >= 1e-4) {
				t.Errorf("%s, %s: time does nothing", decoder, k)
			}
			code.values[0]++
			if d := distance(v[:c.Dimension], move(t, b, c, theta, code, x, one)[:c.Dimension]); !(d >= 1e-4) {
				t.Errorf("%s, %s: the code does nothing", decoder, k)
			}
		}
	}
}

// The code of m independent sensors approaches that of infinitely many like
// m^(−1/2): the slope of the root mean square distance over 64 draws of the
// sensors for each m, against m on logarithmic axes. The limit is a code of 2¹⁴
// sensors, whose own distance is an eighth of the least that is measured. With 64
// draws of 8 numbers each, the slope over a factor of 16 has a standard error
// near 0.02.
func TestSensorsConverge(t *testing.T) {
	b := goBackend(t)
	for _, a := range []sensor.Aggregator{sensor.Perceiver, sensor.MeanPool} {
		c := tiny(sensor.Flat)
		c.Aggregator = a
		theta := trained(c.Layout())
		limit := encode(t, b, c, theta, noise("limit", 1, 1<<14, c.Steps, c.Features))
		const draws = 64
		var x, y []float64
		for m := 16; m <= 256; m *= 2 {
			codes := encode(t, b, c, theta, noise("draws", draws, m, c.Steps, c.Features))
			square := 0.0
			for i, z := range codes {
				d := float64(z) - float64(limit[i%c.Width])
				square += d * d / draws
			}
			x, y = append(x, math.Log(float64(m))), append(y, math.Log(square)/2)
		}
		if s := slope(x, y); !(math.Abs(s+0.5) <= 0.08) {
			t.Errorf("%s: ‖z_m − z_∞‖ falls like m^%.3f, want m^-0.5", a, s)
		}
	}
}

// So does what the sampler draws: the flow with a code of m sensors ends m^(−1/2)
// from that with a code of infinitely many. Both start from the same noise, so that
// the root mean square of the difference bounds the mean W₂ of their laws.
func TestSampledLawConverges(t *testing.T) {
	b := goBackend(t)
	c := tiny(sensor.Flat)
	theta := trained(c.Layout())
	const draws, samples = 64, 16
	flow := func(codes []float32) []float32 {
		code, x := array{codes, []int{draws, c.Width}}, noise("x", 1, samples, c.Dimension)
		states := array{slices.Repeat(x.values, draws), []int{draws, samples, c.Dimension}}
		if _, err := (ode.RK4{Steps: 4}).Integrate(t.Context(), func(dst, x []float32, at float64) error {
			times := array{slices.Repeat([]float32{float32(at)}, draws), []int{draws, 1}}
			copy(dst, move(t, b, c, theta, code, array{x, states.shape}, times))
			return nil
		}, states.values, 0, 1); err != nil {
			t.Fatal(err)
		}
		return states.values
	}
	limit := flow(slices.Repeat(encode(t, b, c, theta, noise("limit", 1, 1<<14, c.Steps, c.Features)), draws))
	var x, y []float64
	for m := 16; m <= 256; m *= 4 {
		square := 0.0
		for i, v := range flow(encode(t, b, c, theta, noise("draws", draws, m, c.Steps, c.Features))) {
			square += math.Pow(float64(v)-float64(limit[i]), 2) / (draws * samples)
		}
		x, y = append(x, math.Log(float64(m))), append(y, math.Log(square)/2)
	}
	if s := slope(x, y); !(math.Abs(s+0.5) <= 0.1) {
		t.Errorf("the samples converge like m^%.3f, want m^-0.5", s)
	}
}

// slope of the least-squares line.
func slope(x, y []float64) float64 {
	var mx, my, xx, xy float64
	for i := range x {
		mx, my = mx+x[i]/float64(len(x)), my+y[i]/float64(len(x))
	}
	for i := range x {
		xx, xy = xx+(x[i]-mx)*(x[i]-mx), xy+(x[i]-mx)*(y[i]-my)
	}
	return xy / xx
}
