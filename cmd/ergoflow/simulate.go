package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/progress"
	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/data/simulation/diagnostics"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/internal/arrayfile"
	"github.com/ergoflow/ergoflow/model/compute/backend"
)

// simulation is the document of `simulate --json`.
type simulation struct {
	Output   string    `json:"output"`
	Shape    []int     `json:"shape"` // [chains, draws]
	Samples  int       `json:"samples"`
	Chains   int       `json:"chains"`
	Draws    int       `json:"draws"` // of each chain
	Seed     uint64    `json:"seed"`
	DType    string    `json:"dtype"` // of the array: float32, or float64 where that would lose digits
	Mean     float64   `json:"mean"`
	Variance statistic `json:"variance"`
	// Of package diagnostics; null where the chains are too short, or all samples equal.
	RHat     statistic `json:"rhat"`
	ESSBulk  statistic `json:"ess_bulk"`
	ESSTail  statistic `json:"ess_tail"`
	MCSEMean statistic `json:"mcse_mean"`
	// Domain and Boundaries, Feller's kinds of its ends, are those of --domain.
	Domain     string `json:"domain,omitempty"`
	Boundaries *ends  `json:"boundaries,omitempty"`

	Engine   string  `json:"engine"`
	Seconds  float64 `json:"seconds"`
	StepsPer float64 `json:"steps_per_s"` // of all chains together
	// Warnings say why the samples may have another law than the equation, or tell little of it.
	Warnings []string `json:"warnings,omitempty"`
}

// ends are the kinds of a domain's boundaries: natural, entrance, exit, regular or undecided.
type ends struct {
	Lo string `json:"lo"`
	Hi string `json:"hi"`
}

const (
	// maxSamples bounds the samples that simulate holds in memory: 8 GiB of float64.
	maxSamples = 1 << 30
	// maxSteps bounds the steps of all chains together: more would take centuries.
	maxSteps = 1 << 60
)

// simulateFlags are the flags of simulate.
type simulateFlags struct {
	lineFlags
	output, engine, start string
	samples               int // of all chains together; 0: as many as the steps give
	steps                 int // of each chain after the burn-in
	scheme                simulate.Scheme
	seed                  uint64
	json                  bool
}

func simulateCommand() *cobra.Command {
	var flags simulateFlags
	cmd := &cobra.Command{
		Use:   "simulate --drift EXPR --diffusion EXPR -o x.npy",
		Short: "Simulate dX = b(X)dt + σ(X)dW by Euler–Maruyama",
		Long: `Simulates chains of a one-dimensional equation given as formulas in x and
writes the samples as one float32 array [chain, draw]; as float64 where float32
would change their deviation or their order, as near 1e5 with a deviation of 1.
Chains start from draws of --start, normal(mean, deviation) or
uniform(lo, hi). They take the burn-in, then --steps steps, of which every
--thin-th is kept; -n gives the number of all kept samples instead of --steps.
The samples depend on the seed, the formulas and the numbers
here, not on the threads or the engine. Each core takes 16 to 64 chains at a
time.

Formulas know + - * / ^, comparisons, and, or, not, x > 0 ? a : b, pi, e and
  abs sign sqrt cbrt exp log log2 log10 pow min max floor ceil erf
  sin cos tan asin acos atan atan2 sinh cosh tanh
of which "ergoflow help formulas" has the meanings. They are computed in
float64, wherever chains go; a model (sample) keeps the values at the ends of
its grid. The law of X does not depend on the sign of the diffusion. A diffusion
of zero adds no noise; where it is zero everywhere, the chains solve
dX = b(X)dt by Euler's method. If a chain leaves ±1e6 or the --domain, or a
formula is not finite where a chain is, the command fails and writes nothing.

The ends of a --domain are natural or entrance boundaries, which chains never
reach, or exit or regular ones, which they reach in finite time (Feller).

Beside the mean stands its Monte Carlo standard error. R-hat compares the
chains, each cut into halves: it is 1 where they agree. ESS is the number of
independent draws that the samples are worth, for the bulk of the law and for
its tails. The command warns of chains that have not mixed, of an ESS below 400,
of an equation without an invariant law, of a law without moments, and of a --dt
that makes the variance more than 5 % too large.`,
		Example: `  ergoflow simulate --drift "x - x^3" --diffusion "0.7" --burn-in 1000 --steps 10000 --thin 100 -o well.npy`,
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := flags.run(cmd.Context())
			if err != nil {
				return err
			}
			return printResult(s, flags.json, flags.output)
		},
	}
	f := cmd.Flags()
	flags.register(f)
	f.StringVarP(&flags.output, "output", "o", "", outputUsage)
	f.StringVar(&flags.start, "start", "normal(0, 1)", "`LAW` of the chains' starts: normal(mean, deviation) or uniform(lo, hi)")
	f.IntVar(&flags.steps, "steps", 10000, "steps of each chain after the burn-in")
	f.IntVarP(&flags.samples, "samples", "n", 0, "number of samples that all chains keep, in place of --steps")
	f.Float64Var(&flags.scheme.DT, "dt", 0.01, "time step, in the equation's unit of time")
	f.IntVar(&flags.scheme.Chains, "chains", 64, "number of independent chains")
	f.IntVar(&flags.scheme.BurnIn, "burn-in", 1000, "steps of each chain that are not kept")
	f.IntVar(&flags.scheme.Thin, "thin", 10, "steps between kept samples")
	f.Uint64Var(&flags.seed, "seed", 0, "seed of the noise")
	f.StringVar(&flags.engine, "engine", backend.Auto, "instruction set: auto, avx512, avx2 or go")
	f.BoolVar(&flags.json, "json", false, "print JSON (docs/formats.md)")
	for _, name := range []string{"drift", "diffusion", "output"} {
		cmd.MarkFlagRequired(name)
	}
	cmd.MarkFlagsMutuallyExclusive("samples", "steps")
	return cmd
}

