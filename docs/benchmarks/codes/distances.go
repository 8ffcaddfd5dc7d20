package main

import (
	"context"
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/ergoflow/ergoflow/model/sampling/certificate"
)

// measures are those of a row.
var measures = []string{
	"mass of the law at values that the training set has not (today)",
	"Mahalanobis distance of the code",
	"distance of the code from the nearest, standardised",
	"distance of the code from the nearest",
	"distance of the velocity from the nearest, where the law has mass",
	"the same, in deviations of the law",
	"for comparison: distance of the code from the mean code",
	"for comparison: 1/deviation of the law",
}

// reference are the codes of the training set.
type reference struct {
	codes      [][]float64 // [references, width+1]
	components stat.PC
	mean       []float64
	kept       int         // components with 99.9 % of the variance
	standard   [][]float64 // [references, kept]: of variance 1 each
}

// references encodes functions of the training set, evenly over all.
func (m *model) references(ctx context.Context) (*reference, error) {
	r := &reference{}
	width := m.host.CodeSize()
	all := mat.NewDense(references, width, nil)
	first, generated := m.experiment.Data.Generated()
	for i := range references {
		f, err := m.family.Function(m.experiment.Data.Seed, m.experiment.Data.TrainingFunction(first+i*generated/references))
		if err != nil {
			return nil, err
		}
		code, err := m.code(ctx, f)
		if err != nil {
			return nil, err
		}
		row := make([]float64, width)
		for k, v := range code {
			row[k] = float64(v)
		}
		r.codes = append(r.codes, row)
		all.SetRow(i, row)
	}
	r.mean = make([]float64, width)
	for k := range r.mean {
		r.mean[k] = stat.Mean(mat.Col(nil, k, all), nil)
	}
	if !r.components.PrincipalComponents(all, nil) {
		return nil, errors.New("the codes have no principal components")
	}
	variances := r.components.VarsTo(nil)
	total, sum := 0.0, 0.0
	for _, v := range variances {
		total += v
	}
	for sum < 0.999*total {
		sum += variances[r.kept]
		r.kept++
	}
	for _, code := range r.codes {
		r.standard = append(r.standard, r.standardise(code))
	}
	return r, nil
}

// standardise are the coordinates of a code along the components that are kept.
func (r *reference) standardise(code []float64) []float64 {
	var vectors mat.Dense
	r.components.VectorsTo(&vectors)
	variances := r.components.VarsTo(nil)
	z := make([]float64, r.kept)
	for k := range z {
		for i, v := range code {
			z[k] += (v - r.mean[i]) * vectors.At(i, k)
		}
		z[k] /= math.Sqrt(variances[k])
	}
	return z
}

// points are how many quantiles of a law its mass is represented by.
const points = 64

// distances are all measures but today's. The last is the least mean square of v(x, 1; code) −
// v(x, 1; reference) over the law, with x at even quantiles of the law.
func (r *reference) distances(m *model, code32 []float32, law *certificate.Law) []float64 {
	code := make([]float64, len(code32))
	for k, v := range code32 {
		code[k] = float64(v)
	}
	z := r.standardise(code)
	x := make([]float32, points)
	for i := range x {
		x[i] = float32(law.Quantile((float64(i) + 0.5) / points))
	}
	m.frame.Standardise(x)
	width := len(code) - 1
	hidden := make([]float32, points*width)
	m.host.Hidden(hidden, x, 1)
	nearest := [3]float64{math.Inf(1), math.Inf(1), math.Inf(1)}
	difference := make([]float64, len(code))
	for j, other := range r.codes {
		var standard, plain, velocity float64
		for k, v := range r.standard[j] {
			standard += (z[k] - v) * (z[k] - v)
		}
		for k, v := range other {
			difference[k] = code[k] - v
			plain += difference[k] * difference[k]
		}
		for i := range points {
			v := difference[width]
			for k, h := range hidden[i*width : (i+1)*width] {
				v += float64(h) * difference[k]
			}
			velocity += v * v / points
		}
		for k, d := range [...]float64{standard, plain, velocity} {
			nearest[k] = min(nearest[k], d)
		}
	}
	var mahalanobis float64
	for _, v := range z {
		mahalanobis += v * v
	}
	var centre float64
	for k, v := range code {
		centre += (v - r.mean[k]) * (v - r.mean[k])
	}
	deviation := math.Sqrt(law.Variance) / m.frame.Scale(0)
	return []float64{math.Sqrt(mahalanobis), math.Sqrt(nearest[0]), math.Sqrt(nearest[1]), math.Sqrt(nearest[2]), math.Sqrt(nearest[2]) / deviation, math.Sqrt(centre), 1 / deviation}
}
