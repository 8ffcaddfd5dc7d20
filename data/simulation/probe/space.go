package probe

import (
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// paths records paths of a Space, in double precision. On a circle they go on where the state begins
// again, so that they have no jumps. The sources of a sensor give dim uniform
// numbers for its start, then dim normals a step.
type paths struct {
	space            sde.Space
	evaluate         func(n int)
	x                []*[lanes]float64
	drift, diffusion []*[lanes]float64
	z                [][lanes]float32
	noise            *simulate.Noise
	window           *[simulate.Window * lanes]float32
	used             int // steps of the window
	dt, root         float64
}

func (c Config) space(dst []float32, s sde.Space, stream stream) error {
	d := s.Dim()
	if d != c.Dim || s.Terms != c.Terms {
		return fmt.Errorf("%w: paths with %d coordinates and %d numbers of diffusion, the equation has %d and %d", ErrSystem, c.Dim, c.Terms, d, s.Terms)
	}
	for k := range d { // a step would lead out
		if r := s.Domain.At(k); r.Ends == sde.Open || r.Ends == sde.Reflecting {
			return fmt.Errorf("%w: paths in the domain %v of x[%d]: they need coordinates without ends (package lift)", ErrSystem, r, k)
		}
	}
	p := paths{space: s, x: s.Blocks(), z: make([][lanes]float32, d), dt: c.DT, root: math.Sqrt(c.DT)}
	p.evaluate, p.drift, p.diffusion = s.Bind("", p.x)
	size := c.Steps * c.Features()
	for first := 0; first < c.Sensors; first += lanes {
		active := min(lanes, c.Sensors-first)
		if err := p.record(dst[first*size:][:active*size], c, stream, first, active); err != nil {
			return err
		}
	}
	return nil
}

// record records the sensors from first on.
func (p *paths) record(dst []float32, c Config, stream stream, first, active int) error {
	p.noise, p.used = simulate.BorrowNoise(), simulate.Window
	defer p.noise.Return()
	for l := range active {
		source := stream.sensor(first + l)
		for k, box := range p.space.Box {
			p.x[k][l] = box.Lo + (box.Hi-box.Lo)*float64(source.Uniform())
		}
		p.noise.Add(source)
	}
	features := c.Features()
	for step := range c.Steps {
		p.evaluate(active)
		for l := range active {
			row := dst[(l*c.Steps+step)*features:][:0]
			for _, part := range [][]*[lanes]float64{p.x, p.drift, p.diffusion} {
				for _, block := range part {
					row = append(row, float32(block[l]))
				}
			}
		}
		p.move(active)
	}
	for k, block := range p.x { // a state that is not finite stays so
		for l, v := range block[:active] {
			if !(v > -simulate.Bound && v < simulate.Bound) {
				return fmt.Errorf("sensor %d ends with x[%d] = %v: %w", first+l, k, v, ErrDiverged)
			}
		}
	}
	return nil
}

// move takes a step of the first active sensors.
func (p *paths) move(active int) {
	for k := range p.z {
		if p.used == simulate.Window {
			p.window, p.used = p.noise.Next(), 0
		}
		p.z[k] = [lanes]float32(p.window[p.used*lanes:])
		p.used++
	}
	d := len(p.x)
	for k, x := range p.x {
		for l := range active {
			noise := 0.
			switch len(p.diffusion) {
			case 1:
				noise = float64(p.diffusion[0][l] * float64(p.z[k][l]))
			case d:
				noise = float64(p.diffusion[k][l] * float64(p.z[k][l]))
			default:
				for j := range d {
					noise += float64(p.diffusion[k*d+j][l] * float64(p.z[j][l]))
				}
			}
			x[l] += float64(p.drift[k][l]*p.dt) + float64(noise*p.root)
		}
	}
}
