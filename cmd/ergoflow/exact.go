package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
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
	box             []string
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
		Use:   "exact --drift EXPR [--drift EXPR] --diffusion EXPR [-n N -o x.npy]",
		Short: "Compute the invariant law of an equation in up to 2 dimensions",
		Long: `Computes the invariant law of dX = b(X)dt + σ(X)dW on the line by quadrature of
its density, which is proportional to σ⁻² exp ∫ 2b/σ² dx. It prints mean,
variance, skewness, kurtosis (3 for a normal law), quantiles, how the density
falls in its tails, and Feller's kinds of the ends. Moments that do not exist
are "none", in JSON null. If the equation has no invariant law, the command says
why and ends with code 1.

The accuracy is by how much two integrations with other panels differ. The law
on a --domain that X can leave is that of X reflected at its ends; a warning
says so. "ergoflow help formulas" lists what formulas may contain.

Two drifts, in x and y, are an equation in the plane. The law is then the
stationary density of its Fokker–Planck equation, on cells. The command prints
means, deviations, the correlation and quantiles, and the accuracy of the mass
of any half-plane or quadrant. --box is where the law is: the cells begin there,
grow until they hold it, and shrink around it. They do not find a well that is
far outside.

-o writes -n independent draws; --density writes the columns x, density and cdf,
in the plane x, y and density, in the middle of the cells. The suffix of the
file is its format: .npy, .npz, .csv, .parquet or .json. -o - writes the draws
as CSV to standard output.`,
		Example: `  ergoflow exact --drift "x - x^3" --diffusion "0.7"
  ergoflow exact --drift "theta*(1 - x)" --diffusion "sqrt(x)" --param theta=2 --domain "(0, inf)" -n 4096 -o cir.npy
  ergoflow exact --drift "x - x^3 - y" --drift "x^3 - x - y" --diffusion 0.25`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("samples") && flags.output == "" {
				return withHint(usagef("-n is given, but no -o"), "name the file of the draws, as in -o x.npy")
			}
			if err := flags.check(cmd.Flags().Changed("box")); err != nil {
				return err
			}
			if len(flags.drift) == 2 {
				l, err := flags.runInPlane(cmd.Context())
				if err != nil {
					return err
				}
				return printResult(l, flags.json, flags.output)
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
	f.StringArrayVar(&flags.box, "box", nil, "in the plane: `INTERVAL` of both coordinates where the law is, or one for each (default \"(-4, 4)\")")
	f.IntVarP(&flags.n, "samples", "n", 4096, "number of independent draws, with -o")
	f.StringVarP(&flags.output, "output", "o", "", "path of the file of the draws")
	f.StringVar(&flags.density, "density", "", "path of a file of x, density and distribution function")
	f.Uint64Var(&flags.seed, "seed", 0, "seed of the draws")
	f.BoolVar(&flags.json, "json", false, "print JSON (docs/formats.md)")
	cmd.MarkFlagRequired("drift")
	cmd.MarkFlagRequired("diffusion")
	return cmd
}

// check reports numbers out of range and files that cannot be written, before anything is computed.
func (f *exactFlags) check(boxed bool) error {
	switch {
	case f.n < 1 || f.n > maxSamples:
		return usagef("-n is %d, not in 1…%d", f.n, maxSamples)
	case len(f.drift) > 2:
		return withHint(usagef("--drift is given %d times", len(f.drift)), "give --drift once on the line, and twice in the plane")
	case boxed && len(f.drift) != 2:
		return withHint(usagef("--box is for equations in the plane, of two drifts"), "on the line --domain is where the equation lives")
	}
	if f.output != "" {
		if err := arrayWritable(f.output, f.json); err != nil {
			return err
		}
	}
	if f.density != "" {
		return curveWritable(f.density)
	}
	return nil
}

// run finds the law and writes the files.
func (f *exactFlags) run(ctx context.Context) (out invariantLaw, err error) {
	b, sigma, parameters, domain, err := f.equation()
	if err != nil {
		return out, err
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
	out.lawDraws, err = f.draw(ctx, func(rng *rand.Rand) arrayfile.Samples { return arrayfile.Line(law.Draws(f.n, rng)) })
	return out, err
}

// draw writes draws, if there is a file for them.
func (f *exactFlags) draw(ctx context.Context, draws func(rng *rand.Rand) arrayfile.Samples) (*lawDraws, error) {
	if f.output == "" {
		return nil, nil
	}
	dtype, err := writeSamples(ctx, f.output, draws(random.New(f.seed, "exact")))
	if err != nil {
		return nil, err
	}
	return &lawDraws{f.output, f.n, dtype, f.seed}, nil
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
	middle := l.Quantiles[exact.Key(0.75)] - l.Quantiles[exact.Key(0.25)]
	b.WriteString("quantiles" + quantiles(func(key string) string {
		q := l.Quantiles[key]
		return moment(&q, middle)
	}))
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
	b.WriteString(l.lawDraws.files(l.Density, " and distribution function"))
	return b.String()
}

// quantiles lists those of exact.Probabilities.
func quantiles(of func(key string) string) string {
	var all []string
	for _, p := range exact.Probabilities {
		all = append(all, fmt.Sprintf(" %g %%: %s", 100*p, of(exact.Key(p))))
	}
	return strings.Join(all, ",")
}

// files names what was written, each in a line: draws, if there are any, and a curve.
func (d *lawDraws) files(curve, more string) (lines string) {
	if d != nil {
		lines = fmt.Sprintf("\n%s: %d independent draws, seed %d", d.Output, d.Samples, d.Seed)
	}
	if curve != "" {
		lines += fmt.Sprintf("\n%s: density%s", curve, more)
	}
	return lines
}
