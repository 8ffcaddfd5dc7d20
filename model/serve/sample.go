package serve

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/ergoflow/ergoflow/data/simulation/simulate"
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
	Solver   string  `json:"solver,omitempty" maxLength:"32" doc:"ODE solver: euler-N or rk4-N with N steps, or dopri5; the default is the model's"`
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
		Description: formats,
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
		Summary:     "Sample the invariant laws of many equations",
		Description: formats,
		Errors:      failures, MaxBodyBytes: s.config.MaxBody,
	}, func(ctx context.Context, in *struct{ Body BatchRequest }) (*batchOutput, error) {
		answers, about, err := s.sample(ctx, in.Body.Equations, in.Body.Place, in.Body.Draws, func(i int) string { return fmt.Sprintf(".equations[%d]", i) })
		if err != nil {
			return nil, err
		}
		return &batchOutput{about.Timing.header(), string(worst(answers)), BatchAnswer{answers, about}}, nil
	})
	for _, path := range []string{"/v1/sample", "/v1/samples"} {
		content := api.OpenAPI().Paths[path].Post.Responses["200"].Content
		for _, format := range []string{"application/x-npy", arrowStream} {
			content[format] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
		}
	}
}

// formats describes the answers with samples.
const formats = "The answer is JSON; with `Accept: application/x-npy` NumPy's format with the samples alone; with `Accept: " + arrowStream +
	"` a stream of Apache Arrow, a record batch for each equation, with the rest of the answer in the schema's metadata."

// worst is the worst verdict.
func worst(answers []Samples) certificate.Verdict {
	return slices.MaxFunc(answers, func(a, b Samples) int { return rank(a.Certificate.Verdict) - rank(b.Certificate.Verdict) }).Certificate.Verdict
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
	solver, err := m.experiment.Solver(d.Solver)
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
	err = simulate.Each(ctx, len(equations), func(_ context.Context, i int) error {
		r, err := equations[i].request(at(i))
		if err == nil {
			pending[i], err = m.reader.Begin(ctx, r)
		}
		if err != nil {
			return problem(err, at(i))
		}
		draws[i] = sampler.Draw{Function: pending[i].Subject, N: d.N, Seed: d.Seed, Place: place + i}
		return nil
	}, nil)
	if err != nil {
		return nil, about, problem(err, "")
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
	err = simulate.Each(ctx, len(equations), func(_ context.Context, i int) error {
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
	}, nil)
	if err != nil {
		return nil, about, problem(err, "")
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
	s.metrics.sampled(m, answers, d.N, about.Timing)
	return answers, about, nil
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

// deadline bounds an answer by the server's timeout, or by the request's if that is shorter.
func (s *Server) deadline(ctx context.Context, seconds float64) (context.Context, context.CancelFunc) {
	timeout := s.config.Timeout
	if seconds > 0 && seconds < timeout.Seconds() {
		timeout = time.Duration(seconds * float64(time.Second))
	}
	return context.WithTimeout(ctx, timeout)
}
