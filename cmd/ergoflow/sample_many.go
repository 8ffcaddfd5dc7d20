package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ergoflow/ergoflow/internal/arrayfile"
	"github.com/ergoflow/ergoflow/model/sampling/certificate"
	"github.com/ergoflow/ergoflow/model/sampling/engine"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/sampling/request"
	"github.com/ergoflow/ergoflow/model/sampling/sampler"
)

// manySamples is the document of `sample --equations --json`.
type manySamples struct {
	Output     string   `json:"output"`
	Shape      []int    `json:"shape"` // [equations, n], or [equations, n, d]
	Seed       uint64   `json:"seed"`
	Solver     string   `json:"solver"`
	Engine     string   `json:"engine"`
	Checkpoint string   `json:"checkpoint"`
	SetupS     float64  `json:"setup_s"`
	Seconds    float64  `json:"seconds"` // of reading, sampling and judging all equations
	Equations  []judged `json:"equations"`
}

// groupOfEquations is how many equations share a pass over the table.
const groupOfEquations = 128

// runMany samples the equations of a file.
func (f *sampleFlags) runMany(ctx context.Context) (out manySamples, err error) {
	if err := f.check(); err != nil {
		return out, err
	}
	requests, err := request.ReadEquations(f.equations)
	if err != nil {
		if errors.Is(err, request.ErrEquations) {
			err = withHint(err, "give a .csv file with the columns drift and diffusion, or a .json file with a list (docs/formats.md)")
		}
		return out, err
	}
	e, equations, st, err := readTrained(ctx, f.checkpoint)
	if err != nil {
		return out, err
	}
	solver, err := e.Solver(f.solver)
	if err != nil {
		return out, usage(err)
	}
	dim := e.Velocity().Dim()
	if most := sampler.MaxNumbers / dim / len(requests); f.n < 1 || f.n > most {
		return out, usagef("-n is %d, not in 1…%d for %d equations", f.n, most, len(requests))
	}
	begin := time.Now()
	drawer, err := engine.Open(engine.Options{Name: f.engine, Backend: f.backend, Tables: tablesBeside(f.checkpoint)}, e, equations, st)
	if err != nil {
		return out, engineError(err)
	}
	defer drawer.Close()
	if err := drawer.Prepare(ctx, solver); err != nil {
		return out, engineError(err)
	}
	out = manySamples{
		Output: f.output, Seed: f.seed, Solver: solver.String(), Engine: drawer.Of(solver), Checkpoint: f.checkpoint, SetupS: time.Since(begin).Seconds(),
	}
	begin = time.Now()
	reader := request.NewReader(e, equations, st.Normalisation)
	all := make([]float32, 0, len(requests)*f.n*dim)
	for first := 0; first < len(requests); first += groupOfEquations {
		group := requests[first:min(first+groupOfEquations, len(requests))]
		x, answers, err := f.drawGroup(ctx, drawer, reader, solver, group, first)
		if err != nil {
			return out, err
		}
		all, out.Equations = append(all, x...), append(out.Equations, answers...)
	}
	out.Seconds = time.Since(begin).Seconds()
	written := arrayfile.Points32(all, dim)
	written.Equations = len(requests)
	if _, err := writeSamples(ctx, f.output, written); err != nil {
		return out, err
	}
	out.Shape = written.Shape()
	return out, nil
}

// drawGroup samples and judges the equations that begin with number first of the file.
func (f *sampleFlags) drawGroup(
	ctx context.Context, drawer *engine.Engine, reader *request.Reader, solver ode.Solver, group []request.Request, first int,
) (all []float32, answers []judged, err error) {
	named := func(i int, err error) error { return fmt.Errorf("equation %d: %w", first+i+1, err) }
	pending, draws := make([]*request.Pending, len(group)), make([]sampler.Draw, len(group))
	for i, r := range group {
		if pending[i], err = reader.Begin(ctx, r); err != nil {
			err = named(i, err)
			if input := (*request.InputError)(nil); errors.As(err, &input) {
				err = withHint(usage(err), "correct it in %s", f.equations)
			} else if equation := (*request.EquationError)(nil); errors.As(err, &equation) && equation.Hint() != "" {
				err = withHint(err, "%s", equation.Hint())
			}
			return nil, nil, err
		}
		draws[i] = sampler.Draw{Function: pending[i].Subject, N: f.n, Seed: f.seed, Place: first + i}
	}
	var samples [][]float32
	var failures []error
	if f.repair != byWeights {
		if samples, failures, err = drawer.SampleEach(ctx, draws, solver); err != nil {
			return nil, nil, err
		}
	}
	for i, r := range group {
		target, err := pending[i].Target()
		if err != nil {
			return nil, nil, named(i, err)
		}
		one := *f
		one.request = r
		var d drawn
		if f.repair == byWeights { // each from the noise that it has alone
			d, err = one.draw(ctx, drawer, target, solver)
		} else {
			d.x, err = request.Checked(samples[i], failures[i])
		}
		if err != nil {
			return nil, nil, named(i, err)
		}
		answer, err := one.judge(ctx, target, d)
		if err != nil {
			return nil, nil, named(i, err)
		}
		answer.Warnings = append(append([]string{}, target.Warnings...), answer.Certificate.Warnings()...)
		all, answers = append(all, d.x...), append(answers, answer)
	}
	return all, answers, nil
}

// String is the line that sample prints for many equations.
func (m manySamples) String() string {
	counts := map[certificate.Verdict]int{}
	for _, e := range m.Equations {
		counts[e.Certificate.Verdict]++
	}
	line := fmt.Sprintf("%s: %v samples by %s in %s, ready in %s, seed %d:", m.Output, m.Shape, m.Solver, short(m.Seconds), short(m.SetupS), m.Seed)
	separator := " "
	for _, v := range []certificate.Verdict{certificate.Good, certificate.Care, certificate.Refused, certificate.NotJudged} {
		if counts[v] > 0 {
			line += fmt.Sprintf("%s%d %s", separator, counts[v], v)
			separator = ", "
		}
	}
	return line
}
