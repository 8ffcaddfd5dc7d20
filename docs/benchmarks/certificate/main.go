// Command certificate measures the power and the false alarms of package
// model/sampling/certificate with a trained model of vn1d:
//
//	ergoflow checkpoints export latest --dir ergoflow-runs/vn1d-demo -o vn1d.safetensors
//	go run ./docs/benchmarks/certificate vn1d.safetensors > docs/results/certificate.md
//
// Every number is a function of the state and the seed alone, but for those of repairs by auto,
// which a time limit ends.
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/density"
	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/sampling/certificate"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/sampling/sampler"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

const (
	seed      = 1
	functions = 256 // that the model has not learned
	samples   = 4096
)

func main() {
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: certificate STATE.safetensors")
		os.Exit(2)
	}
	if err := run(flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "certificate:", err)
		os.Exit(1)
	}
}

// model draws samples of equations.
type model struct {
	family  family.Family
	data    uint64 // seed of the functions
	first   int    // number of the first function that was not learned
	sampler *sampler.Sampler
	grid    sde.Grid
}

func open(path string) (*model, func(), error) {
	encoded, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	trained, st, err := experiment.DecodeState(encoded)
	if err != nil {
		return nil, nil, err
	}
	e := trained.Inference()
	f, err := e.Family()
	if err != nil {
		return nil, nil, err
	}
	tabulated, ok := f.(family.Tabulated)
	if !ok {
		return nil, nil, fmt.Errorf("%s is not a family of tables on the line", f.Name())
	}
	conditioner, err := e.Conditioner(f, st.Normalisation)
	if err != nil {
		return nil, nil, err
	}
	b, err := backend.Open(backend.Auto)
	if err != nil {
		return nil, nil, err
	}
	s, err := sampler.New(b, e.Velocity(), conditioner, st)
	if err != nil {
		b.Close()
		return nil, nil, err
	}
	return &model{f, e.Data.Seed, e.Data.Functions, s, tabulated.Grid()}, func() { s.Close(); b.Close() }, nil
}

func (m *model) draw(f family.Function) ([]float32, error) {
	solver, err := ode.Parse("rk4-4")
	if err != nil {
		return nil, err
	}
	x, err := m.sampler.Sample(context.Background(), []flow.Subject{{Function: f}}, samples, solver, seed)
	if err != nil {
		return nil, err
	}
	return x[0], nil
}

// heldOut is function i of those that were not learned, and what its samples are judged by.
func (m *model) heldOut(i int) (family.Function, certificate.Subject, error) {
	f, err := m.family.Function(m.data, m.first+i)
	if err != nil {
		return f, certificate.Subject{}, err
	}
	c := f.System.(sde.Coefficients)
	law, err := density.New(c)
	if err != nil {
		return f, certificate.Subject{}, err
	}
	return f, certificate.Subject{Equation: certificate.OfTable(c), Law: certificate.OfDensity(law), Grid: m.grid, Unlearned: math.NaN()}, nil
}

// foreign is an equation of formulas.
func (m *model) foreign(drift, diffusion string) (family.Function, certificate.Subject, error) {
	var f family.Function
	b, err := expression.Compile(drift)
	if err != nil {
		return f, certificate.Subject{}, err
	}
	sigma, err := expression.Compile(diffusion)
	if err != nil {
		return f, certificate.Subject{}, err
	}
	c, err := expression.Tabulate(b, sigma, m.grid)
	if err == nil {
		f, err = m.family.(family.Tabulated).Of(c)
	}
	if err != nil {
		return f, certificate.Subject{}, err
	}
	_, law, err := certificate.Integrate(b.Eval, sigma.Eval, m.grid.Lo, m.grid.Hi)
	return f, certificate.Subject{Equation: certificate.Line{Drift: b.Eval, Diffusion: sigma.Eval}, Law: law, Grid: m.grid, Unlearned: math.NaN()}, err
}

// alone is the subject without its law: the generator test decides.
func alone(s certificate.Subject) certificate.Subject {
	s.Law = nil
	return s
}

// effect is that of a check.
func effect(c certificate.Certificate, name string) float64 {
	i := slices.IndexFunc(c.Checks, func(k certificate.Check) bool { return k.Name == name })
	return c.Checks[i].Effect
}

// largest is the largest effect of the generator test, and its function.
func largest(c certificate.Certificate) (most float64, name string) {
	for _, k := range c.Checks {
		switch k.Name {
		case "ks", "w2", "mean", "variance", "samples outside the grid", "law outside the grid":
		default:
			if math.Abs(k.Effect) > most {
				most, name = math.Abs(k.Effect), k.Name
			}
		}
	}
	return most, name
}

