package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/data/expression"
	"github.com/ergoflow/ergoflow/data/family"
	"github.com/ergoflow/ergoflow/data/npy"
	"github.com/ergoflow/ergoflow/model/backend"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/flow"
	"github.com/ergoflow/ergoflow/model/ode"
	"github.com/ergoflow/ergoflow/model/sampler"
)

// sampling is the document of `sample --json`.
type sampling struct {
	Output  string  `json:"output"`
	Shape   []int   `json:"shape"`
	Samples int     `json:"samples"`
	Solver  string  `json:"solver"`
	Time    float64 `json:"time,omitzero"` // physical, of experiments that have it
	Seconds float64 `json:"seconds"`
	*onLine
}

// onLine is what is said of samples in one dimension alone.
type onLine struct {
	Mean     float64   `json:"mean"`
	Variance statistic `json:"variance"`
}

func sampleCommand() *cobra.Command {
	var checkpoint, drift, diffusion, solverName, output, backendName string
	var function, n int
	var physical float64
	var seed uint64
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "sample --checkpoint C (--function I | --drift EXPR --diffusion EXPR) -o x.npy",
		Short: "Draw from the invariant measure of an equation with a trained model",
		Long: `Draws samples of the invariant measure without simulation: of function I of the
experiment that the model was trained on, or, in one dimension, of a new equation
given as formulas in x, which the model sees on its own grid.

A model of vn1d_time draws from the law of X_τ, started from N(0,1), at the
physical time --time: by default the function's own, of formulas the longest.`,
		Example: `  ergoflow sample --checkpoint ergoflow-runs/vn1d-demo --drift "-2*(x-1)" --diffusion "1" -n 4096 -o x.npy`,
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			solver, err := ode.Parse(solverName)
			if err != nil {
				return usage(err)
			}
			if n < 1 || n > maxSamples {
				return usagef("-n is %d, not in 1…%d", n, maxSamples)
			}
			if err := writable(output); err != nil {
				return err
			}
			trained, st, err := readState(cmd.Context(), checkpoint)
			if err != nil {
				return err
			}
			e := trained.Inference()
			var subject flow.Subject
			if cmd.Flags().Changed("function") {
				subject, err = functionOf(e, function)
			} else {
				subject, err = tabulate(e, drift, diffusion)
			}
			if err != nil {
				return err
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
			if err != nil {
				return err
			}
			x, shape := drawn[0], []int{n}
			if d := e.Velocity().Dim(); d > 1 {
				shape = []int{n, d}
			}
			out := sampling{Output: output, Shape: shape, Samples: n, Solver: solver.String(), Time: at, Seconds: time.Since(begin).Seconds()}
			if err := npy.Write(output, npy.Array{Shape: shape, Data: x}); err != nil {
				return err
			}
			said := ""
			if at > 0 {
				said = fmt.Sprintf(", time %.4g", at)
			}
			if len(shape) == 1 {
				mean, variance := moments(x)
				out.onLine = &onLine{mean, variance}
				said += fmt.Sprintf(", mean %.4g, variance %.4g", mean, variance)
			}
			if asJSON {
				return printJSON(out)
			}
			fmt.Printf("%s: %d samples by %s in %.2f s%s\n", output, n, out.Solver, out.Seconds, said)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&checkpoint, "checkpoint", "", checkpointUsage+" (required)")
	f.IntVar(&function, "function", 0, "function of the experiment; held-out ones follow the training functions")
	f.StringVar(&drift, "drift", "", "b(x) as a formula")
	f.StringVar(&diffusion, "diffusion", "", "σ(x) as a formula")
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

// tabulate puts formulas on the grid of the experiment's family.
func tabulate(e experiment.Experiment, drift, diffusion string) (flow.Subject, error) {
	b, err := expression.Compile(drift)
	if err != nil {
		return flow.Subject{}, usage(fmt.Errorf("--drift: %w", err))
	}
	sigma, err := expression.Compile(diffusion)
	if err != nil {
		return flow.Subject{}, usage(fmt.Errorf("--diffusion: %w", err))
	}
	f, err := family.ByName(e.Data.Family)
	if err != nil {
		return flow.Subject{}, err
	}
	tabulated, ok := f.(family.Tabulated)
	if !ok {
		return flow.Subject{}, withHint(usagef("--drift and --diffusion are for families of drifts and diffusions on a line, not for %s", f.Name()),
			"name one of its functions with --function")
	}
	c, err := expression.Tabulate(b, sigma, tabulated.Grid())
	if err != nil {
		return flow.Subject{}, err
	}
	function, err := tabulated.Of(c)
	return flow.Subject{Function: function}, err
}