// run simulates the chains and writes what is kept of them.
func (f *simulateFlags) run(ctx context.Context) (s simulation, err error) {
	b, sigma, _, err := f.compile()
	if err != nil {
		return s, err
	}
	equation := expression.NewEquation(b, sigma)
	engine, err := formulaEngine(f.engine)
	if err != nil {
		return s, err
	}
	law, err := random.ParseLaw(f.start, random.Uniform, random.Normal)
	if err != nil {
		return s, usage(fmt.Errorf("--start: %w", err))
	}
	f.scheme.Start = simulate.Start(law.String())
	domain, err := simulate.ParseDomain(f.domain)
	if err != nil {
		return s, usage(fmt.Errorf("--domain: %w", err))
	}
	if err := f.stepsFor(); err != nil {
		return s, err
	}
	kept, err := samplesKept(f.scheme, f.steps)
	if err != nil {
		return s, usage(err)
	}
	if err := f.scheme.Start.Within(sde.Domain{domain}); err != nil {
		return s, usage(withHint(fmt.Errorf("--domain: %w", err), "start the chains inside, as with --start \"uniform(0.5, 1.5)\" in (0, inf)"))
	}
	if err := arrayWritable(f.output, f.json); err != nil {
		return s, err
	}
	scheme := f.scheme
	scheme.BurnIn += scheme.Thin // the first sample comes thin steps after the burn-in
	var warnings []string
	note := func(about []string) {
		warn(about)
		warnings = append(warnings, about...)
	}
	if err := data.StepsAreLost(ctx, engine, equation.Bind, scheme, scheme.Steps(kept), f.seed); err != nil {
		return s, usage(withHint(err, "choose a larger --dt, or a larger --diffusion"))
	}
	boundaries := data.BoundariesOf(engine, equation.Bind, domain, law.Mean())
	if domain != sde.WholeLine {
		note(boundaries.Warnings())
	}
	x := make([]float64, scheme.Chains*kept)
	total := scheme.Steps(kept) * scheme.Chains
	bar := progress.New(os.Stderr, "simulate", "steps", 0, total)
	begin := time.Now()
	err = engine.EulerMaruyamaFunc(ctx, x, equation.Bind, domain, scheme, f.seed, 0, "simulate",
		func(done, _ int) { bar.Set(done, "") })
	bar.End()
	if err != nil {
		explodes := func(e *simulate.DivergedError) bool { return data.Explodes(engine, equation.Bind, scheme, f.seed, e) }
		return s, explainSimulation(err, boundaries, explodes)
	}
	seconds := time.Since(begin).Seconds()
	written := arrayfile.Line(x)
	written.Chains = scheme.Chains
	dtype, err := writeSamples(ctx, f.output, written)
	if err != nil {
		return s, withHint(err, "nothing was written; the same command gives the same samples again")
	}
	found, about := diagnostics.OfEquation(b.Eval, sigma.Eval, scheme.DT, x, scheme.Chains)
	note(about)
	s = simulation{
		Output: f.output, Shape: written.Shape(), Samples: len(x), Chains: scheme.Chains, Draws: kept, Seed: f.seed, DType: dtype,
		RHat: statistic(found.RHat), ESSBulk: statistic(found.ESSBulk), ESSTail: statistic(found.ESSTail), MCSEMean: statistic(found.MCSEMean),
		Engine: engine.String(), Seconds: seconds, StepsPer: float64(total) / seconds, Warnings: warnings,
	}
	s.Mean, s.Variance = moments(x)
	if domain != sde.WholeLine {
		s.Domain = domain.String()
		s.Boundaries = &ends{cmp.Or(string(boundaries.Lo), "undecided"), cmp.Or(string(boundaries.Hi), "undecided")}
	}
	return s, nil
}

