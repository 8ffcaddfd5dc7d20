package main

import (
	"fmt"
	"math"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/data/expression"
	"github.com/ergoflow/ergoflow/data/npy"
	"github.com/ergoflow/ergoflow/data/simulate"
)

// simulation is the document of `simulate --json`.
type simulation struct {
	Output   string  `json:"output"`
	Samples  int     `json:"samples"`
	Chains   int     `json:"chains"`
	Mean     float64 `json:"mean"`
	Variance float64 `json:"variance"`
	Seconds  float64 `json:"seconds"`
	StepsPer float64 `json:"steps_per_s"` // of all chains together
}

// maxSamples bounds what simulate and sample hold in memory: 4 GiB.
const maxSamples = 1 << 30

func simulateCommand() *cobra.Command {
	var drift, diffusion, output string
	var steps int
	var seed uint64
	var scheme simulate.Scheme
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "simulate --drift EXPR --diffusion EXPR -o x.npy",
		Short: "Simulate dX = b(X)dt + σ(X)dW by Euler–Maruyama",
		Long: `Simulates chains of a one-dimensional equation given as formulas in x and
writes the samples as one float32 array. Chains start from N(0,1), take the
burn-in, then --steps steps, of which every --thin-th is kept.

Formulas know + - * / ^, comparisons, x > 0 ? a : b, pi, e and the usual
functions (sin exp log sqrt tanh abs min max …).`,
		Example: `  ergoflow simulate --drift "x - x^3" --diffusion "0.7" --burn-in 1000 --steps 10000 --thin 100 -o well.npy`,
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := expression.Compile(drift)
			if err != nil {
				return usage(fmt.Errorf("--drift: %w", err))
			}
			sigma, err := expression.Compile(diffusion)
			if err != nil {
				return usage(fmt.Errorf("--diffusion: %w", err))
			}
			if err := scheme.Validate(); err != nil {
				return usage(err)
			}
			if steps < scheme.Thin {
				return usagef("--steps is %d, less than --thin %d: no sample would be kept", steps, scheme.Thin)
			}
			kept := steps / scheme.Thin
			if kept > maxSamples/scheme.Chains {
				return usagef("%d chains × %d samples is more than %d", scheme.Chains, kept, maxSamples)
			}
			scheme.BurnIn += scheme.Thin // the first sample comes thin steps after the burn-in
			x := make([]float32, scheme.Chains*kept)
			bar := newProgress(os.Stderr, "simulate", "steps", 0, scheme.Steps(kept)*scheme.Chains)
			begin := time.Now()
			err = simulate.EulerMaruyamaFunc(cmd.Context(), x, b.Eval, sigma.Eval, scheme, seed, 0, "simulate",
				func(done, _ int) { bar.set(done, "") })
			bar.end()
			if err != nil {
				return withHint(err, "a smaller --dt may help, or the equation explodes")
			}
			seconds := time.Since(begin).Seconds()
			if err := npy.Write(output, npy.Array{Shape: []int{len(x)}, Data: x}); err != nil {
				return err
			}
			s := simulation{
				Output: output, Samples: len(x), Chains: scheme.Chains, Seconds: seconds,
				StepsPer: float64(scheme.Steps(kept)*scheme.Chains) / seconds,
			}
			s.Mean, s.Variance = moments(x)
			if asJSON {
				return printJSON(s)
			}
			fmt.Printf("%s: %d samples of %d chains, mean %.4g, variance %.4g, %.3g M steps/s\n",
				s.Output, s.Samples, s.Chains, s.Mean, s.Variance, s.StepsPer/1e6)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&drift, "drift", "", "b(x), for example \"-x\" (required)")
	f.StringVar(&diffusion, "diffusion", "", "σ(x), for example \"sqrt(2)\" (required)")
	f.StringVarP(&output, "output", "o", "", "where the samples go, as .npy (required)")
	f.IntVar(&steps, "steps", 10000, "steps of each chain after the burn-in")
	f.Float64Var(&scheme.DT, "dt", 0.01, "time step")
	f.IntVar(&scheme.Chains, "chains", 64, "independent chains")
	f.IntVar(&scheme.BurnIn, "burn-in", 1000, "steps before the first that may be kept")
	f.IntVar(&scheme.Thin, "thin", 10, "steps between kept samples")
	f.Uint64Var(&seed, "seed", 0, "seed of the noise")
	f.BoolVar(&asJSON, "json", false, "print JSON (docs/formats.md)")
	for _, name := range []string{"drift", "diffusion", "output"} {
		cmd.MarkFlagRequired(name)
	}
	return cmd
}

// moments returns mean and variance of the samples.
func moments(x []float32) (mean, variance float64) {
	for _, v := range x {
		mean += float64(v)
	}
	mean /= float64(len(x))
	for _, v := range x {
		variance += (float64(v) - mean) * (float64(v) - mean)
	}
	if len(x) < 2 {
		return mean, math.NaN()
	}
	return mean, variance / float64(len(x)-1)
}
