package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/data/equations/density"
	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/probe"
	"github.com/ergoflow/ergoflow/internal/npy"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/sampling/sampler"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// sampling is the document of `sample --json`.
type sampling struct {
	Output  string  `json:"output"`
	Shape   []int   `json:"shape"`
	Samples int     `json:"samples"`
	Solver  string  `json:"solver"`
	Time    float64 `json:"time,omitzero"` // physical, of experiments that have it
	Seconds float64 `json:"seconds"`
	// Warnings are what lies far from what the model was trained on, or between its nodes.
	Warnings []string `json:"warnings,omitempty"`
	*onLine
}

// onLine is what is said of samples in one dimension alone.
type onLine struct {
	Mean     float64   `json:"mean"`
	Variance statistic `json:"variance"`
}

func sampleCommand() *cobra.Command {
	var checkpoint, solverName, output, backendName string
	var drift, diffusion []string
	var function, n int
	var physical float64
	var seed uint64
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "sample --checkpoint C (--function I | --drift EXPR --diffusion EXPR) -o x.npy",
		Short: "Draw from the invariant measure of an equation with a trained model",
		Long: `Draws samples of the invariant measure without simulation: of function I of the
experiment that the model was trained on, or of a new equation given as formulas
in x, which the model sees on its own grid. An equation without an invariant law is
refused; one whose drift or diffusion is far from those of the training set gets a
warning.

In the plane --drift is given twice, in x and y, and --diffusion once (σ·I), twice
(a diagonal) or four times (a matrix, row after row), as in the model's family; of
cn2d it is "sqrt(2)". Whether there is an invariant law is then yours to know.

A model of vn1d_time draws from the law of X_τ, started from N(0,1), at the
physical time --time: by default the function's own, of formulas the longest.`,
		Example: `  ergoflow sample --checkpoint ergoflow-runs/vn1d-demo --drift "-2*(x-1)" --diffusion "1" -n 4096 -o x.npy
  ergoflow sample --checkpoint ergoflow-runs/cn2d-scaled --drift "-x-y" --drift "x-y" --diffusion "sqrt(2)" -o x.npy`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			solver, err := ode.Parse(solverName)
			if err != nil {
				return usage(err)
			}
			if n < 1 || n > sampler.MaxNumbers {
				return withHint(usagef("-n is %d, not in 1…%d", n, sampler.MaxNumbers), moreSamples)
			}
			if err := writable(output); err != nil {
				return err
			}
			trained, st, err := readState(cmd.Context(), checkpoint)
			if err != nil {
				return err
			}
			e := trained.Inference()
			if d := e.Velocity().Dim(); n > sampler.MaxNumbers/d {
				return withHint(usagef("-n is %d, not in 1…%d for samples of %d numbers", n, sampler.MaxNumbers/d, d), moreSamples)
			}
			var subject flow.Subject
			var warnings []string
			if cmd.Flags().Changed("function") {
				subject, err = functionOf(e, function)
			} else {
				subject, warnings, err = equation(e, st.Normalisation, drift, diffusion)
			}
			if err != nil {
				return err
			}
			for _, w := range warnings {
				fmt.Fprintln(os.Stderr, "warning:", w)
			}
			var asked *float64
			if cmd.Flags().Changed("time") {
				asked = &physical
			}
			at, err := atTime(e, &subject, asked)
			if err != nil {
				return err
			}
			conditioner, err := e.Conditioner(st.Normalisation)
			if err != nil {
				return err
			}
			b, err := backend.Open(backendName)
			if err != nil {
				return err
			}
			defer b.Close()
			begin := time.Now()
			s, err := sampler.New(b, e.Velocity(), conditioner, st)
			if err != nil {
				return err
			}
			defer s.Close()
			drawn, err := s.Sample(cmd.Context(), []flow.Subject{subject}, n, solver, seed)
			if err == nil && !(farthest(drawn[0]) < absurd) {
				err = errUnlearned
			}
			if errors.Is(err, errUnlearned) || errors.Is(err, ode.ErrNonFinite) || errors.Is(err, probe.ErrDiverged) {
				err = withHint(err, "the model has not learned such an equation, and nothing was written; give one like those of the training set")
			}
			if err != nil {
				return err
			}
			x, shape := drawn[0], []int{n}
			if d := e.Velocity().Dim(); d > 1 {
				shape = []int{n, d}
			}
			out := sampling{Output: output, Shape: shape, Samples: n, Solver: solver.String(), Time: at, Seconds: time.Since(begin).Seconds(), Warnings: warnings}
			if err := npy.Write(cmd.Context(), output, npy.Array{Shape: shape, Data: x}); err != nil {
				return err
			}
			said := ""
			if at > 0 {
				said = fmt.Sprintf(", time %.4g", at)
			}
			if len(shape) == 1 {
				mean, variance := moments(x)
				out.onLine = &onLine{mean, variance}
				said += fmt.Sprintf(", mean %.4g", mean)
				if n > 1 {
					said += fmt.Sprintf(", variance %.4g", variance)
				}
			}
			if asJSON {
				return printJSON(out)
			}
			fmt.Fprintf(stdout, "%s: %d samples by %s in %.2f s%s\n", output, n, out.Solver, out.Seconds, said)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&checkpoint, "checkpoint", "", checkpointUsage+" (required)")
	f.IntVar(&function, "function", 0, "function of the experiment; held-out ones follow the training functions")
	f.StringArrayVar(&drift, "drift", nil, "b(x) as a formula; in the plane twice, in x and y")
	f.StringArrayVar(&diffusion, "diffusion", nil, "σ(x) as a formula; in the plane up to four")
	f.Float64Var(&physical, "time", 0, "physical time of the law, for models of laws at times")
	f.IntVarP(&n, "samples", "n", 4096, "samples to draw")
	f.StringVar(&solverName, "solver", "rk4-4", "euler-N, rk4-N or dopri5")
	f.StringVarP(&output, "output", "o", "", "where the samples go, as .npy (required)")
	f.StringVar(&backendName, "backend", backend.Auto, "compute backend: auto, xla:cuda, xla:cpu or go")
	f.Uint64Var(&seed, "seed", 0, "seed of the noise")
	f.BoolVar(&asJSON, "json", false, "print JSON (docs/formats.md)")
	cmd.MarkFlagRequired("checkpoint")
	cmd.MarkFlagRequired("output")
	cmd.MarkFlagsRequiredTogether("drift", "diffusion")
	cmd.MarkFlagsOneRequired("function", "drift")
	cmd.MarkFlagsMutuallyExclusive("function", "drift")
	return cmd
}

