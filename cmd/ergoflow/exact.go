package main

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/data/equations/exact"
	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/internal/arrayfile"
)

// invariantLaw is the document of `exact --json`.
type invariantLaw struct {
	Drift      string                `json:"drift"`
	Diffusion  string                `json:"diffusion"`
	Parameters expression.Parameters `json:"parameters,omitempty"`
	Domain     string                `json:"domain"`
	exact.Summary
	*lawDraws
	Density string `json:"density,omitempty"` // file of the curve
}

// lawDraws are independent draws that exact has written.
type lawDraws struct {
	Output  string `json:"output"`
	Samples int    `json:"samples"`
	DType   string `json:"dtype"`
	Seed    uint64 `json:"seed"`
}

// exactFlags are the flags of exact.
type exactFlags struct {
	lineFlags
	n               int
	output, density string
	seed            uint64
	json            bool
}

// curvePoints are the points of --density.
const curvePoints = 1000

func exactCommand() *cobra.Command {
	var flags exactFlags
	cmd := &cobra.Command{
		Use:   "exact --drift EXPR --diffusion EXPR [-n N -o x.npy]",
		Short: "Compute the invariant law of an equation on the line",
		Long: `Computes the invariant law of dX = b(X)dt + σ(X)dW on the line by quadrature of
its density, which is proportional to σ⁻² exp ∫ 2b/σ² dx. It prints mean,
variance, skewness, kurtosis (3 for a normal law), quantiles, how the density
falls in its tails, and Feller's kinds of the ends. Moments that do not exist
are "none", in JSON null. If the equation has no invariant law, the command says
why and ends with code 1.

The accuracy is by how much two integrations with other panels differ. The law
on a --domain that X can leave is that of X reflected at its ends; a warning
says so. "ergoflow help formulas" lists what formulas may contain.

-o writes -n independent draws, by inversion of the distribution function;
--density writes the columns x, density and cdf. The suffix of the file is its
format: .npy, .npz, .csv, .parquet or .json. -o - writes the draws as CSV to
standard output.`,
		Example: `  ergoflow exact --drift "x - x^3" --diffusion "0.7"
  ergoflow exact --drift "theta*(1 - x)" --diffusion "sqrt(x)" --param theta=2 --domain "(0, inf)" -n 4096 -o cir.npy`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("samples") && flags.output == "" {
				return withHint(usagef("-n is given, but no -o"), "name the file of the draws, as in -o x.npy")
			}
			l, err := flags.run(cmd.Context())
			if err != nil {
				return err
			}
			warn(l.Warnings)
			return printResult(l, flags.json, flags.output)
		},
	}
	f := cmd.Flags()
	flags.register(f)
	f.IntVarP(&flags.n, "samples", "n", 4096, "number of independent draws, with -o")
	f.StringVarP(&flags.output, "output", "o", "", "path of the file of the draws")
	f.StringVar(&flags.density, "density", "", "path of a file of x, density and distribution function")
	f.Uint64Var(&flags.seed, "seed", 0, "seed of the draws")
	f.BoolVar(&flags.json, "json", false, "print JSON (docs/formats.md)")
	cmd.MarkFlagRequired("drift")
	cmd.MarkFlagRequired("diffusion")
	return cmd
}

// run finds the law and writes the files.
func (f *exactFlags) run(ctx context.Context) (out invariantLaw, err error) {
	b, sigma, parameters, domain, err := f.equation()
	if err != nil {
		return out, err
	}
	if f.n < 1 || f.n > maxSamples {
		return out, usagef("-n is %d, not in 1…%d", f.n, maxSamples)
	}
	if f.output != "" {
		if err := arrayWritable(f.output, f.json); err != nil {
			return out, err
		}
	}
	if f.density != "" {
		if err := curveWritable(f.density); err != nil {
			return out, err
		}
	}
	law, err := exact.Of(b.Eval, sigma.Eval, domain.Lo, domain.Hi)
	if err != nil {
		return out, explainLaw(err)
	}
	out = invariantLaw{Drift: b.String(), Diffusion: sigma.String(), Parameters: parameters, Domain: domain.String(), Summary: law.Summary, Density: f.density}
	if f.density != "" {
		x, pdf, cdf := law.Curve(curvePoints)
		if err := arrayfile.WriteColumns(ctx, f.density, []string{"x", "density", "cdf"}, x, pdf, cdf); err != nil {
			return out, err
		}
	}
	if f.output != "" {
		x := law.Draws(f.n, random.New(f.seed, "exact"))
		dtype, err := writeSamples(ctx, f.output, arrayfile.Line(x))
		if err != nil {
			return out, err
		}
		out.lawDraws = &lawDraws{f.output, f.n, dtype, f.seed}
	}
	return out, nil
}

// String is what exact prints.
func (l invariantLaw) String() string {
	var b strings.Builder
	deviation := 1.
	if l.Variance != nil {
		deviation = math.Sqrt(*l.Variance)
	}
	moment := func(v *float64, scale float64) string {
		switch {
		case v == nil:
			return "none"
		case math.Abs(*v) < 1e-9*scale: // zero but for rounding
			return "0"
		}
		return fmt.Sprintf("%.6g", *v)
	}
	fmt.Fprintf(&b, "mean %s, variance %s, skewness %s, kurtosis %s\n", moment(l.Mean, deviation), moment(l.Variance, 0), moment(l.Skewness, 1), moment(l.Kurtosis, 1))
	b.WriteString("quantiles")
	middle := l.Quantiles[exact.Key(0.75)] - l.Quantiles[exact.Key(0.25)]
	for k, p := range exact.Probabilities {
		q := l.Quantiles[exact.Key(p)]
		fmt.Fprintf(&b, "%s %g %%: %s", map[bool]string{true: "", false: ","}[k == 0], 100*p, moment(&q, middle))
	}
	for _, side := range []struct {
		end  exact.End
		name string
	}{{l.Lo, "-inf"}, {l.Hi, "inf"}} {
		tail := side.end.Tail()
		if side.end.At != nil {
			side.name = fmt.Sprintf("%g", *side.end.At)
		} else {
			tail = ", where the density " + tail
		}
		fmt.Fprintf(&b, "\nend %s: %s%s", side.name, side.end.Boundary, tail)
	}
	fmt.Fprintf(&b, "\naccuracy %.1g, from two integrations", l.Accuracy)
	if l.lawDraws != nil {
		fmt.Fprintf(&b, "\n%s: %d independent draws, seed %d", l.Output, l.Samples, l.Seed)
	}
	if l.Density != "" {
		fmt.Fprintf(&b, "\n%s: density and distribution function", l.Density)
	}
	return b.String()
}
