// Command codes asks whether the distance of an equation's code from those of the training set
// says how wrong a model's samples are:
//
//	ergoflow checkpoints export latest --dir ergoflow-runs/vn1d-demo -o vn1d.safetensors
//	go run ./docs/benchmarks/codes -write docs/decisions/code-distance.md vn1d.safetensors
//
// Every number is a function of the state alone, up to rounding.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/ergoflow/ergoflow/data/equations/density"
	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/network/deeponet"
	"github.com/ergoflow/ergoflow/model/sampling/certificate"
	"github.com/ergoflow/ergoflow/model/sampling/engine"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/sampling/request"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

const (
	references = 2048 // functions of the training set
	heldOut    = 512  // that the model has not learned
	samples    = 4096
	good, bad  = 0.15, 0.4 // W2 in deviations of the law: the certificate's bounds
)

func main() {
	write := flag.String("write", "", "file whose part between marks is replaced")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: codes [-write FILE] STATE.safetensors")
		os.Exit(2)
	}
	text, err := run(context.Background(), flag.Arg(0))
	if err == nil && *write != "" {
		err = replace(*write, text)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "codes:", err)
		os.Exit(1)
	}
	fmt.Print(text)
}

// replace puts text between the marks of a file.
func replace(path, text string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(content), "<!-- measured -->\n")
	_, after, ended := strings.Cut(rest, "<!-- end -->")
	if !found || !ended {
		return fmt.Errorf("%s has no marks", path)
	}
	return os.WriteFile(path, []byte(before+"<!-- measured -->\n"+text+"<!-- end -->"+after), 0o644)
}

// model encodes equations and draws from them.
type model struct {
	experiment  experiment.Experiment
	family      family.Family
	grid        sde.Grid
	host        *deeponet.Host
	conditioner flow.Conditioner
	frame       flow.Frame
	engine      *engine.Engine
	reader      *request.Reader
}

func open(path string) (*model, error) {
	encoded, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	trained, st, err := experiment.DecodeState(encoded)
	if err != nil {
		return nil, err
	}
	m := &model{experiment: trained.Inference()}
	if m.family, err = m.experiment.Family(); err != nil {
		return nil, err
	}
	tabulated, ok := m.family.(family.Tabulated)
	config, onLine := m.experiment.Velocity().(deeponet.Config)
	if !ok || !onLine {
		return nil, fmt.Errorf("%s is not a family of tables on the line", m.family.Name())
	}
	m.grid = tabulated.Grid()
	if m.host, err = deeponet.NewHost(config, st.Parameters); err != nil {
		return nil, err
	}
	if m.conditioner, err = m.experiment.Conditioner(m.family, st.Normalisation); err != nil {
		return nil, err
	}
	if m.frame, err = flow.FrameOf(st.Normalisation, 1); err != nil {
		return nil, err
	}
	m.reader = request.NewReader(m.experiment, m.family, st.Normalisation)
	m.engine, err = engine.Open(engine.Options{Name: engine.Table}, m.experiment, m.family, st)
	return m, err
}

// code is that of a function.
func (m *model) code(ctx context.Context, f family.Function) ([]float32, error) {
	inputs := make([][]float32, m.host.Inputs())
	if err := m.conditioner.Condition(ctx, inputs, []flow.Subject{{Function: f}}); err != nil {
		return nil, err
	}
	return m.host.Encode(ctx, inputs, 1)
}

// equation is one that the model draws from.
type equation struct {
	function family.Function
	rule     certificate.Line // of the generator test
	law      *certificate.Law
}

// function is one of the family, by its number.
func (m *model) function(i int) (e equation, err error) {
	if e.function, err = m.family.Function(m.experiment.Data.Seed, i); err != nil {
		return e, err
	}
	table := e.function.System.(sde.Coefficients)
	law, err := density.New(table)
	if err != nil {
		return e, err
	}
	e.rule, e.law = certificate.OfTable(table), certificate.OfDensity(law)
	return e, nil
}

