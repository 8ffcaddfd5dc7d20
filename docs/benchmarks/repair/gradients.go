package main

import (
	"context"
	"fmt"
	"math"
	"sort"
	"strings"

	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/gibbs"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/sampling/certificate"
	"github.com/ergoflow/ergoflow/model/sampling/request"
)

// named are drifts −∇V with σ = √2·I, of the density exp(−V).
var named = [][3]string{
	{"normal", "-x", "-y"},
	{"two wells, barrier 2", "-8*x*(x^2-1)", "-y"},
	{"two wells, 6", "-24*x*(x^2-1)", "-y"},
	{"two wells, 6, tilted", "-24*x*(x^2-1)+1", "-y"},
	{"two wells, 9, tilted", "-36*x*(x^2-1)+1.5", "-y"},
	{"two far wells, 10, tilted", "-3.8104*x*(x^2-3.24)+0.5", "-2*y"},
	{"four wells, 4", "-16*x*(x^2-1)", "-16*y*(y^2-1)"},
	{"four wells, 8, tilted", "-32*x*(x^2-1)+0.5", "-32*y*(y^2-1)+0.5"},
	{"ring", "-8*x*(x^2+y^2-2.25)", "-8*y*(x^2+y^2-2.25)"},
	{"banana", "-x-4*x*(x^2-1-y)", "2*(x^2-1-y)-0.2*y"},
}

// randomGradients are drifts like those of cn2d that are gradients: of 16 waves, in the same well.
func randomGradients(count int) (all [][3]string) {
	const waves = 16
	for i := range count {
		rng := random.New(seed, "repair/gradient", uint64(i))
		length := 0.5 + 1.2*rng.Float64()
		var u, v []string
		for range waves {
			kx, ky, phase := rng.NormFloat64()/length, rng.NormFloat64()/length, 2*math.Pi*rng.Float64()
			a := math.Sqrt(2./waves) * length
			wave := fmt.Sprintf("sin((%.4f)*x+(%.4f)*y+%.4f)", kx, ky, phase)
			u, v = append(u, fmt.Sprintf("(%.4f)*%s", a*kx, wave)), append(v, fmt.Sprintf("(%.4f)*%s", a*ky, wave))
		}
		const well = "-10*max(sqrt(x^2+y^2)-2,0)/max(sqrt(x^2+y^2),1e-9)*"
		all = append(all, [3]string{fmt.Sprintf("random, length %.2f", length), strings.Join(u, "+") + well + "x", strings.Join(v, "+") + well + "y"})
	}
	return all
}

// gradients are the problems of these drifts. Chains follow the formulas on a grid four times as
// fine as the model's.
func (b *bench) gradients(ctx context.Context) (all []problem, err error) {
	tabulated, ok := b.family.(family.TabulatedPlane)
	if !ok {
		return nil, fmt.Errorf("%s is not a family of tables in the plane", b.family.Name())
	}
	for i, e := range append(named, randomGradients(6)...) {
		target, err := b.reader.Resolve(ctx, request.Request{Drift: e[1:], Diffusion: []string{"sqrt(2)"}})
		if err != nil {
			return nil, err
		}
		var compiled []*expression.Expression
		for _, formula := range []string{e[1], e[2], "sqrt(2)"} {
			c, err := expression.CompileIn(formula, "x", "y")
			if err != nil {
				return nil, err
			}
			compiled = append(compiled, c)
		}
		p := problem{name: e[0], target: target, limit: limit}
		if p.chains, err = family.TabulatePlaneOf(compiled[:2], compiled[2:], family.FinerGrid(tabulated.Grid(), 2)); err != nil {
			return nil, err
		}
		p.equation = certificate.OfFormulas(compiled[:2], compiled[2:])
		draws, err := exactDraws(ctx, p.equation, 2*b.n, uint64(i))
		if err != nil {
			return nil, err
		}
		p.distance, p.floor = toDraws(draws[:2*b.n]), draws[2*b.n:]
		all = append(all, p)
	}
	return all, nil
}

// exactDraws draws from the density on a fine grid, evenly within a cell.
func exactDraws(ctx context.Context, equation certificate.Plane, n int, index uint64) ([]float32, error) {
	const cells, reach = 240, 4.5
	const h = 2 * reach / cells
	x := make([]float64, 0, 2*cells*cells)
	for j := range cells {
		for i := range cells {
			x = append(x, -reach+(float64(i)+.5)*h, -reach+(float64(j)+.5)*h)
		}
	}
	law, err := gibbs.NewPlane(equation.At, x)
	if err != nil {
		return nil, err
	}
	logs := make([]float64, cells*cells)
	err = simulate.Each(ctx, cells, func(_ context.Context, j int) error {
		copy(logs[j*cells:], law.At(x[2*j*cells:2*(j+1)*cells]).Log)
		return nil
	}, nil)
	if err != nil {
		return nil, err
	}
	top := math.Inf(-1)
	for _, v := range logs {
		top = max(top, v)
	}
	sums, sum := make([]float64, len(logs)), 0.
	for i, v := range logs {
		sum += math.Exp(v - top)
		sums[i] = sum
	}
	rng := random.New(seed, "repair/exact", index)
	draws := make([]float32, 0, 2*n)
	for range n {
		k := sort.SearchFloat64s(sums, rng.Float64()*sum)
		draws = append(draws, float32(x[2*k]+(rng.Float64()-.5)*h), float32(x[2*k+1]+(rng.Float64()-.5)*h))
	}
	return draws, nil
}
