package ondevice

import (
	"math/bits"

	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/evaluation/metrics"
)

// measure is a cloud on the device, padded to a power of two with copies of its first
// point that have weight 0. Their potentials are that point's, so the largest exponent
// of a sum is unchanged.
type measure struct {
	n, padded, d int
	points       backend.Buffer   // [d, padded]
	weights      backend.Buffer   // [padded]: 1/n, or 0
	blocks       []backend.Buffer // the points again, [padded/len(blocks), d] each
}

// dual is a potential at the points of to. An update is the softmin of source, at the
// points of from; in a self problem source is the dual itself.
type dual struct {
	blocks   []backend.Buffer // values at the blocks of to
	whole    backend.Buffer   // [to.padded]: all blocks; the block itself if there is one
	to, from *measure
	source   *dual
}

// potentials are the four of metrics.Sinkhorn: fBA and fAA at the points of a, gAB and
// gBB at those of b.
type potentials struct {
	*Sinkhorn
	a, b               measure
	fBA, gAB, fAA, gBB dual
}

func (p *potentials) duals() []*dual { return []*dual{&p.fBA, &p.gAB, &p.fAA, &p.gBB} }

// upload brings the clouds to the device, with potentials of 0. The caller frees the
// result, also after an error.
func (s *Sinkhorn) upload(x, y metrics.Cloud, diameter float64) (*potentials, error) {
	p := &potentials{Sinkhorn: s}
	p.a, p.b = measure{n: x.N, padded: powerOfTwo(x.N), d: x.D}, measure{n: y.N, padded: powerOfTwo(y.N), d: y.D}
	p.fBA, p.gAB = dual{to: &p.a, from: &p.b, source: &p.gAB}, dual{to: &p.b, from: &p.a, source: &p.fBA}
	p.fAA, p.gBB = dual{to: &p.a, from: &p.a, source: &p.fAA}, dual{to: &p.b, from: &p.b, source: &p.gBB}
	length := max(1, s.terms/max(p.a.padded, p.b.padded)) // of a block, in points
	origin := mean(x, y)
	if err := p.a.upload(s.backend, x, origin, diameter, length); err != nil {
		return p, err
	}
	if err := p.b.upload(s.backend, y, origin, diameter, length); err != nil {
		return p, err
	}
	for _, d := range p.duals() {
		zero := make([]float32, d.to.padded/len(d.to.blocks))
		var blocks []backend.Buffer
		for range d.to.blocks {
			block, err := s.backend.Upload(zero, len(zero))
			if err != nil {
				backend.Free(blocks...)
				return p, err
			}
			blocks = append(blocks, block)
		}
		if err := p.replace(d, blocks); err != nil {
			return p, err
		}
	}
	return p, nil
}

func powerOfTwo(n int) int { return 1 << bits.Len(uint(n-1)) }

// mean is the mean of the points of both clouds.
func mean(x, y metrics.Cloud) []float64 {
	sum := make([]float64, x.D)
	for _, c := range []metrics.Cloud{x, y} {
		for i, v := range c.X {
			sum[i%c.D] += float64(v)
		}
	}
	for k := range sum {
		sum[k] /= float64(x.N + y.N)
	}
	return sum
}

// upload brings points and weights to the device, and the points a second time, in
// blocks of up to length.
func (m *measure) upload(b *backend.Backend, c metrics.Cloud, origin []float64, unit float64, length int) (err error) {
	length = min(1<<(bits.Len(uint(length))-1), m.padded) // a power of two, so that it divides
	points, rows, weights := make([]float32, m.d*m.padded), make([]float32, m.d*m.padded), make([]float32, m.padded)
	for i := range m.padded {
		from := 0
		if i < m.n {
			from, weights[i] = i, float32(1/float64(m.n))
		}
		for k := range m.d {
			v := float32((float64(c.X[from*m.d+k]) - origin[k]) / unit)
			points[k*m.padded+i], rows[i*m.d+k] = v, v
		}
	}
	if m.points, err = b.Upload(points, m.d, m.padded); err != nil {
		return err
	}
	if m.weights, err = b.Upload(weights, m.padded); err != nil {
		return err
	}
	for i := 0; i < m.padded; i += length {
		block, err := b.Upload(rows[i*m.d:(i+length)*m.d], length, m.d)
		if err != nil {
			return err
		}
		m.blocks = append(m.blocks, block)
	}
	return nil
}

// update moves all potentials a part of the way to their softmin, all from the
// values before. The temperature is in squared diameters.
func (p *potentials) update(eps, part float64) (err error) {
	eps = min(max(eps, 1e-30), 1e30) // within float32; beyond, values no longer change
	var scalars [3]backend.Buffer
	defer func() { backend.Free(scalars[:]...) }()
	for i, v := range []float64{eps, 1 / eps, part} {
		if scalars[i], err = p.backend.Upload([]float32{float32(v)}); err != nil {
			return err
		}
	}
	var next [4][]backend.Buffer
	defer func() {
		for _, blocks := range next {
			backend.Free(blocks...)
		}
	}()
	for i, d := range p.duals() {
		program, err := p.softmin(softminShape{d.to.padded / len(d.to.blocks), d.from.padded, d.from.d, eps > flatRatio})
		if err != nil {
			return err
		}
		for j, points := range d.to.blocks {
			out, err := program.Run(points, d.from.points, d.from.weights, d.source.whole, d.blocks[j], scalars[0], scalars[1], scalars[2])
			if err != nil {
				return err
			}
			next[i] = append(next[i], out...)
		}
	}
	for i, d := range p.duals() {
		blocks := next[i]
		next[i] = nil
		if err := p.replace(d, blocks); err != nil {
			return err
		}
	}
	return nil
}

// replace gives a potential new values. It owns the blocks, also after an error.
func (p *potentials) replace(d *dual, blocks []backend.Buffer) error {
	d.free()
	d.blocks = blocks
	if len(blocks) == 1 {
		d.whole = blocks[0]
		return nil
	}
	program, err := p.join(joinShape{len(blocks), d.to.padded / len(blocks)})
	if err != nil {
		return err
	}
	out, err := program.Run(blocks...)
	if err != nil {
		return err
	}
	d.whole = out[0]
	return nil
}

// divergence is mean(f_βα − f_αα) + mean(g_αβ − g_ββ), in squared diameters.
func (p *potentials) divergence() (float64, error) {
	var value float64
	for _, pair := range [][2]*dual{{&p.fBA, &p.fAA}, {&p.gAB, &p.gBB}} {
		m := pair[0].to
		cross, self := make([]float32, m.padded), make([]float32, m.padded)
		if err := backend.Download(cross, pair[0].whole); err != nil {
			return 0, err
		}
		if err := backend.Download(self, pair[1].whole); err != nil {
			return 0, err
		}
		var sum float64
		for i, v := range cross[:m.n] {
			sum += float64(v) - float64(self[i])
		}
		value += sum / float64(m.n)
	}
	return value, nil
}

func (p *potentials) free() {
	for _, d := range p.duals() {
		d.free()
	}
	for _, m := range []*measure{&p.a, &p.b} {
		backend.Free(m.points, m.weights)
		backend.Free(m.blocks...)
	}
}

func (d *dual) free() {
	if len(d.blocks) != 1 {
		backend.Free(d.whole)
	}
	backend.Free(d.blocks...)
	d.blocks, d.whole = nil, nil
}
