// Command wells measures what short chains and the law in the plane add to the certificate of samples, in
// Markdown:
//
//	go run ./docs/benchmarks/wells > docs/results/wells.md
package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/sampling/certificate"
	"github.com/ergoflow/ergoflow/model/sampling/wells"
)

const (
	functions = 16 // of each family
	samples   = 1024
	seed      = 1
)

func main() {
	ctx := context.Background()
	if err := errors.Join(examples(ctx), surface(ctx), doubleWells()); err != nil {
		fmt.Fprintf(os.Stderr, "wells: %v\n", err)
		os.Exit(1)
	}
}

const introduction = `# The certificate beyond the line: what short chains and the law in the plane add

    go run ./docs/benchmarks/wells > docs/results/wells.md

Two cores of an AMD EPYC with AVX-512, 2026-11-30. "Generator" is the verdict of the generator test alone, "all" that of all checks: with short chains and, in the plane, with the law by the Fokker–Planck equation where that is resolved ([certificate.md](../certificate.md)).

## Example families

%d functions of each family, %d samples each. Right samples are those of chains from the middle of the box after 10,000 steps of 0.005, or of less where those diverge. The others are of chains that all begin at one of these samples and run for 2,000 steps: their law is right inside a well, or on a part of an attractor. A set is wrong if it differs from the right one by more than 0.15 (Kolmogorov–Smirnov, along a coordinate; 0.07 is chance).

| family | d | right: good, generator | all | wrong sets | found, generator | all | law resolved | time of the checks (ms) |
|---|---:|---:|---:|---:|---:|---:|---:|---:|
`

const wrong = 0.15 // the distance from which on a set is wrong

// tally counts sets of a family.
type tally struct{ good, goodByAll, wrong, found, foundByAll, resolved int }

func examples(ctx context.Context) error {
	fmt.Printf(introduction, functions, samples)
	files, err := filepath.Glob("docs/families/*.yaml")
	if err != nil {
		return err
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		definition, err := family.Load(file)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		f, err := definition.Family()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		var t tally
		var took []float64
		for i := range functions {
			function, err := f.Function(seed, i)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			seconds, err := t.measure(ctx, function.System.(sde.Space), uint64(i))
			if err != nil {
				return fmt.Errorf("%s, function %d: %w", name, i, err)
			}
			took = append(took, seconds)
		}
		slices.Sort(took)
		fmt.Printf("| [%s](../families/%s.yaml) | %d | %d | %d | %d | %d | %d | %s | %.0f |\n", name, name, f.Dim(),
			t.good, t.goodByAll, t.wrong, t.found, t.foundByAll, t.laws(f.Dim()), 1000*stat.Quantile(0.5, stat.Empirical, took, nil))
	}
	return nil
}

// laws is of how many functions the law is known.
func (t *tally) laws(dim int) string {
	if dim != 2 {
		return "–"
	}
	return strconv.Itoa(t.resolved)
}

// measure counts the sets of one equation, and returns the seconds of a certificate with chains.
func (t *tally) measure(ctx context.Context, system sde.Space, number uint64) (seconds float64, err error) {
	d := system.Dim()
	s := simulate.Scheme{DT: 0.005, BurnIn: 10000, Thin: 1, Chains: samples, Start: simulate.InBox, Integrator: simulate.Suited(system)}
	right := make([]float32, samples*d)
	for ; ; s.DT /= 2 {
		if err = simulate.Fastest().Chains(ctx, right, system, s, seed, number, "right"); !errors.Is(err, simulate.ErrDiverged) || s.DT < 1e-4 {
			break
		}
	}
	if err != nil {
		return 0, err
	}
	part := make([]float32, 0, len(right))
	for range samples {
		part = append(part, right[:d]...)
	}
	if err := simulate.Fastest().Continue(ctx, part, system, s.DT, 2000, seed, number, "part"); err != nil {
		return 0, err
	}
	alone := certificate.Subject{Equation: certificate.Space{Space: system}, Unlearned: math.NaN()}
	with := alone
	with.Wells = wells.For(system)
	begin := time.Now()
	c := with.Certify(right, d)
	seconds = time.Since(begin).Seconds()
	t.goodByAll += count(c.Verdict == certificate.Good)
	t.resolved += count(slices.ContainsFunc(c.Checks, func(k certificate.Check) bool { return k.Name == "law" }))
	t.good += count(alone.Certify(right, d).Verdict == certificate.Good)
	if apart(right, part, d) > wrong {
		t.wrong++
		t.found += count(alone.Certify(part, d).Verdict != certificate.Good)
		t.foundByAll += count(with.Certify(part, d).Verdict != certificate.Good)
	}
	return seconds, nil
}

// apart is the largest Kolmogorov–Smirnov distance along a coordinate.
func apart(x, y []float32, dim int) (most float64) {
	for c := range dim {
		most = max(most, stat.KolmogorovSmirnov(sorted(x, dim, c), nil, sorted(y, dim, c), nil))
	}
	return most
}

func sorted(x []float32, dim, coordinate int) (values []float64) {
	for i := coordinate; i < len(x); i += dim {
		values = append(values, float64(x[i]))
	}
	slices.Sort(values)
	return values
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
