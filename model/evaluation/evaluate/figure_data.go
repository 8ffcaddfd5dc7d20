package evaluate

import (
	"cmp"
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/family"
)

// FigureData is what figures need beyond the results: samples of a few functions on
// the line and in the plane; for particles, sums over all functions.
type FigureData struct {
	Percentiles []Percentile
	Evolutions  []Evolution // of equations at physical times
	Kernels     []KernelKind
}

// Percentile is the function whose leading distance is at a percentile of the
// model's, with samples [n, d] and, where it is known, the exact law as curves.
type Percentile struct {
	Percent   int
	Function  FunctionResult // the model's numbers
	Reference []float32
	MCMC      []float32 // of the last MCMC row, the largest budget; empty if there is none
	MCMCName  string
	Model     []float32
	// X are points over which PDF and CDF of the exact law are given.
	X, PDF, CDF []float64
}

// KernelKind pools the functions whose particles have pair potentials of one kind.
type KernelKind struct {
	Name                             string
	Functions                        int
	R, ReferenceG, ModelG            []float64 // g(r) at distances R
	ReferenceEnergies, ModelEnergies []float32 // of every state
}

// percents are the percentiles of functions in figures.
var percents = []int{25, 50, 75}

// at is the index of a percentile among n sorted values.
func at(percent, n int) int { return int(math.Round(float64(percent) / 100 * float64(n-1))) }

// maxFigureDim is the largest dimension whose samples figures show.
const maxFigureDim = 2

// shown reports whether figures show the samples of a family. Those on a circle have none.
func shown(f family.Family) bool { return f.Dim() <= maxFigureDim && pointDim(f) == f.Dim() }

// percentiles picks the functions at the 25th, 50th and 75th percentile of the
// model's leading distance.
func (r *Results) percentiles(functions []heldOutFunction, drawn map[Kind][][]float32) []Percentile {
	e := r.Experiment
	model, ok := r.Row(Model)
	if !ok {
		return nil
	}
	order := make([]int, len(functions))
	for i := range order {
		order[i] = i
	}
	distance := r.Distances()[0].Of
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(distance(model.Functions[a]), distance(model.Functions[b]))
	})
	var all []Percentile
	for _, percent := range percents {
		i := order[at(percent, len(order))]
		p := Percentile{Percent: percent, Function: model.Functions[i],
			Reference: functions[i].reference, Model: drawn[Model][i]}
		if mcmc := drawn[MCMC]; mcmc != nil {
			last := e.Evaluation.MCMC[len(e.Evaluation.MCMC)-1]
			p.MCMC, p.MCMCName = mcmc[i], last.Name
		}
		if law := functions[i].law; law != nil {
			p.X, p.PDF, p.CDF = curves(law, p.Reference, p.MCMC, p.Model)
		}
		all = append(all, p)
	}
	return all
}

// curves tabulates a law: finely between its 10⁻⁵ and 1 − 10⁻⁵ quantiles, coarsely
// from there to the outermost of the samples.
func curves(law family.Law, samples ...[]float32) (x, pdf, cdf []float64) {
	const points, margin, tail = 801, 20, 1e-5
	lo, hi := law.Quantile(tail), law.Quantile(1-tail)
	from, to := lo, hi
	for _, set := range samples {
		for _, v := range set {
			from, to = min(from, float64(v)), max(to, float64(v))
		}
	}
	for i := range margin {
		x = append(x, from+(lo-from)*float64(i)/margin)
	}
	for i := range points {
		x = append(x, lo+(hi-lo)*float64(i)/(points-1))
	}
	for i := range margin {
		x = append(x, hi+(to-hi)*float64(i+1)/margin)
	}
	for _, v := range x {
		pdf, cdf = append(pdf, law.PDF(v)), append(cdf, law.CDF(v))
	}
	return x, pdf, cdf
}
