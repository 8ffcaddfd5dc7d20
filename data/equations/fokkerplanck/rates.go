package fokkerplanck

import (
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// grid is n × n cells.
type grid struct {
	axes [2]axis
	n    int
}

// axis has the cells along a coordinate, from lo to hi. On a circle the last meets the first.
type axis struct {
	lo, hi float64
	circle bool
}

func (g grid) side(c int) float64 { return (g.axes[c].hi - g.axes[c].lo) / float64(g.n) }

// cell is the number of a cell. Neighbours have near numbers, on a circle those of both ends, too: of a
// circle the numbers go there and back.
func (g grid) cell(i, j int) int {
	at := [2]int{i, j}
	for c, side := range g.axes {
		if side.circle {
			at[c] = (at[c] + g.n) % g.n
			if at[c] = 2 * at[c]; at[c] >= g.n {
				at[c] = 2*g.n - 1 - at[c]
			}
		}
	}
	return at[0]*g.n + at[1]
}

// work is how many multiplications the elimination of the cells takes.
func (g grid) work() float64 {
	apart := [2]int{1, 1} // the numbers of neighbours
	for c, side := range g.axes {
		if side.circle {
			apart[c] = 2
		}
	}
	w := apart[0]*g.n + apart[1]
	return float64(g.n * g.n * w * w)
}

// lattice has the coefficients of an equation at the centres, the sides and the corners of cells: at the
// point (a, b) of 2n+1 along each axis, a cell being two apart from the next.
type lattice struct {
	grid
	drift [][2]float64
	d     [][3]float64 // ½SSᵀ: of the first coordinate, of both, of the second
}

// evaluate has the lattice of an equation in coordinates without ends. ok is false where a coefficient is
// not finite.
func (g grid) evaluate(s sde.Space) (l lattice, ok bool) {
	width := 2*g.n + 1
	states := make([]float64, 0, 2*width*width)
	for a := range width {
		for b := range width {
			states = append(states, g.axes[0].lo+float64(a)*g.side(0)/2, g.axes[1].lo+float64(b)*g.side(1)/2)
		}
	}
	l = lattice{g, make([][2]float64, width*width), make([][3]float64, width*width)}
	drift, diffusion := s.Coefficients(states)
	sum := 0.
	for i := range l.drift {
		l.drift[i] = [2]float64{drift[2*i], drift[2*i+1]}
		spread := sde.Spread(diffusion[i*s.Terms:][:s.Terms], 2)
		l.d[i] = [3]float64{spread[0] / 2, spread[1] / 2, spread[3] / 2}
		sum += drift[2*i] + drift[2*i+1] + spread[0] + spread[3]
	}
	return l, sum-sum == 0
}

// at is the index of the point that is (da, db) away from the centre of a cell.
func (l lattice) at(i, j, da, db int) int {
	a, b := 2*i+1+da, 2*j+1+db
	width := 2*l.n + 1
	if l.axes[0].circle {
		a = (a + 2*l.n) % (2 * l.n)
	}
	if l.axes[1].circle {
		b = (b + 2*l.n) % (2 * l.n)
	}
	return min(max(a, 0), width-1)*width + min(max(b, 0), width-1)
}

// links are those of a Markov chain on the cells that has the invariant law of the equation but for a part
// of the square of a cell's side. Of the Fokker–Planck equation
//
//	∂p/∂t = −∇·(v p − D∇p),  D = ½SSᵀ,  v_c = b_c − Σ_e ∂_e D_ce
//
// it has the flux through each side of a cell in exponential form (Scharfetter and Gummel, IEEE Trans.
// Electron Devices 16, 1969), which is exact where v and D are constant along the link and never makes a
// density negative. The mixed derivative is a symmetric exchange with one pair of diagonal neighbours, which is taken from
// the sides (Kushner and Dupuis 2001, Numerical Methods for Stochastic Control Problems, 5.3). oblique are
// the cells where that is more than there is: there the links have too much noise.
func (l lattice) links() (links []link, oblique map[int]bool) {
	oblique = make(map[int]bool)
	ratio := l.side(0) / l.side(1)
	for i := range l.n {
		for j := range l.n {
			from := l.cell(i, j)
			for c := range 2 {
				di, dj := 1-c, c
				if !l.has(i+di, j+dj) {
					continue
				}
				to, h := l.cell(i+di, j+dj), l.side(c)
				face := l.at(i, j, di, dj)
				v := l.drift[face][c] -
					(l.d[l.at(i, j, 2*di, 2*dj)][2*c]-l.d[l.at(i, j, 0, 0)][2*c])/h -
					(l.d[l.at(i, j, di+dj, dj+di)][1]-l.d[l.at(i, j, di-dj, dj-di)][1])/l.side(1-c)
				d := l.d[face][2*c] - float64(math.Abs(l.d[face][1])*[2]float64{ratio, 1 / ratio}[c])
				if d < 0 && -d > roundOff*l.d[face][2*c] {
					oblique[from] = true
				}
				up, down := exchange(v, d, h)
				links = append(links, link{from, to, up}, link{to, from, down})
			}
			for _, dj := range []int{1, -1} {
				if !l.has(i+1, j+dj) {
					continue
				}
				// the rate of a mixed derivative with the sign of dj
				if rate := float64(dj) * l.d[l.at(i, j, 1, dj)][1] / (l.side(0) * l.side(1)); rate > 0 {
					to := l.cell(i+1, j+dj)
					links = append(links, link{from, to, rate}, link{to, from, rate})
				}
			}
		}
	}
	return links, oblique
}

// roundOff is a part of the diffusion that may be missing by rounding.
const roundOff = 1e-9

// has says whether there is a cell.
func (l lattice) has(i, j int) bool {
	return (l.axes[0].circle || i < l.n) && (l.axes[1].circle || j >= 0 && j < l.n)
}

// exchange are the rates of going up and down between two cells at a distance h: (D/h²)·B(∓vh/D) with
// Bernoulli's function B(x) = x/(eˣ − 1), and those against the stream where there is no diffusion. Both are positive.
func exchange(v, d, h float64) (up, down float64) {
	const least = 1e-100 // of the larger one
	d = max(d, 0)
	x := v * h / d
	switch {
	case v == 0:
		up, down = d/(h*h), d/(h*h)
	case math.Abs(x) > 230: // where the smaller one is less
		up, down = max(v, 0)/h, max(-v, 0)/h
	default:
		up, down = d/(h*h)*(-x/math.Expm1(-x)), d/(h*h)*(x/math.Expm1(x))
	}
	most := max(up, down, math.SmallestNonzeroFloat64)
	return max(up, least*most), max(down, least*most)
}
