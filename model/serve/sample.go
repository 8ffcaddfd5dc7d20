package serve

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/http"
	"runtime"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/sync/errgroup"

	"github.com/ergoflow/ergoflow/model/sampling/certificate"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/sampling/repair"
	"github.com/ergoflow/ergoflow/model/sampling/request"
	"github.com/ergoflow/ergoflow/model/sampling/sampler"
)

// Draws are what requests for samples have besides their equations.
type Draws struct {
	N        int     `json:"n,omitempty" minimum:"1" default:"4096" doc:"number of samples of each equation"`
	Seed     uint64  `json:"seed,omitempty" doc:"seed of the noise; the same seed gives the same samples"`
	Solver   string  `json:"solver,omitempty" default:"rk4-4" maxLength:"32" doc:"ODE solver: euler-N or rk4-N with N steps, or dopri5"`
	Repair   Repair  `json:"repair,omitzero"`
	Encoding string  `json:"encoding,omitempty" enum:"json,base64" default:"json" doc:"of samples: numbers, or base64 of little-endian float32, which clients read faster"`
	Model    string  `json:"model,omitempty" maxLength:"160" doc:"NAME or NAME@VERSION; the default is the only model" example:"vn1d"`
	TimeoutS float64 `json:"timeout_s,omitempty" exclusiveMinimum:"0" doc:"seconds after which the server gives up; it has its own bound"`
}

// SampleRequest asks for samples of one equation.
type SampleRequest struct {
	Equation
	Draws
}

// BatchRequest asks for samples of several equations.
type BatchRequest struct {
	Equations []Equation `json:"equations" minItems:"1" maxItems:"1024"`
	Place     int        `json:"place,omitempty" minimum:"0" maximum:"1000000000" doc:"of the first equation in a longer list that goes in several requests: equations have the noise of their places"`
	Draws
}

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

type sampleOutput struct {
	ServerTiming string `header:"Server-Timing"`
	Verdict      string `header:"Ergoflow-Verdict" doc:"of the certificate; of several equations the worst"`
	Body         SampleAnswer
}

type batchOutput struct {
	ServerTiming string `header:"Server-Timing"`
	Verdict      string `header:"Ergoflow-Verdict"`
	Body         BatchAnswer
}

func (s *Server) addSample(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "sample", Method: http.MethodPost, Path: "/v1/sample", Tags: []string{"samples"},
		Summary:     "Sample the invariant law of an equation",
		Description: "The answer is JSON, or with `Accept: application/x-npy` NumPy's format with the samples alone.",
		Errors:      failures, MaxBodyBytes: s.config.MaxBody,
	}, func(ctx context.Context, in *struct{ Body SampleRequest }) (*sampleOutput, error) {
		answers, about, err := s.sample(ctx, []Equation{in.Body.Equation}, 0, in.Body.Draws, func(int) string { return "" })
		if err != nil {
			return nil, err
		}
		return &sampleOutput{about.Timing.header(), string(answers[0].Certificate.Verdict), SampleAnswer{answers[0], about}}, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "samples", Method: http.MethodPost, Path: "/v1/samples", Tags: []string{"samples"},
		Summary: "Sample the invariant laws of many equations",
		Errors:  failures, MaxBodyBytes: s.config.MaxBody,
	}, func(ctx context.Context, in *struct{ Body BatchRequest }) (*batchOutput, error) {
		answers, about, err := s.sample(ctx, in.Body.Equations, in.Body.Place, in.Body.Draws, func(i int) string { return fmt.Sprintf(".equations[%d]", i) })
		if err != nil {
			return nil, err
		}
		worst := slices.MaxFunc(answers, func(a, b Samples) int { return rank(a.Certificate.Verdict) - rank(b.Certificate.Verdict) })
		return &batchOutput{about.Timing.header(), string(worst.Certificate.Verdict), BatchAnswer{answers, about}}, nil
	})
}

// failures are the statuses that requests may have besides 200.
var failures = []int{
	http.StatusBadRequest, http.StatusNotFound, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity,
	http.StatusServiceUnavailable, http.StatusGatewayTimeout,
}

// rank orders verdicts, the worst last.
func rank(v certificate.Verdict) int {
	return slices.Index([]certificate.Verdict{certificate.Good, certificate.NotJudged, certificate.Care, certificate.Refused}, v)
}

// clock measures the parts of an answer.
type clock struct{ begin, last time.Time }

func newClock() clock { now := time.Now(); return clock{now, now} }

// lap is the time in milliseconds since the last one.
func (c *clock) lap() float64 {
	now := time.Now()
	took := now.Sub(c.last)
	c.last = now
	return took.Seconds() * 1000
}

