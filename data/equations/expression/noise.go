package expression

import "github.com/ergoflow/ergoflow/data/equations/sde"

// noise says on which coordinates a diffusion depends, by the formulas: x0 - x0 depends on x0.
func (g *graph) noise(sigma []int, dim int) sde.Noise {
	seen := g.coordinates()
	additive, diagonal := true, len(sigma) == dim
	for k, id := range sigma {
		additive = additive && seen[id] == 0
		diagonal = diagonal && seen[id]&^(1<<k) == 0
	}
	switch {
	case additive:
		return sde.AdditiveNoise
	case diagonal:
		return sde.DiagonalNoise
	}
	return sde.AnyNoise
}

// coordinates are those on which each node depends, as bits: MaxDim is 64.
func (g *graph) coordinates() []uint64 {
	seen := make([]uint64, len(g.nodes))
	for id, n := range g.nodes {
		if n.op == opState && n.a < g.states {
			seen[id] = 1 << n.a
		}
		for _, operand := range n.operands() {
			seen[id] |= seen[operand]
		}
	}
	return seen
}
