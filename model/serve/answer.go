package serve

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/model/evaluation/metrics/bucketsort"
	"github.com/ergoflow/ergoflow/model/sampling/certificate"
	"github.com/ergoflow/ergoflow/model/sampling/repair"
	"github.com/ergoflow/ergoflow/model/sampling/request"
)

// Samples answers for one equation.
type Samples struct {
	Samples  any      `json:"samples" doc:"[n] numbers on the line, [n, d] in d dimensions; with the encoding base64 text"`
	Shape    []int    `json:"shape"`
	Equation Equation `json:"equation"`
	// Moments and quantiles are of the samples, on the line.
	Mean      *float64           `json:"mean,omitempty"`
	Variance  *float64           `json:"variance,omitempty"`
	Quantiles map[string]float64 `json:"quantiles,omitempty"`
	// Exact has the moments of the law by quadrature, where it is known.
	Exact       *Moments                `json:"exact,omitempty"`
	Certificate certificate.Certificate `json:"certificate"`
	Repair      *repair.Result          `json:"repair,omitempty" doc:"what the repair did"`
	Weights     *request.Weighing       `json:"weights,omitempty" doc:"of repair weights"`
	Warnings    []string                `json:"warnings" doc:"why the samples may have another law than the equation"`

	x []float32
}

// Moments are null where they do not exist.
type Moments struct {
	Mean     *float64 `json:"mean"`
	Variance *float64 `json:"variance"`
}

// About says by what an answer was made.
type About struct {
	Model   string `json:"model"`
	Version string `json:"version"`
	Engine  string `json:"engine" doc:"table or network"`
	Solver  string `json:"solver"`
	Seed    uint64 `json:"seed"`
	Timing  Timing `json:"timing"`
}

// Timing has the milliseconds of the parts of an answer.
type Timing struct {
	Wait    float64 `json:"wait_ms" doc:"until the server had room for the request"`
	Read    float64 `json:"read_ms" doc:"reading the formulas"`
	Sample  float64 `json:"sample_ms" doc:"drawing the samples, with the wait for the batch before"`
	Repair  float64 `json:"repair_ms" doc:"steps of the equation from the samples, and their certificate"`
	Certify float64 `json:"certify_ms" doc:"judging the samples, with what was left to do for their exact law"`
	Total   float64 `json:"total_ms"`
}

// header is the Server-Timing header.
func (t Timing) header() string {
	return fmt.Sprintf("wait;dur=%.3f, read;dur=%.3f, sample;dur=%.3f, certify;dur=%.3f, repair;dur=%.3f, total;dur=%.3f",
		t.Wait, t.Read, t.Sample, t.Certify, t.Repair, t.Total)
}

// SampleAnswer answers a SampleRequest.
type SampleAnswer struct {
	Samples
	About
}

// BatchAnswer answers a BatchRequest.
type BatchAnswer struct {
	Answers []Samples `json:"answers" doc:"in the order of the equations"`
	About
}

// quantiles that an answer has, by their names.
var quantiles = []struct {
	name string
	u    float64
}{{"0.025", .025}, {"0.05", .05}, {"0.25", .25}, {"0.5", .5}, {"0.75", .75}, {"0.95", .95}, {"0.975", .975}}

func newSamples(e Equation, target request.Target, x []float32, dim int, judged certificate.Certificate) Samples {
	a := Samples{Equation: e, Shape: []int{len(x) / dim}, Warnings: append([]string{}, target.Warnings...), x: x, Certificate: judged}
	a.Warnings = append(a.Warnings, a.Certificate.Warnings()...)
	if mean, variance, ok := target.Exact(); ok {
		a.Exact = &Moments{finite(mean), finite(variance)}
	}
	if dim > 1 {
		a.Shape = append(a.Shape, dim)
		rows := make([][]float32, len(x)/dim)
		for i := range rows {
			rows[i] = x[i*dim : (i+1)*dim]
		}
		a.Samples = rows
		return a
	}
	a.Samples = x
	mean, variance := moments(x)
	a.Mean, a.Variance = finite(mean), finite(variance)
	values, sorted := make([]float64, len(x)), make([]float64, len(x))
	for i, v := range x {
		values[i] = float64(v)
	}
	new(bucketsort.Sorter).Sort(sorted, values)
	a.Quantiles = make(map[string]float64, len(quantiles))
	for _, q := range quantiles {
		// Hyndman and Fan's type 7, NumPy's default.
		at := q.u * float64(len(sorted)-1)
		i := int(at)
		low, high := sorted[i], sorted[min(i+1, len(sorted)-1)]
		a.Quantiles[q.name] = low + (at-float64(i))*(high-low)
	}
	return a
}

// moments are the mean and the unbiased variance, NaN of one sample.
func moments(x []float32) (mean, variance float64) {
	for _, v := range x {
		mean += float64(v)
	}
	mean /= float64(len(x))
	for _, v := range x {
		variance += (float64(v) - mean) * (float64(v) - mean)
	}
	return mean, variance / float64(len(x)-1)
}

// finite is nil for numbers that JSON does not have.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// littleEndian are the bytes of numbers.
func littleEndian(x []float32) []byte {
	content := make([]byte, 0, 4*len(x))
	for _, v := range x {
		content = binary.LittleEndian.AppendUint32(content, math.Float32bits(v))
	}
	return content
}