func run(path string) error {
	m, done, err := open(path)
	if err != nil {
		return err
	}
	defer done()
	fmt.Printf(`# The certificate: power and false alarms

    ergoflow checkpoints export latest --dir ergoflow-runs/vn1d-demo -o vn1d.safetensors
    go run ./docs/benchmarks/certificate vn1d.safetensors > docs/results/certificate.md

The model is that of the demo preset of vn1d. [certificate.md](../certificate.md) says what the checks are and what they cannot see. "Generator alone" is the verdict without the exact law, as in many dimensions.

`)
	if err := falseAlarms(m); err != nil {
		return err
	}
	if err := ofModel(m); err != nil {
		return err
	}
	if err := ofForeign(m); err != nil {
		return err
	}
	if err := ofChains(); err != nil {
		return err
	}
	if err := ofPerturbed(m); err != nil {
		return err
	}
	fmt.Println()
	return ofRepair(m)
}

// tally counts verdicts.
type tally map[certificate.Verdict]int

func (t tally) row(total int) string {
	part := func(v certificate.Verdict) string {
		return fmt.Sprintf("%.1f %%", 100*float64(t[v])/float64(total))
	}
	return fmt.Sprintf("%s | %s | %s", part(certificate.Good), part(certificate.Care), part(certificate.Refused))
}

// falseAlarms judges exact draws.
func falseAlarms(m *model) error {
	fmt.Printf("## False alarms\n\nVerdicts about independent draws of the exact laws of %d functions that the model has not learned.\n\n| draws | judged by | good | use with care | do not use |\n|---:|---|---:|---:|---:|\n", functions)
	for _, n := range []int{100, 1000, samples, 65536} {
		withLaw, without := tally{}, tally{}
		for i := range functions {
			f, s, err := m.heldOut(i)
			if err != nil {
				return err
			}
			law, err := density.New(f.System.(sde.Coefficients))
			if err != nil {
				return err
			}
			x := make([]float32, n)
			law.Sample(x, random.New(seed, "certificate/exact", uint64(i), uint64(n)))
			withLaw[s.Certify(x, 1).Verdict]++
			without[alone(s).Certify(x, 1).Verdict]++
		}
		fmt.Printf("| %d | law and generator | %s |\n| %d | generator alone | %s |\n", n, withLaw.row(functions), n, without.row(functions))
	}
	fmt.Println()
	return nil
}

// ofModel judges samples of the model, by how far from the law they are.
func ofModel(m *model) error {
	edges := []float64{0, 0.05, 0.1, 0.15, 0.25, 0.4, math.Inf(1)}
	type bin struct {
		ks, effects      []float64
		withLaw, without tally
	}
	bins := make([]bin, len(edges)-1)
	for i := range bins {
		bins[i].withLaw, bins[i].without = tally{}, tally{}
	}
	all, allWithout := tally{}, tally{}
	for i := range functions {
		f, s, err := m.heldOut(i)
		if err != nil {
			return err
		}
		x, err := m.draw(f)
		if err != nil {
			return err
		}
		c, g := s.Certify(x, 1), alone(s).Certify(x, 1)
		w2 := effect(c, "w2")
		k := slices.IndexFunc(edges[1:], func(edge float64) bool { return w2 <= edge })
		b := &bins[k]
		most, _ := largest(c)
		b.ks, b.effects = append(b.ks, effect(c, "ks")), append(b.effects, most)
		b.withLaw[c.Verdict]++
		b.without[g.Verdict]++
		all[c.Verdict]++
		allWithout[g.Verdict]++
	}
	fmt.Printf("## The model on new functions of its family\n\n%d functions that it has not learned, %d samples each, in bins of W2 from the exact law in deviations of the law. The verdicts are counts of good, use with care, do not use.\n\n| W2 | functions | KS, median | largest effect of the generator, median | 90 %% | law and generator | generator alone |\n|---|---:|---:|---:|---:|---|---|\n", functions, samples)
	counts := func(t tally) string {
		return fmt.Sprintf("%d, %d, %d", t[certificate.Good], t[certificate.Care], t[certificate.Refused])
	}
	for k, b := range bins {
		if len(b.ks) == 0 {
			continue
		}
		slices.Sort(b.ks)
		slices.Sort(b.effects)
		at := func(v []float64, u float64) float64 { return v[int(u*float64(len(v)-1)+0.5)] }
		fmt.Printf("| %g to %g | %d | %.3f | %.2f | %.2f | %s | %s |\n", edges[k], edges[k+1], len(b.ks), at(b.ks, 0.5), at(b.effects, 0.5), at(b.effects, 0.9), counts(b.withLaw), counts(b.without))
	}
	fmt.Printf("| all | %d | | | | %s | %s |\n\n", functions, counts(all), counts(allWithout))
	return nil
}

