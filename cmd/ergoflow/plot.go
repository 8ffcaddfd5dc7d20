package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ergoflow/ergoflow/data/equations/exact"
	"github.com/ergoflow/ergoflow/internal/atomicfile"
	"github.com/ergoflow/ergoflow/model/report/figures"
)

// plotFlags are the flags of plot.
type plotFlags struct {
	lineFlags
	output string
	chains bool
}

func plotCommand() *cobra.Command {
	var flags plotFlags
	cmd := &cobra.Command{
		Use:   "plot FILE... [-o p.png|p.svg]",
		Short: "Draw samples, and the exact law over them",
		Long: `Draws the samples of up to six files in one frame: on the line as histograms, in
the plane as densities side by side. With --drift and --diffusion it draws the
density of the exact invariant law over them (exact). Without -o it draws blocks
as wide as the terminal.

Of samples on the line the frame leaves out those that are farther from the
inner 98 % of a file than half their range.`,
		Example: `  ergoflow plot x.npy
  ergoflow plot x.npy y.npy --drift "-2*(x-1)" --diffusion "1" -o p.png`,
		Args: func(_ *cobra.Command, args []string) error {
			if n := len(args); n < 1 || n > figures.MostSets {
				return fmt.Errorf("expected 1 to %d files of samples, got %d", figures.MostSets, n)
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return flags.run(args) },
	}
	f := cmd.Flags()
	flags.register(f)
	f.StringVarP(&flags.output, "output", "o", "", "picture to write, .png or .svg")
	f.BoolVar(&flags.chains, "chains", false, "arrays of two columns are chains of two samples on the line")
	for _, name := range []string{"drift", "diffusion"} { // not required here
		f.Lookup(name).Usage = strings.TrimSuffix(f.Lookup(name).Usage, " (required)")
	}
	cmd.MarkFlagsRequiredTogether("drift", "diffusion")
	return cmd
}

func (f *plotFlags) run(paths []string) error {
	suffix := strings.ToLower(filepath.Ext(f.output))
	if f.output != "" {
		if !slices.Contains(figures.PictureFormats, suffix) {
			return withHint(usagef("-o is %s, but pictures are written as %s", f.output, strings.Join(figures.PictureFormats, " and ")), "give -o a name that ends in one of them; without -o, the picture is text")
		}
		if err := writable(f.output); err != nil {
			return err
		}
	}
	law, err := f.law()
	if err != nil {
		return err
	}
	sets, err := f.sets(paths)
	if err != nil {
		return err
	}
	if f.output == "" {
		text, err := figures.TerminalSamples(terminalWidth(), sets, law)
		if err != nil {
			return explainSets(err)
		}
		_, err = fmt.Fprint(stdout, text)
		return err
	}
	var picture bytes.Buffer
	if err := figures.DrawSamples(&picture, suffix, sets, law); err != nil {
		return explainSets(err)
	}
	if err := atomicfile.Write(f.output, picture.Bytes()); err != nil {
		return err
	}
	fmt.Fprintln(stdout, f.output)
	return nil
}

// law is the density of the flags' equation; nil without one.
func (f *plotFlags) law() (*figures.Curve, error) {
	if len(f.drift) == 0 {
		return nil, nil
	}
	b, sigma, _, domain, err := f.equation()
	if err != nil {
		return nil, err
	}
	law, err := exact.Of(b.Eval, sigma.Eval, domain.Lo, domain.Hi)
	if err != nil {
		return nil, explainLaw(err)
	}
	warn(law.Warnings)
	x, pdf, _ := law.Curve(curvePoints)
	return &figures.Curve{Name: "exact law", X: x, PDF: pdf}, nil
}

// sets reads the files. Arrays of more than two columns are chains.
func (f *plotFlags) sets(paths []string) (sets []figures.SampleSet, err error) {
	for _, path := range paths {
		s, err := readSamples(path)
		if err != nil {
			return nil, err
		}
		if f.chains || len(s.Columns) > 2 {
			s = s.AsChains()
		}
		name := filepath.Base(path)
		if slices.ContainsFunc(paths, func(other string) bool { return other != path && filepath.Base(other) == name }) {
			name = path
		}
		sets = append(sets, figures.SampleSet{Name: name, X: s.Data, Dim: len(s.Columns)})
	}
	return sets, nil
}

func explainSets(err error) error {
	if errors.Is(err, figures.ErrSets) {
		return withHint(err, "draw files of samples on the line together, and files of samples in the plane together")
	}
	return err
}

// terminalWidth is the width of standard output's terminal, or that of help texts.
func terminalWidth() int {
	if width, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && width > 0 {
		return width
	}
	return helpWidth
}
