package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/internal/arrayfile"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/sampling/certificate"
	"github.com/ergoflow/ergoflow/model/sampling/engine"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/sampling/request"
	"github.com/ergoflow/ergoflow/model/sampling/sampler"
)

// sampling is the document of `sample --json`.
type sampling struct {
	Output  string  `json:"output"`
	Shape   []int   `json:"shape"`
	Samples int     `json:"samples"`
	Solver  string  `json:"solver"`
	Time    float64 `json:"time,omitzero"` // physical, of experiments that have it
	Engine  string  `json:"engine"`
	SetupS  float64 `json:"setup_s"` // of getting ready, with compilation
	Seconds float64 `json:"seconds"` // of sampling
	// Warnings say why the samples may have another law than the equation.
	Warnings []string `json:"warnings"`
	*lineMoments
	judged
}

// lineMoments are given in one dimension alone.
type lineMoments struct {
	Mean     float64   `json:"mean"`
	Variance statistic `json:"variance"`
}

// sampleFlags are the flags of sample.
type sampleFlags struct {
	checkpoint, output string
	request            request.Request
	parameters         []string
	time               float64
	n                  int
	solver, backend    string
	engine, equations  string
	seed               uint64
	repair             string // none, auto or a number of steps
	json               bool
}

func sampleCommand() *cobra.Command {
	var flags sampleFlags
	cmd := &cobra.Command{
		Use:   "sample [--checkpoint C] (--function I | --drift EXPR --diffusion EXPR) -o x.npy",
		Short: "Sample the invariant measure of an equation with a trained model",
		Long: `Draws samples of the invariant measure without simulation: of function I of the
experiment that the model was trained on, or of a new equation given as formulas
in x ("ergoflow help formulas"). The model reads the formulas at the nodes of
its grid. The command refuses an equation without an invariant law. It warns of
one whose drift or diffusion has values that functions of the training set do
not have at the same node.

The command judges the samples by the equation: good, use with care, do not use.
An invariant law keeps the mean of every function; the command takes the rates
at which drift and diffusion would change the samples' means of some. On the
line it also computes the law of the formulas by quadrature, and compares the
samples with it. A law at a --time is not judged. docs/certificate.md has the
checks, their bounds, and what they cannot see.

--repair moves every sample along a chain of the equation, on the line of the
formulas everywhere. auto goes on in rounds until a round neither moves the
samples nor leaves them wrong, or for five seconds. The time step makes the
variance about 1 % too large. --repair weights draws by importance weights where
the density of the law is known up to a constant: on the line, in the plane for
a gradient drift and a constant diffusion, and of particles. The certificate is
then of the repaired samples.

Beyond its grid the model keeps the values at the ends; simulate takes the
formulas everywhere, so the two solve different equations there. The command
warns where more than 1 % of the law or of the samples is outside the grid.

In the plane, give --drift twice, in x and y, and --diffusion once (σ·I), twice
(a diagonal) or four times (a matrix, row after row), as in the model's family;
in cn2d it is "sqrt(2)". There the command does not check that an invariant law
exists, but warns of a drift that points outward along a side of the grid.

For a model of anyd, give the drift as one formula for all coordinates, such as
--drift "-(x + x^3)", or as one for each: docs/families.md. The command warns
where the equation's coefficients are beyond those of the training set.

A model of vn1d_time draws from the law of X_τ, started from N(0,1), at the
physical time --time. The default is the function's own time, and of formulas
the longest time.`,
		Example: `  ergoflow sample --checkpoint ergoflow-runs/vn1d-demo --drift "-2*(x-1)" --diffusion "1" -n 4096 -o x.npy
  ergoflow sample --checkpoint ergoflow-runs/langevin --drift "y" --drift "x-x^3-y" --diffusion "0" --diffusion "0.6" -o x.npy`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("time") {
				flags.request.Time = &flags.time
			}
			if flags.equations != "" {
				out, err := flags.runMany(cmd.Context())
				if err != nil {
					return err
				}
				return printResult(out, flags.json, flags.output)
			}
			out, err := flags.run(cmd.Context())
			if err != nil {
				return err
			}
			return printResult(out, flags.json, flags.output)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.checkpoint, "checkpoint", "", checkpointUsage+" (default: the only run in ergoflow-runs)")
	f.IntVar(&flags.request.Function, "function", 0, "number of a function of the experiment; the held-out ones follow the training functions")
	f.StringVar(&flags.equations, "equations", "", "`FILE` of many equations, .csv or .json (docs/formats.md): the array is [equations, n]")
	f.StringArrayVar(&flags.request.Drift, "drift", nil, "formula `EXPR` of the drift b(x); in the plane give two, in x and y")
	f.StringArrayVar(&flags.request.Diffusion, "diffusion", nil, "formula `EXPR` of the diffusion σ(x); in the plane give one, two or four")
	parameterFlag(f, &flags.parameters)
	f.Float64Var(&flags.time, "time", 0, "physical time of the law, in the equation's unit, for models of vn1d_time")
	f.IntVarP(&flags.n, "samples", "n", 4096, "number of samples")
	f.StringVar(&flags.solver, "solver", "", "ODE solver: euler-N or rk4-N with N steps, or dopri5; docs/results/solvers.md compares them (default: the model's evaluation.solver)")
	f.StringVarP(&flags.output, "output", "o", "", outputUsage)
	f.StringVar(&flags.engine, "engine", engine.Auto, "auto, table (of the network, on the line), processor (no backend) or network (on a backend)")
	f.StringVar(&flags.backend, "backend", backend.Auto, "compute backend of --engine network: auto, xla:cuda, xla:cpu or go; with a GPU, auto takes that engine where there is no table")
	f.Uint64Var(&flags.seed, "seed", 0, "seed of the noise")
	f.StringVar(&flags.repair, "repair", "none", "move the samples by `STEPS` of the equation, a number or auto; or draw by importance weights: weights (where the law's density is known)")
	f.BoolVar(&flags.json, "json", false, "print JSON (docs/formats.md)")
	cmd.MarkFlagRequired("output")
	cmd.MarkFlagsRequiredTogether("drift", "diffusion")
	cmd.MarkFlagsOneRequired("function", "drift", "equations")
	cmd.MarkFlagsMutuallyExclusive("function", "drift", "equations")
	cmd.MarkFlagsMutuallyExclusive("equations", "param")
	cmd.MarkFlagsMutuallyExclusive("equations", "time")
	return cmd
}

