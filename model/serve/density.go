package serve

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// DensityRequest asks for the law of the model's samples on the line, as numbers.
type DensityRequest struct {
	Equation
	Model  string `json:"model,omitempty" maxLength:"160" doc:"NAME or NAME@VERSION; the default is the only model"`
	Points int    `json:"points,omitempty" minimum:"2" maximum:"10000" default:"401" doc:"number of points x"`
}

// DensityAnswer has the density and the distribution function at evenly spaced points.
type DensityAnswer struct {
	X       []float64 `json:"x"`
	Density []float64 `json:"density" doc:"of the model"`
	CDF     []float64 `json:"cdf" doc:"of the model"`
	// Exact is the density of the formulas' law by quadrature; null where it is not known.
	Exact     []float64          `json:"exact"`
	Moments   *Moments           `json:"moments,omitempty" doc:"of the exact law"`
	Quantiles map[string]float64 `json:"quantiles" doc:"of the model's law"`
	// ExactQuantiles are absent where the law is not known.
	ExactQuantiles map[string]float64 `json:"exact_quantiles,omitempty" doc:"of the exact law"`
	Warnings       []string           `json:"warnings"`
	Model          string             `json:"model"`
	Version        string             `json:"version"`
	Timing         Timing             `json:"timing"`
}

type densityOutput struct {
	ServerTiming string `header:"Server-Timing"`
	Body         DensityAnswer
}

func (s *Server) addDensity(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "density", Method: http.MethodPost, Path: "/v1/density", Tags: []string{"samples"},
		Summary: "The density of the model's law on the line, beside the exact one",
		Errors:  failures, MaxBodyBytes: s.config.MaxBody,
	}, func(ctx context.Context, in *struct{ Body DensityRequest }) (*densityOutput, error) {
		answer, err := s.density(ctx, in.Body)
		if err != nil {
			return nil, problem(err, "")
		}
		return &densityOutput{answer.Timing.header(), answer}, nil
	})
}

func (s *Server) density(ctx context.Context, in DensityRequest) (a DensityAnswer, err error) {
	c := newClock()
	m, leave, err := s.models.get(in.Model)
	if err != nil {
		return a, err
	}
	defer leave()
	a.Model, a.Version = m.Name, m.Version
	ctx, cancel := s.deadline(ctx, 0)
	defer cancel()
	leave, err = s.gate.enter(ctx, 1<<14)
	if err != nil {
		return a, err
	}
	defer leave()
	a.Timing.Wait = c.lap()
	r, err := in.Equation.request("")
	if err != nil {
		return a, err
	}
	target, err := m.reader.Resolve(ctx, r)
	if err != nil {
		return a, err
	}
	a.Timing.Read = c.lap()
	law, err := m.engine.Law(ctx, target.Subject, m.solver)
	if err != nil {
		return a, err
	}
	// All but a thousandth of the model's law, and of the exact one.
	lo, hi := law.Quantile(5e-4), law.Quantile(1-5e-4)
	exact := target.Line()
	if exact != nil {
		lo, hi = min(lo, exact.Quantile(5e-4)), max(hi, exact.Quantile(1-5e-4))
	}
	margin := 0.05 * (hi - lo)
	lo, hi = lo-margin, hi+margin
	a.X, a.Density, a.CDF = make([]float64, in.Points), make([]float64, in.Points), make([]float64, in.Points)
	for i := range a.X {
		x := lo + (hi-lo)*float64(i)/float64(in.Points-1)
		a.X[i], a.Density[i], a.CDF[i] = x, law.PDF(x), law.CDF(x)
	}
	if exact != nil {
		a.Exact = make([]float64, in.Points)
		for i, x := range a.X {
			a.Exact[i] = exact.PDF(x)
		}
	}
	if mean, variance, ok := target.Exact(); ok {
		a.Moments = &Moments{finite(mean), finite(variance)}
	}
	a.Quantiles = make(map[string]float64, len(quantiles))
	for _, q := range quantiles {
		a.Quantiles[q.name] = law.Quantile(q.u)
	}
	if exact != nil {
		a.ExactQuantiles = make(map[string]float64, len(quantiles))
		for _, q := range quantiles {
			a.ExactQuantiles[q.name] = exact.Quantile(q.u)
		}
	}
	a.Warnings = append([]string{}, target.Warnings...)
	a.Timing.Sample = c.lap()
	a.Timing.Total = a.Timing.Wait + a.Timing.Read + a.Timing.Sample
	return a, nil
}
