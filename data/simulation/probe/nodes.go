package probe

import (
	"errors"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Nodes finds the coefficients at the nodes of a grid in the plane from the rows of probes. A
// coefficient is bilinear between nodes. Its values at the nodes u minimise
//
//	Σ_rows (u(x) − c)² + 10⁻⁴ Σ_nodes (u_xx² + 2u_xy² + u_yy²) + 10⁻⁹ Σ_nodes u²
//
// with second differences of neighbouring nodes: where probes passed, u is what they saw, and
// between them it bends as little as it can (a thin plate). Far from all probes it is linear.
// The same for every seed, it has no parameter to learn. It is safe for concurrent use.
type Nodes struct {
	grid  sde.Grid  // along both axes
	prior []float64 // the matrix of the sums over nodes: upper band, row after row
}

// The weights of a node's bending and of its value, where a row has the weight 1.
const (
	bending = 1e-4
	size    = 1e-9
)

// NewNodes prepares the fit on a grid.
func NewNodes(grid sde.Grid) (*Nodes, error) {
	if err := grid.Validate(); err != nil {
		return nil, err
	}
	n := &Nodes{grid: grid, prior: make([]float64, grid.N*grid.N*(2*grid.N+1))}
	for j := range grid.N {
		for i := range grid.N {
			at := j*grid.N + i
			n.add(n.prior, []int{at}, []float64{1}, size)
			if i > 0 && i+1 < grid.N {
				n.add(n.prior, []int{at - 1, at, at + 1}, []float64{1, -2, 1}, bending)
			}
			if j > 0 && j+1 < grid.N {
				n.add(n.prior, []int{at - grid.N, at, at + grid.N}, []float64{1, -2, 1}, bending)
			}
			if i+1 < grid.N && j+1 < grid.N {
				n.add(n.prior, []int{at, at + 1, at + grid.N, at + grid.N + 1}, []float64{1, -1, -1, 1}, 2*bending)
			}
		}
	}
	return n, nil
}

// add adds weight·(Σ factors·u)² to the quadratic form of a matrix, for nodes in ascending order.
func (n *Nodes) add(matrix []float64, nodes []int, factors []float64, weight float64) {
	band := 2*n.grid.N + 1
	for p, i := range nodes {
		for q := p; q < len(nodes); q++ {
			matrix[i*band+nodes[q]-i] += weight * factors[p] * factors[q]
		}
	}
}

// Fit returns the numbers of these columns of rows at every node, shape [N, N, columns]. rows
// are those of a Trajectory or a Walk, [sensors, steps, 8]. It takes a few milliseconds for 32×32
// nodes.
func (n *Nodes) Fit(rows []float32, columns []int) ([]float32, error) {
	nodes, terms := n.grid.N*n.grid.N, len(columns)
	matrix, right := slices.Clone(n.prior), make([]float64, nodes*terms)
	corners, factors := make([]int, 4), make([]float64, 4)
	for ; len(rows) > 0; rows = rows[8:] {
		i, s := n.grid.Cell(float64(rows[0]))
		j, t := n.grid.Cell(float64(rows[1]))
		at := j*n.grid.N + i
		corners[0], corners[1], corners[2], corners[3] = at, at+1, at+n.grid.N, at+n.grid.N+1
		factors[0], factors[1], factors[2], factors[3] = (1-s)*(1-t), s*(1-t), (1-s)*t, s*t
		n.add(matrix, corners, factors, 1)
		for k, column := range columns {
			value := float64(rows[column])
			for p, node := range corners {
				right[node*terms+k] += factors[p] * value
			}
		}
	}
	band := blas64.SymmetricBand{Uplo: blas.Upper, N: nodes, K: 2 * n.grid.N, Data: matrix, Stride: 2*n.grid.N + 1}
	factor, ok := lapack64.Pbtrf(band)
	if !ok {
		return nil, errors.New("probes: the coefficients at the nodes are not determined")
	}
	lapack64.Pbtrs(factor, blas64.General{Rows: nodes, Cols: terms, Data: right, Stride: terms})
	values := make([]float32, len(right))
	for i, v := range right {
		values[i] = float32(v)
	}
	return values, nil
}
