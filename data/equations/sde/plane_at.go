package sde

// At is the drift and the diffusion matrix, row after row, at a point.
func (p Plane) At(x, y float64) (drift [2]float64, diffusion [4]float64) {
	i, s := p.X.Cell(x)
	j, t := p.Y.Cell(y)
	node := j*p.X.N + i
	between := func(values []float32, k, c int) float64 {
		at := func(n int) float64 { return float64(values[k*n+c]) }
		lower := at(node) + s*(at(node+1)-at(node))
		upper := at(node+p.X.N) + s*(at(node+p.X.N+1)-at(node+p.X.N))
		return lower + t*(upper-lower)
	}
	drift = [2]float64{between(p.Drift, 2, 0), between(p.Drift, 2, 1)}
	terms, constant := p.DiffusionTerms()
	var entries [4]float64
	for c := range terms {
		if constant {
			entries[c] = float64(p.Diffusion[c])
		} else {
			entries[c] = between(p.Diffusion, terms, c)
		}
	}
	switch terms {
	case 1:
		return drift, [4]float64{entries[0], 0, 0, entries[0]}
	case 2:
		return drift, [4]float64{entries[0], 0, 0, entries[1]}
	}
	return drift, entries
}