// String is the line that simulate prints.
func (s simulation) String() string {
	digits := 4
	if far := math.Log10(math.Abs(s.Mean) / math.Sqrt(float64(s.Variance))); far > 2 { // as many as show the deviation
		digits = int(min(2+math.Ceil(far), 17)) // far is infinite where all samples are equal
	}
	mean, worth, kind := fmt.Sprintf("%.*g", digits, s.Mean), "", ""
	in := ""
	if s.DType == "float64" {
		kind = "float64 "
	}
	if known := func(v statistic) bool { return !math.IsNaN(float64(v)) }; known(s.MCSEMean) && known(s.RHat) {
		mean = fmt.Sprintf("%s ± %.1g", mean, s.MCSEMean)
		worth = fmt.Sprintf("R-hat %.3f, ESS %.0f (tails %.0f), ", s.RHat, s.ESSBulk, s.ESSTail)
	}
	if s.Boundaries != nil {
		in = fmt.Sprintf(" in %s (%s, %s)", s.Domain, s.Boundaries.Lo, s.Boundaries.Hi)
	}
	return fmt.Sprintf("%s: %d %ssamples of %d chains%s, mean %s, variance %.4g, %s%.3g M steps/s by %s, seed %d",
		s.Output, s.Samples, kind, s.Chains, in, mean, s.Variance, worth, s.StepsPer/1e6, s.Engine, s.Seed)
}

// formulaEngine is the engine of that name, for auto the fastest, if this build
// has its instructions for formulas too.
func formulaEngine(name string) (*simulate.Engine, error) {
	here := expression.Engines()
	if name == backend.Auto {
		name = here[0]
	}
	if !slices.Contains(here, name) {
		return nil, fmt.Errorf("%w: %q, this machine has %s", simulate.ErrEngine, name, strings.Join(here, ", "))
	}
	return simulate.NewEngine(name)
}

// stepsFor sets the steps of each chain for the samples that all chains are to keep.
func (f *simulateFlags) stepsFor() error {
	chains, thin := f.scheme.Chains, f.scheme.Thin
	switch {
	case f.samples == 0 || chains < 1 || thin < 1: // the scheme is refused later
		return nil
	case f.samples < 0 || f.samples > maxSamples:
		return usagef("-n is %d, not in 1…%d", f.samples, maxSamples)
	case f.samples%chains != 0:
		return withHint(usagef("-n is %d, not a multiple of --chains %d", f.samples, chains), "give -n %d, or other --chains", (f.samples/chains+1)*chains)
	case thin > maxSteps/(f.samples/chains):
		return usagef("%d samples of each chain, every %d steps, are more than %d steps", f.samples/chains, thin, maxSteps)
	}
	f.steps = f.samples / chains * thin
	return nil
}

// samplesKept is the number of samples that each chain gives.
func samplesKept(s simulate.Scheme, steps int) (int, error) {
	if err := s.Validate(); err != nil {
		return 0, err
	}
	if steps < s.Thin {
		return 0, fmt.Errorf("--steps is %d, less than --thin %d: no sample would be kept", steps, s.Thin)
	}
	kept := steps / s.Thin
	if kept > maxSamples/s.Chains {
		return 0, fmt.Errorf("%d chains × %d samples is more than %d", s.Chains, kept, maxSamples)
	}
	if s.BurnIn+s.Thin > maxSteps/s.Chains-steps {
		return 0, fmt.Errorf("%d chains × (%d + %d) steps is more than %d", s.Chains, s.BurnIn, steps, maxSteps)
	}
	return kept, nil
}

// explainSimulation adds a hint to a simulation that failed.
func explainSimulation(err error, boundaries data.Boundaries, explodes func(*simulate.DivergedError) bool) error {
	var diverged *simulate.DivergedError
	switch {
	case errors.Is(err, simulate.ErrLeftDomain) && errors.As(err, &diverged):
		switch kind := boundaries.Crossed(diverged); {
		case kind == "":
			return withHint(err, "choose a smaller --dt, unless the equation itself reaches the end of the domain")
		case kind.Attainable():
			return withHint(err, "the equation reaches this %s boundary: give formulas that go on beyond it, as with max(x, 0), and no --domain", kind)
		default:
			return withHint(err, "choose a smaller --dt: the equation never reaches this %s boundary", kind)
		}
	case errors.As(err, &diverged) && diverged.Reason != "":
		return withHint(err, "give formulas that are finite wherever chains go, for example with max, abs or a condition")
	case errors.As(err, &diverged) && diverged.Drifted():
		return withHint(err, "give a drift that leads back, or fewer --steps: a chain counts as diverged beyond ±%g", float64(simulate.Bound))
	case errors.As(err, &diverged) && explodes(diverged):
		return withHint(err, "the equation itself leads beyond ±%g, whatever the time step: give a drift that leads back, or a --start from where it does", float64(simulate.Bound))
	}
	return withHint(err, "choose a smaller --dt")
}

// moments returns mean and variance of the samples; one sample has no variance.
func moments[T float32 | float64](x []T) (mean float64, variance statistic) {
	for _, v := range x {
		mean += float64(v)
	}
	mean /= float64(len(x))
	var squares float64
	for _, v := range x {
		squares += (float64(v) - mean) * (float64(v) - mean)
	}
	if len(x) < 2 {
		return mean, statistic(math.NaN())
	}
	return mean, statistic(squares / float64(len(x)-1))
}