// foreign are equations of formulas: wells of several places, widths and numbers, far from the
// training set and near it. Those without a law on the line or on the grid are left out.
func (m *model) foreign() (all []equation, err error) {
	var formulas [][2]string
	for _, sigma := range []string{"0.2", "0.5", "1", "1.5", "2", "3", "4", "6", "1 + 0.5*sin(3*x)", "0.5 + 0.1*x^2", "sqrt(1 + 0.2*x^2)"} {
		for _, drift := range []string{
			"-0.1*x", "-0.3*x", "-x", "-3*x", "-10*x", "-(x-2)", "-(x+3)", "-2*(x-1)", "-(x-4)", "x - x^3", "2*x - x^3", "0.3 + x - x^3", "4*x - x^3/2",
			"-x^3", "sin(3*x) - x", "2*sin(2*x) - 0.3*x", "-tanh(x)", "-5*tanh(3*x)", "cos(x) - 0.5*x", "-x + 3*exp(-x^2)", "-x*(x^2-1)*(x^2-4)/4",
		} {
			formulas = append(formulas, [2]string{drift, sigma})
		}
	}
	for _, f := range formulas {
		b, err := expression.Compile(f[0])
		if err != nil {
			return nil, err
		}
		sigma, err := expression.Compile(f[1])
		if err != nil {
			return nil, err
		}
		c, err := expression.Tabulate(b, sigma, m.grid)
		if err != nil || density.Normalisable(c) != nil {
			continue
		}
		_, law, err := certificate.Integrate(b.Eval, sigma.Eval, m.grid.Lo, m.grid.Hi)
		if err != nil || math.IsNaN(law.Variance) {
			continue
		}
		function, err := m.family.(family.Tabulated).Of(c)
		if err != nil {
			return nil, err
		}
		all = append(all, equation{function, certificate.Line{Drift: b.Eval, Diffusion: sigma.Eval}, law})
	}
	return all, nil
}

// row is an equation's error and its measures.
type row struct {
	w2       float64
	passes   bool // the generator test
	measures []float64
}

func (m *model) row(ctx context.Context, e equation, r *reference) (row, error) {
	solver, err := ode.Parse("rk4-4")
	if err != nil {
		return row{}, err
	}
	x, err := m.engine.Sample(ctx, []flow.Subject{{Function: e.function}}, samples, solver, 1)
	if err != nil {
		return row{}, err
	}
	code, err := m.code(ctx, e.function)
	if err != nil {
		return row{}, err
	}
	unlearned, err := m.reader.Unlearned(ctx, e.function)
	if err != nil {
		return row{}, err
	}
	checks := certificate.Subject{Law: e.law, Unlearned: math.NaN()}.Certify(x[0], 1).Checks
	w2 := checks[slices.IndexFunc(checks, func(c certificate.Check) bool { return c.Name == "w2" })].Effect
	if math.IsNaN(unlearned) {
		unlearned = 1 // its table has no law that can be integrated
	}
	alone := certificate.Subject{Equation: e.rule, Unlearned: math.NaN()}.Certify(x[0], 1)
	return row{w2, alone.Verdict == certificate.Good, append([]float64{unlearned}, r.distances(m, code, e.law)...)}, nil
}