// uncollected is the memory below which sample collects no garbage: that would take a fifth of
// the time of such a short process.
const uncollected = 512 << 20

// run reads the state, draws the samples and writes them.
func (f *sampleFlags) run(ctx context.Context) (out sampling, err error) {
	if debug.SetMemoryLimit(-1) == math.MaxInt64 { // nobody has set another
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(uncollected))
		defer debug.SetGCPercent(debug.SetGCPercent(-1))
	}
	if err := f.fits(1); err != nil {
		return out, err
	}
	if err := f.check(); err != nil {
		return out, err
	}
	if f.request.Parameters, err = readParameters(f.parameters); err != nil {
		return out, err
	}
	e, equations, st, err := readTrained(ctx, f.checkpoint)
	if err != nil {
		return out, err
	}
	solver, err := e.Solver(f.solver)
	if err != nil {
		return out, usage(err)
	}
	dim := e.Velocity().Dim()
	if err := f.fits(dim); err != nil {
		return out, err
	}
	begin := time.Now()
	drawer, err := engine.Open(engine.Options{Name: f.engine, Backend: f.backend, Tables: tablesBeside(f.checkpoint)}, e, equations, st)
	if err != nil {
		return out, engineError(err)
	}
	defer drawer.Close()
	prepared := make(chan error, 1)
	prepare := func() { prepared <- drawer.Prepare(ctx, solver) }
	if drawer.Of(solver) != engine.Network {
		go prepare() // while the equation is read
	}
	target, err := f.request.Resolve(ctx, e, equations, st.Normalisation)
	if err != nil {
		return out, requestError(err)
	}
	warn(target.Warnings)
	if drawer.Of(solver) == engine.Network {
		begin = time.Now()
		prepare()
	}
	if err := <-prepared; err != nil {
		return out, engineError(err)
	}
	d, err := f.draw(ctx, drawer, target, solver)
	if err != nil {
		return out, err
	}
	d.setup = time.Since(begin) - d.took
	judged, err := f.judge(ctx, target, d)
	if err != nil {
		return out, err
	}
	warn(judged.Certificate.Warnings())
	judged.hint()
	judged.Run, judged.Step = st.Run, int(st.Step)
	written := arrayfile.Points32(d.x, dim)
	if _, err := writeSamples(ctx, f.output, written); err != nil {
		return out, err
	}
	out = sampling{
		Output: f.output, Shape: written.Shape(), Samples: f.n, Solver: solver.String(),
		Engine: d.engine, Time: target.Time, SetupS: d.setup.Seconds(), Seconds: d.took.Seconds(),
		Warnings: append(append([]string{}, target.Warnings...), judged.Certificate.Warnings()...), judged: judged,
	}
	if dim == 1 {
		mean, variance := moments(d.x)
		out.lineMoments = &lineMoments{mean, variance}
	}
	return out, nil
}

