package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ergoflow/ergoflow/data/equations/density"
	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// lineFlags are the flags of an equation on the line.
type lineFlags struct {
	drift, diffusion []string // one formula each
	parameters       []string
	domain           string
}

func (l *lineFlags) register(f *pflag.FlagSet) {
	f.StringArrayVar(&l.drift, "drift", nil, "formula `EXPR` of the drift b(x), for example \"-x\" (required)")
	f.StringArrayVar(&l.diffusion, "diffusion", nil, "formula `EXPR` of the diffusion σ(x), for example \"sqrt(2)\" (required)")
	parameterFlag(f, &l.parameters)
	f.StringVar(&l.domain, "domain", wholeLine, "open `INTERVAL` on which the equation lives, for example \"(0, inf)\"")
}

const wholeLine = "(-inf, inf)"

// compile reads the formulas.
func (l *lineFlags) compile() (b, sigma *expression.Expression, p expression.Parameters, err error) {
	if p, err = readParameters(l.parameters); err != nil {
		return nil, nil, nil, err
	}
	if b, err = compileFlag("drift", l.drift, p); err != nil {
		return nil, nil, nil, err
	}
	sigma, err = compileFlag("diffusion", l.diffusion, p)
	return b, sigma, p, err
}

// equation reads formulas and domain.
func (l *lineFlags) equation() (b, sigma *expression.Expression, p expression.Parameters, d sde.Range, err error) {
	if b, sigma, p, err = l.compile(); err != nil {
		return nil, nil, nil, d, err
	}
	if d, err = simulate.ParseDomain(l.domain); err != nil {
		return nil, nil, nil, d, usage(fmt.Errorf("--domain: %w", err))
	}
	return b, sigma, p, d, nil
}

func parameterFlag(f *pflag.FlagSet, to *[]string) {
	f.StringArrayVar(to, "param", nil, "`NAME=VALUE` of a name in the formulas, for example theta=2; repeatable")
}

func readParameters(assignments []string) (expression.Parameters, error) {
	p, err := expression.ParseParameters(assignments)
	if err != nil {
		return nil, usage(withHint(fmt.Errorf("--param: %w", err), "write --param theta=2; names are letters, digits and underscores"))
	}
	return p, nil
}

// compileFlag reads the formula of a flag, which may be given once.
func compileFlag(name string, formulas []string, p expression.Parameters) (*expression.Expression, error) {
	if len(formulas) != 1 {
		return nil, withHint(usagef("--%s is given %d times, but the equation has one dimension", name, len(formulas)), "give --%s once", name)
	}
	e, err := p.Compile(formulas[0], "x")
	if err != nil {
		return nil, usage(withKnownNames(fmt.Errorf("--%s: %w", name, err)))
	}
	return e, nil
}

// withKnownNames adds to the error about an unknown name which ones there are.
func withKnownNames(err error) error {
	var name *expression.UnknownNameError
	if !errors.As(err, &name) {
		return err
	}
	return withHint(err, "known names are %s and the functions of `ergoflow help formulas`; give %s a value with --param %s=…", strings.Join(name.Known, ", "), name.Name, name.Name)
}

// explainLaw adds a hint to an invariant law that could not be found.
func explainLaw(err error) error {
	var parts *density.PartsError
	switch {
	case errors.As(err, &parts):
		return withHint(err, "name the part on which X lives: --domain \"(%s, %.6g)\" or --domain \"(%.6g, %s)\"", sde.EndText(parts.Lo), parts.At, parts.At, sde.EndText(parts.Hi))
	case errors.Is(err, density.ErrNotNormalisable):
		return withHint(err, "there is no invariant law: give a drift that points back from both ends, or a --domain with ends that X does not reach")
	case errors.Is(err, density.ErrNoValue):
		return withHint(err, "give formulas with values and a diffusion that is not zero, and a --domain where they are defined")
	case errors.Is(err, density.ErrTooSteep):
		return withHint(err, "`ergoflow simulate` needs no quadrature")
	}
	return err
}

// formulasTopic is a page of the help alone.
func formulasTopic() *cobra.Command {
	var b strings.Builder
	b.WriteString(`Drifts, diffusions and the values of --param are formulas: numbers such as 2,
0.5 and 1e-3, parentheses, the variables (x; in the plane x and y), names that
have a value by --param, and what is below. They are computed in float64.
`)
	for _, part := range []struct {
		kind  expression.NameKind
		title string
	}{{expression.Operator, "Operators"}, {expression.Constant, "Constants"}, {expression.Function, "Functions"}} {
		fmt.Fprintf(&b, "\n%s:\n", part.title)
		for _, n := range expression.Names() {
			if n.Kind == part.kind {
				fmt.Fprintf(&b, "  %-14s %s\n", n.Form, n.Meaning)
			}
		}
	}
	b.WriteString(`
Models of anyd have 1 to 64 coordinates. In their formulas x is a vector:
`)
	for _, n := range expression.SystemNames() {
		fmt.Fprintf(&b, "  %-14s %s\n", n.Form, n.Meaning)
	}
	return &cobra.Command{Use: "formulas", Short: "What formulas of drifts and diffusions may contain", Long: strings.TrimSpace(b.String())}
}

// completeFormula completes the name that a formula ends in, after what is there already.
func completeFormula(_ *cobra.Command, _ []string, formula string) (complete []string, _ cobra.ShellCompDirective) {
	name := formula[strings.LastIndexFunc(formula, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})+1:]
	before := strings.TrimSuffix(formula, name)
	for _, n := range expression.Names() {
		if n.Kind == expression.Operator || name == "" || !strings.HasPrefix(n.Name, name) {
			continue
		}
		text := n.Name
		if n.Kind == expression.Function {
			text += "("
		}
		complete = append(complete, cobra.CompletionWithDesc(before+text, n.Meaning))
	}
	return complete, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