// moreSamples is what to do where one command cannot hold as many as are wanted.
const moreSamples = "give the command several times, each with another --seed"

// absurd is where simulations are taken to have diverged.
const absurd = 1e6

var errUnlearned = fmt.Errorf("the samples reach beyond ±%g", absurd)

// farthest is the largest size of a coordinate, NaN if one is.
func farthest(x []float32) float64 {
	far := 0.0
	for _, v := range x {
		far = max(far, math.Abs(float64(v)))
	}
	return far
}

// functionOf is function i of the experiment's family.
func functionOf(e experiment.Experiment, i int) (flow.Subject, error) {
	if i < 0 {
		return flow.Subject{}, usagef("--function is %d, not 0 or more", i)
	}
	f, err := family.ByName(e.Data.Family)
	if err != nil {
		return flow.Subject{}, err
	}
	function, err := f.Function(e.Data.Seed, i)
	return flow.Subject{Index: i, Function: function}, err
}

// atTime moves the subject to a physical time if one is asked for, and returns the
// time that its law is of: 0 where it is the invariant law.
func atTime(e experiment.Experiment, subject *flow.Subject, asked *float64) (float64, error) {
	f, err := family.ByName(e.Data.Family)
	if err != nil {
		return 0, err
	}
	timed, ok := f.(family.Timed)
	switch {
	case !ok && asked == nil:
		return 0, nil
	case !ok:
		return 0, withHint(usagef("--time is for models of laws at physical times, and this one, of %s, has learned invariant measures", f.Name()),
			"leave --time out, or train vn1d_time")
	case asked == nil:
		return timed.TimeOf(subject.Function), nil
	}
	if subject.Function, err = timed.At(subject.Function, *asked); err != nil {
		return 0, usage(fmt.Errorf("--time: %w", err))
	}
	return *asked, nil
}

// equation is a new one of the kind of the experiment's family, with warnings of what
// is far from the training set.
func equation(e experiment.Experiment, trained shard.Normalisation, drift, diffusion []string) (flow.Subject, []string, error) {
	f, err := family.ByName(e.Data.Family)
	if err != nil {
		return flow.Subject{}, nil, err
	}
	switch f := f.(type) {
	case family.Tabulated:
		if len(drift) != 1 || len(diffusion) != 1 {
			return flow.Subject{}, nil, usagef("on the line --drift and --diffusion are given once")
		}
		return onGrid(f, trained, drift[0], diffusion[0])
	case family.TabulatedPlane:
		return inPlane(e, f, drift, diffusion)
	}
	return flow.Subject{}, nil, withHint(usagef("--drift and --diffusion are for families of drifts and diffusions on a grid, and %s is none: it lacks Grid and Of (docs/families.md)", f.Name()),
		"name one of its functions with --function")
}

// onGrid puts formulas on the grid of a family on the line.
func onGrid(tabulated family.Tabulated, trained shard.Normalisation, drift, diffusion string) (flow.Subject, []string, error) {
	b, err := expression.Compile(drift)
	if err != nil {
		return flow.Subject{}, nil, usage(fmt.Errorf("--drift: %w", err))
	}
	sigma, err := expression.Compile(diffusion)
	if err != nil {
		return flow.Subject{}, nil, usage(fmt.Errorf("--diffusion: %w", err))
	}
	grid := tabulated.Grid()
	c, err := expression.Tabulate(b, sigma, grid)
	var all sde.Coefficients // poles and zeros may be between the model's nodes
	if err == nil {
		all, err = expression.Tabulate(b, sigma, family.Finer(grid, 1))
	}
	switch {
	case errors.Is(err, sde.ErrNotFinite):
		err = withHint(err, "drift and diffusion have to be finite on the model's grid, %g…%g", grid.Lo, grid.Hi)
	case errors.Is(err, sde.ErrNotPositive):
		err = withHint(fmt.Errorf("--diffusion: %w", err), "it has to be positive on the model's grid, %g…%g; its sign does not matter to the law", grid.Lo, grid.Hi)
	}
	if err != nil {
		return flow.Subject{}, nil, err
	}
	if _, timed := tabulated.(family.Timed); !timed { // at a time there is a law in any case
		if err := density.Normalisable(c); err != nil {
			return flow.Subject{}, nil, withHint(fmt.Errorf("--drift: %w", err),
				"there is an invariant law where the drift points inward at both ends of the model's grid, beyond which it stays as it is there")
		}
	}
	function, err := tabulated.Of(c)
	return flow.Subject{Function: function}, append(unseen(c, all), unfamiliar(c, trained)...), err
}