// ofForeign judges the model on equations that are far from its family.
func ofForeign(m *model) error {
	fmt.Print("## Foreign equations\n\n| drift | diffusion | variance of the law | of the samples | W2 | KS | largest effect of the generator | law and generator | generator alone |\n|---|---|---:|---:|---:|---:|---|---|---|\n")
	for _, e := range [][2]string{
		{"-x", "1"}, {"-x", "2"}, {"-x", "3"}, {"-x", "4"}, {"-x", "5"}, {"-x", "6"}, {"-x", "7"},
		{"x - x^3", "0.7"}, {"x - x^3", "1"}, {"x - x^3", "0.4"}, {"-2*(x-1)", "1"}, {"-10*x", "1"}, {"-x", "0.1"}, {"-x", "1 + 0.5*sin(3*x)"}, {"sin(3*x) - x", "0.7"}, {"-0.05*x", "1.5"}, {"-(x-4)", "1"},
	} {
		f, s, err := m.foreign(e[0], e[1])
		if err != nil {
			return err
		}
		x, err := m.draw(f)
		if err != nil {
			return err
		}
		c, g := s.Certify(x, 1), alone(s).Certify(x, 1)
		most, name := largest(c)
		fmt.Printf("| `%s` | `%s` | %.3g | %.3g | %.2f | %.3f | %.2f of %s | %s | %s |\n", e[0], e[1],
			s.Law.Variance, s.Law.Variance*(1+effect(c, "variance")), effect(c, "w2"), effect(c, "ks"), most, name, c.Verdict, g.Verdict)
	}
	fmt.Println()
	return nil
}

// ofPerturbed judges exact draws of held-out laws that are then moved, stretched, or have
// mass taken from one side of the median to the other.
func ofPerturbed(m *model) error {
	fmt.Printf("## Power\n\nDraws of the exact laws of the same functions, %d each, changed on purpose: moved by a part of the deviation, stretched about the mean, or with a part of the draws below the median replaced by draws above it.\n\n| change | law and generator: good | use with care | do not use | generator alone: good | use with care | do not use |\n|---|---:|---:|---:|---:|---:|---:|\n", samples)
	type change struct {
		name  string
		apply func(x []float32, mean, deviation float64)
	}
	move := func(part float64) change {
		return change{fmt.Sprintf("moved by %g", part), func(x []float32, mean, deviation float64) {
			for i := range x {
				x[i] += float32(part * deviation)
			}
		}}
	}
	stretch := func(factor float64) change {
		return change{fmt.Sprintf("stretched by %g", factor), func(x []float32, mean, deviation float64) {
			for i := range x {
				x[i] = float32(mean + factor*(float64(x[i])-mean))
			}
		}}
	}
	lose := func(part float64) change {
		return change{fmt.Sprintf("%.0f %% of the lower half lost", 100*part), func(x []float32, mean, deviation float64) {
			slices.Sort(x)
			half := len(x) / 2
			for i := range int(part * float64(half)) {
				at := i * half / int(part*float64(half))
				x[at] = x[half+(i*7919)%half]
			}
		}}
	}
	for _, c := range []change{move(0.05), move(0.1), move(0.2), move(0.3), move(0.5), stretch(1.05), stretch(1.1), stretch(1.2), stretch(1.5), stretch(0.8), stretch(0.6), lose(0.05), lose(0.1), lose(0.2), lose(0.5), lose(1)} {
		withLaw, without := tally{}, tally{}
		for i := range functions {
			f, s, err := m.heldOut(i)
			if err != nil {
				return err
			}
			law, err := density.New(f.System.(sde.Coefficients))
			if err != nil {
				return err
			}
			x := make([]float32, samples)
			law.Sample(x, random.New(seed, "certificate/changed", uint64(i)))
			c.apply(x, s.Law.Mean, math.Sqrt(s.Law.Variance))
			withLaw[s.Certify(x, 1).Verdict]++
			without[alone(s).Certify(x, 1).Verdict]++
		}
		fmt.Printf("| %s | %s | %s |\n", c.name, withLaw.row(functions), without.row(functions))
	}
	return nil
}