// sample answers for equations, of which the first has the noise of that place; at is the path of
// an equation in the body.
func (s *Server) sample(ctx context.Context, equations []Equation, place int, d Draws, at func(i int) string) ([]Samples, About, error) {
	about := About{Seed: d.Seed}
	c := newClock()
	m, leave, err := s.models.get(d.Model)
	if err != nil {
		return nil, about, err
	}
	defer leave()
	solver, err := ode.Parse(d.Solver)
	if err != nil {
		return nil, about, problem(&fieldError{"", "solver", err}, "")
	}
	if err := checkSize(m, len(equations), d.N); err != nil {
		return nil, about, err
	}
	ctx, cancel := s.deadline(ctx, d.TimeoutS)
	defer cancel()
	weight := int64(len(equations) * d.N * m.dim())
	leave, err = s.gate.enter(ctx, max(weight, 1<<14))
	if err != nil {
		return nil, about, problem(err, "")
	}
	defer leave()
	about.Model, about.Version, about.Engine, about.Solver = m.Name, m.Version, m.engine.Of(solver), solver.String()
	about.Timing.Wait = c.lap()

	answers := make([]Samples, len(equations))
	pending, draws := make([]*request.Pending, len(equations)), make([]sampler.Draw, len(equations))
	err = parallel(ctx, len(equations), func(_ context.Context, i int) error {
		r, err := equations[i].request(at(i))
		if err == nil {
			pending[i], err = m.reader.Begin(ctx, r)
		}
		if err != nil {
			return problem(err, at(i))
		}
		draws[i] = sampler.Draw{Function: pending[i].Subject, N: d.N, Seed: d.Seed, Place: place + i}
		return nil
	})
	if err != nil {
		return nil, about, err
	}
	about.Timing.Read = c.lap()

	drawn, failed := make([][]float32, len(draws)), make([]error, len(draws))
	if !d.Repair.Weights { // which draw for themselves
		if drawn, failed, err = m.queue.draw(ctx, draws, solver); err != nil {
			return nil, about, problem(err, "")
		}
	}
	about.Timing.Sample = c.lap()
	targets := make([]request.Target, len(equations))
	err = parallel(ctx, len(equations), func(_ context.Context, i int) error {
		var err error
		if targets[i], err = pending[i].Target(); err == nil && !d.Repair.Weights {
			drawn[i], err = request.Checked(drawn[i], failed[i])
		}
		if err != nil {
			return problem(err, at(i))
		}
		if !d.Repair.Asked {
			answers[i] = newSamples(equations[i], targets[i], drawn[i], m.dim(), targets[i].Certify(drawn[i]))
		}
		return nil
	})
	if err != nil {
		return nil, about, err
	}
	about.Timing.Certify = c.lap()
	if d.Repair.Asked {
		for i := range equations { // each on all processors
			if answers[i], err = mend(ctx, m, equations[i], targets[i], drawn[i], solver, d, len(equations)); err != nil {
				return nil, about, problem(err, at(i))
			}
		}
		about.Timing.Repair = c.lap()
	}
	if d.Encoding == "base64" {
		for i := range answers {
			answers[i].Samples = base64.StdEncoding.EncodeToString(littleEndian(answers[i].x))
		}
	}
	about.Timing.Total = time.Since(c.begin).Seconds() * 1000
	s.metrics.sampled(m, len(equations), d.N)
	return answers, about, nil
}

// littleEndian are the bytes of numbers.
func littleEndian(x []float32) []byte {
	content := make([]byte, 0, 4*len(x))
	for _, v := range x {
		content = binary.LittleEndian.AppendUint32(content, math.Float32bits(v))
	}
	return content
}

// mend repairs the samples of one of several equations.
func mend(ctx context.Context, m *Model, e Equation, target request.Target, x []float32, solver ode.Solver, d Draws, several int) (Samples, error) {
	if d.Repair.Weights {
		x, weighing, judged, err := target.Weigh(ctx, m.engine, d.N, solver, d.Seed)
		if err != nil {
			return Samples{}, err
		}
		a := newSamples(e, target, x, m.dim(), judged)
		a.Weights = &weighing
		return a, nil
	}
	o := repair.Options{Steps: d.Repair.Steps, Seed: d.Seed}
	if until, ok := ctx.Deadline(); ok {
		o.Limit = min(repair.DefaultLimit, time.Until(until)/2/time.Duration(several))
	}
	result, judged, err := target.Repair(ctx, x, o)
	if err != nil {
		return Samples{}, err
	}
	a := newSamples(e, target, x, m.dim(), judged)
	a.Repair = &result
	return a, nil
}

// checkSize refuses requests for nothing, and for more samples than one answer has.
func checkSize(m *Model, equations, n int) error {
	switch dim := m.dim(); {
	// The schema has these bounds, but null has none.
	case equations < 1:
		return problem(&fieldError{"", "equations", errors.New("there are none")}, "")
	case n < 1:
		return problem(&fieldError{"", "n", errors.New("it is less than 1")}, "")
	case n > maxSamples:
		return tooLarge("body.n", n, maxSamples, "samples")
	case n > maxNumbers/dim/equations:
		return tooLarge("body.n", n, maxNumbers/dim/equations, fmt.Sprintf("samples of each of %d equations in %d dimensions", equations, dim))
	}
	return nil
}

// parallel calls work for each of n on all processors.
func parallel(ctx context.Context, n int, work func(ctx context.Context, i int) error) error {
	if n == 1 {
		return work(ctx, 0)
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		group.Go(func() error {
			if err := groupCtx.Err(); err != nil {
				return problem(err, "")
			}
			return work(groupCtx, i)
		})
	}
	return group.Wait()
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
	sorted := slices.Clone(x)
	slices.Sort(sorted)
	a.Quantiles = make(map[string]float64, len(quantiles))
	for _, q := range quantiles {
		// Hyndman and Fan's type 7, NumPy's default.
		at := q.u * float64(len(sorted)-1)
		i := int(at)
		low, high := float64(sorted[i]), float64(sorted[min(i+1, len(sorted)-1)])
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

// deadline bounds an answer by the server's timeout, or by the request's if that is shorter.
func (s *Server) deadline(ctx context.Context, seconds float64) (context.Context, context.CancelFunc) {
	timeout := s.config.Timeout
	if seconds > 0 && seconds < timeout.Seconds() {
		timeout = time.Duration(seconds * float64(time.Second))
	}
	return context.WithTimeout(ctx, timeout)
}
