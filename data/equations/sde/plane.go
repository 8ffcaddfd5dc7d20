package sde

import (
	"errors"
	"fmt"
)

// Plane is a two-dimensional SDE dX = b(X)dt + S(X)dW with coefficients on the
// nodes (X.At(i), Y.At(j)) of a tensor grid: bilinear between nodes, constant
// outside (lookups are clamped to the boundary in each direction).
type Plane struct {
	X, Y Grid
	// Drift has b at node (i, j) at [2(j·X.N + i)] and the number after it:
	// shape [Y.N, X.N, 2].
	Drift []float32
	// Diffusion has k numbers per node, shape [Y.N, X.N, k], or only one
	// node's, shape [k], where it is constant: k = 1 for S = σ·I, 2 for
	// S = diag(σ₁, σ₂), 4 for S = (σ₁₁ σ₁₂; σ₂₁ σ₂₂). Only S·Sᵀ matters to the
	// law, so entries of a full matrix may have any sign. Four numbers on 2×2 nodes
	// are one per node.
	Diffusion []float32
}

// Dim is 2.
func (p Plane) Dim() int { return 2 }

// Nodes is the number of the grid's nodes.
func (p Plane) Nodes() int { return p.X.N * p.Y.N }

// DiffusionTerms is k, the numbers of Diffusion at a node, and whether the diffusion is
// constant. k is 0 if the length of Diffusion fits neither.
func (p Plane) DiffusionTerms() (k int, constant bool) {
	for _, k := range []int{1, 2, 4} {
		if len(p.Diffusion) == k {
			return k, true
		}
		if len(p.Diffusion) == k*p.Nodes() {
			return k, false
		}
	}
	return 0, false
}

// Validate reports lengths that differ from the grid, values that are not
// finite (ErrNotFinite), negative scalars and diagonals, and nodes without any
// noise. Noise in one direction is enough, as in underdamped Langevin dynamics. Validate
// does not check that the drift carries it into the other direction.
func (p Plane) Validate() error {
	for _, axis := range []struct {
		name string
		grid Grid
	}{{"x", p.X}, {"y", p.Y}} {
		if err := axis.grid.Validate(); err != nil {
			return fmt.Errorf("%s axis: %w", axis.name, err)
		}
	}
	if n := p.Nodes(); n > MaxNodes {
		return fmt.Errorf("grid has %d×%d nodes, want at most %d", p.X.N, p.Y.N, MaxNodes)
	}
	if len(p.Drift) != 2*p.Nodes() {
		return fmt.Errorf("drift has %d values on %d×%d nodes, want two at each", len(p.Drift), p.X.N, p.Y.N)
	}
	k, constant := p.DiffusionTerms()
	if k == 0 {
		return fmt.Errorf("diffusion has %d values on %d×%d nodes, want 1, 2 or 4 at each or in all", len(p.Diffusion), p.X.N, p.Y.N)
	}
	for at, b := range p.Drift {
		if !finite(b) {
			return fmt.Errorf("drift %v at %s: %w", b, p.node(at/2), ErrNotFinite)
		}
	}
	for at := 0; at < len(p.Diffusion); at += k {
		if err := checkNoise(p.Diffusion[at : at+k]); err != nil {
			where := "all nodes"
			if !constant {
				where = p.node(at / k)
			}
			return fmt.Errorf("diffusion %v at %s %w", p.Diffusion[at:at+k], where, err)
		}
	}
	return nil
}

// node is the position of node n, for errors.
func (p Plane) node(n int) string {
	return fmt.Sprintf("(%.6g, %.6g)", p.X.At(n%p.X.N), p.Y.At(n/p.X.N))
}

// checkNoise reports what is wrong with the diffusion of one node, as the end of a
// sentence.
func checkNoise(s []float32) error {
	noise := false
	for _, v := range s {
		if !finite(v) {
			return fmt.Errorf("is %w", ErrNotFinite)
		}
		if len(s) < 4 && v < 0 {
			return errors.New("is negative")
		}
		noise = noise || v != 0
	}
	if !noise {
		return errors.New("is zero")
	}
	return nil
}