// check reads the flags that need no model, and finds the checkpoint.
func (f *sampleFlags) check() (err error) {
	if f.solver != "" {
		if _, err := ode.Parse(f.solver); err != nil {
			return usage(err)
		}
	}
	if _, _, err := f.repairs(); err != nil {
		return err
	}
	if err := arrayWritable(f.output, f.json); err != nil {
		return err
	}
	f.checkpoint, err = checkpointOrOnly(f.checkpoint)
	return err
}

// fits refuses more samples of that dimension than one command can hold.
func (f *sampleFlags) fits(dim int) error {
	most := sampler.MaxNumbers / dim
	if f.n >= 1 && f.n <= most {
		return nil
	}
	err := usagef("-n is %d, not in 1…%d", f.n, most)
	if dim > 1 {
		err = usagef("-n is %d, not in 1…%d for samples of %d numbers", f.n, most, dim)
	}
	return withHint(err, "run the command several times, each time with another --seed")
}

// drawn are the samples of a target.
type drawn struct {
	x           []float32
	engine      string
	setup, took time.Duration // of getting ready, with compilation, and of sampling
	// weighing and certificate are those of --repair weights, which is part of the drawing.
	weighing    *request.Weighing
	certificate certificate.Certificate
}

// draw draws the samples.
func (f *sampleFlags) draw(ctx context.Context, drawer *engine.Engine, target request.Target, solver ode.Solver) (d drawn, err error) {
	begin := time.Now()
	if f.repair == byWeights {
		d.weighing = new(request.Weighing)
		d.x, *d.weighing, d.certificate, err = target.Weigh(ctx, drawer, f.n, solver, f.seed)
		if errors.Is(err, request.ErrNoWeights) {
			err = withHint(usage(fmt.Errorf("--repair: %w", err)), "choose --repair auto")
		}
	} else {
		d.x, err = target.Draw(ctx, drawer, f.n, solver, f.seed)
	}
	d.engine, d.took = drawer.Of(solver), time.Since(begin)
	return d, err
}

// engineError adds what to choose where there is no table.
func engineError(err error) error {
	if errors.Is(err, engine.ErrNoTable) {
		return withHint(usage(err), "leave --engine out, or choose --engine %s", engine.Processor)
	}
	return err
}

// String is the line that sample prints.
func (s sampling) String() string {
	line := fmt.Sprintf("%s: %d samples by %s in %s, ready in %s, seed %d", s.Output, s.Samples, s.Solver, short(s.Seconds), short(s.SetupS), s.Seed)
	if s.Time > 0 {
		line += fmt.Sprintf(", time %.4g", s.Time)
	}
	if s.lineMoments != nil {
		line += fmt.Sprintf(", mean %.4g%s", s.Mean, s.Exact.besides("mean"))
		if s.Samples > 1 {
			line += fmt.Sprintf(", variance %.4g%s", s.Variance, s.Exact.besides("variance"))
		}
	}
	return fmt.Sprintf("%s%s: %s", line, s.judged, s.Certificate.Verdict)
}

// short formats a time in seconds or milliseconds.
func short(seconds float64) string {
	if seconds < 0.1 {
		return fmt.Sprintf("%.3g ms", 1000*seconds)
	}
	return fmt.Sprintf("%.2f s", seconds)
}

// requestError names the flag that an equation cannot be taken from, and adds the hint
// that needs the model's grid.
func requestError(err error) error {
	var input *request.InputError
	var equation *request.EquationError
	switch {
	case errors.As(err, &input):
		return usage(withKnownNames(fmt.Errorf("--%w", err)))
	case !errors.As(err, &equation):
		return err
	}
	if equation.Input != "" {
		err = fmt.Errorf("--%w", err)
	}
	if hint := equation.Hint(); hint != "" {
		return withHint(err, "%s", hint)
	}
	return err
}