func run(ctx context.Context, path string) (string, error) {
	m, err := open(path)
	if err != nil {
		return "", err
	}
	defer m.engine.Close()
	r, err := m.references(ctx)
	if err != nil {
		return "", err
	}
	var known, strange []row
	for i := range heldOut {
		e, err := m.function(m.experiment.Data.Functions + i)
		if err == nil {
			var found row
			found, err = m.row(ctx, e, r)
			known = append(known, found)
		}
		if err != nil {
			return "", err
		}
	}
	equations, err := m.foreign()
	if err != nil {
		return "", err
	}
	for _, e := range equations {
		found, err := m.row(ctx, e, r)
		if err != nil {
			return "", err
		}
		strange = append(strange, found)
	}
	all := slices.Concat(known, strange)
	var b strings.Builder
	count := func(rows []row) string {
		right, wrong := 0, 0
		for _, r := range rows {
			if r.w2 <= good {
				right++
			}
			if r.w2 > bad {
				wrong++
			}
		}
		return fmt.Sprintf("%d (%d right, %d wrong)", len(rows), right, wrong)
	}
	fmt.Fprintf(&b, "%s functions that the model has not learned, %s foreign equations; %d codes of the training set, in the space of the %d principal components that have 99.9 %% of their variance.\n\n", count(known), count(strange), references, r.kept)
	b.WriteString("| measure | rank correlation with W2: functions | foreign | all | power at 1 % false alarms | at 5 % | at those of today's bound | found at 5 %, of the wrong ones that pass the generator test |\n|---|---:|---:|---:|---:|---:|---:|---:|\n")
	rate := falseAlarms(all, 0, 0.01)
	for k, name := range measures {
		fmt.Fprintf(&b, "| %s | %.2f | %.2f | %.2f | %.0f %% | %.0f %% | %.0f %% | %d of %d |\n", name, correlation(known, k), correlation(strange, k), correlation(all, k),
			100*power(all, k, 0.01), 100*power(all, k, 0.05), 100*power(all, k, rate), missed(all, k, bound(all, k, 0.05)), missed(all, k, math.Inf(-1)))
	}
	fmt.Fprintf(&b, "\nToday's bound, one hundredth of the law, has false alarms for %.1f %% of the right ones, and finds %.0f %% of the wrong ones.\n", 100*rate, 100*above(all, 0, 0.01, func(w float64) bool { return w > bad }))
	return b.String(), nil
}

// correlation is Spearman's, of a measure with the error.
func correlation(rows []row, k int) float64 {
	x, y := make([]float64, len(rows)), make([]float64, len(rows))
	for i, r := range rows {
		x[i], y[i] = r.measures[k], r.w2
	}
	return stat.Correlation(ranks(x), ranks(y), nil)
}

// ranks are places in rising order; equal values have the mean of theirs.
func ranks(x []float64) []float64 {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(x[i], x[j]) })
	r := make([]float64, len(x))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && x[order[j]] == x[order[i]] {
			j++
		}
		for _, k := range order[i:j] {
			r[k] = float64(i+j-1) / 2
		}
		i = j
	}
	return r
}

// above is the part of the rows of a kind whose measure is above a bound.
func above(rows []row, k int, bound float64, kind func(w2 float64) bool) float64 {
	count, total := 0, 0
	for _, r := range rows {
		if !kind(r.w2) {
			continue
		}
		total++
		if r.measures[k] > bound {
			count++
		}
	}
	return float64(count) / float64(max(total, 1))
}

// falseAlarms is the part of the right ones above a bound.
func falseAlarms(rows []row, k int, bound float64) float64 {
	return above(rows, k, bound, func(w float64) bool { return w <= good })
}

// bound is the least one with at most so many false alarms.
func bound(rows []row, k int, rate float64) float64 {
	var right []float64
	for _, r := range rows {
		if r.w2 <= good {
			right = append(right, r.measures[k])
		}
	}
	slices.Sort(right)
	return right[len(right)-1-int(rate*float64(len(right)))]
}

// power is the part of the wrong ones that are found with at most so many false alarms.
func power(rows []row, k int, rate float64) float64 {
	return above(rows, k, bound(rows, k, rate), func(w float64) bool { return w > bad })
}

// missed counts the wrong ones above a bound that pass the generator test.
func missed(rows []row, k int, bound float64) (count int) {
	for _, r := range rows {
		if r.w2 > bad && r.passes && r.measures[k] > bound {
			count++
		}
	}
	return count
}
