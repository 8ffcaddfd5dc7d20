package experiment

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/model/network/layers"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// FieldError is a value outside its range.
type FieldError struct {
	Field string // dotted path
	Value any
	Want  string // the allowed values, after "must be"
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("%s is %s: must be %s", e.Field, cut(fmt.Sprint(e.Value)), e.Want)
}

// Validate reports the first field out of range: as a *FieldError, or in the words of
// the data set, the batch plan or the network, which know their own bounds.
func (e Experiment) Validate() error {
	f, err := e.Data.Resolve()
	if err != nil {
		return err
	}
	t, v := e.Training, e.Evaluation
	if err := cmp.Or(
		e.BatchPlan().Validate(),
		integer("training.micro_batch", t.MicroBatch, 0, 1<<20), // 0: no bound
		integer("training.sync_every", t.SyncEvery, 0, maxLocalSteps),
		precision("training.precision", t.Precision),
		wire("training.wire", t.Wire),
		coupling("training.coupling", t.Coupling),
		integer("training.points", t.Points, 0, 1<<16), // 0: no shared points
		times("training.times", t.Times),
		states("training.states", t.States),
		counts("training.sensors", t.Sensors, 16, 1<<16),
		integer("training.epochs", t.Epochs, 1, 1<<20),
		integer("training.steps", t.Steps, 0, 1<<40),
		number("training.learning_rate", t.LearningRate, 1e-12, 1),
		number("training.weight_decay", t.WeightDecay, 0, 1),
		number("training.clip_norm", t.ClipNorm, 1e-12, 1e12),
		integer("training.checkpoint_every", t.CheckpointEvery, 1, 1<<40),
		integer("evaluation.functions", v.Functions, 1, e.Data.HeldOut),
		integer("evaluation.samples", v.Samples, 16, e.Data.StoredReference()),
		number("evaluation.blur", v.Blur, 1e-4, 100),
		number("evaluation.scaling", v.Scaling, 0.01, 0.99),
		solver("evaluation.solver", v.Solver),
		integer("evaluation.sensors", v.Sensors, 0, 1<<16), // 0: as in training
	); err != nil {
		return err
	}
	for i, m := range v.MCMC {
		path := fmt.Sprintf("evaluation.mcmc[%d]", i)
		if err := m.validate(path, v.Samples, f); err != nil {
			return err
		}
		// The random stream of a row depends on its name.
		if slices.ContainsFunc(v.MCMC[:i], func(other MCMC) bool { return other.Name == m.Name }) {
			return &FieldError{path + ".name", fmt.Sprintf("%q", m.Name), "another name than those of earlier rows"}
		}
	}
	if t.Reproducible && t.Wire != "" && t.Wire != ergoflow.WireFloat32 {
		return &FieldError{"training.wire", fmt.Sprintf("%q", t.Wire), "f32 where training is reproducible, since integers are sent exactly"}
	}
	if err := e.localStepsFit(); err != nil {
		return err
	}
	if err := e.Model.validate(); err != nil {
		return err
	}
	if err := e.modelFits(f); err != nil {
		return err
	}
	if err := e.startFits(f); err != nil {
		return err
	}
	if err := e.distillationFits(); err != nil {
		return err
	}
	return e.stateFits()
}

// headroom is for the configuration and the ledger's stretches in a state: every membership
// change adds one.
const headroom = 64 << 20

// stateFits reports a state that is too large for a checkpoint; otherwise the first save would
// fail.
func (e Experiment) stateFits() error {
	d, t := e.Data, e.Training
	updates := float64(t.Steps)
	if t.Steps == 0 { // like Steps, whose integers may overflow
		updates = float64(t.Epochs) * float64(d.Functions/t.BatchFunctions) * float64(d.Samples/t.BatchSamples)
	}
	parameters := e.Velocity().Layout().Size()
	const most = ergoflow.MaxState - headroom
	// Per parameter two moments and maybe the outer optimizer's velocity, per update its loss and
	// its word in the ledger.
	vectors := 3.0
	if e.LocalSteps() > 1 {
		vectors++
	}
	if size := 4*vectors*float64(parameters) + 16*updates; size > most {
		return fmt.Errorf("the state of %d parameters after %.0f updates takes %.0f MiB: a checkpoint has room for %d",
			parameters, updates, size/(1<<20), most>>20)
	}
	return nil
}

// maxRowName keeps a row's label on one line of the table.
const maxRowName = 40

func (m MCMC) validate(path string, samples int, f family.Family) error {
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	if n := utf8.RuneCountInString(m.Name); strings.TrimSpace(m.Name) == "" || n > maxRowName || strings.ContainsFunc(m.Name, unprintable) {
		return &FieldError{path + ".name", fmt.Sprintf("%.*q", maxRowName, m.Name), fmt.Sprintf("a line of 1 to %d printable characters: it labels a row", maxRowName)}
	}
	return data.ValidateScheme(path+".scheme", m.Scheme, samples, f)
}

func coupling(path string, c flow.Coupling) error {
	if !slices.Contains(flow.Couplings(), c) {
		return &FieldError{path, fmt.Sprintf("%q", c), fmt.Sprintf("one of %v", flow.Couplings())}
	}
	return nil
}

func precision(path string, p layers.Precision) error {
	if p != "" && !slices.Contains(layers.Precisions(), p) {
		return &FieldError{path, fmt.Sprintf("%q", p), fmt.Sprintf("one of %v", layers.Precisions())}
	}
	return nil
}

func wire(path string, w ergoflow.Wire) error {
	if w != "" && !slices.Contains(ergoflow.Wires(), w) {
		return &FieldError{path, fmt.Sprintf("%q", w), fmt.Sprintf("one of %v", ergoflow.Wires())}
	}
	return nil
}

func times(path string, law flow.Times) error {
	if law != "" && !slices.Contains(flow.TimeLaws(), law) {
		return &FieldError{path, fmt.Sprintf("%q", law), fmt.Sprintf("one of %v", flow.TimeLaws())}
	}
	return nil
}

func states(path string, s flow.States) error {
	if s != "" && !slices.Contains(flow.StatesKinds(), s) {
		return &FieldError{path, fmt.Sprintf("%q", s), fmt.Sprintf("one of %v", flow.StatesKinds())}
	}
	return nil
}

func solver(path, name string) error {
	if _, err := ode.Parse(name); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func integer(path string, v, lo, hi int) error {
	if v < lo || v > hi {
		return &FieldError{path, v, fmt.Sprintf("from %d to %d", lo, hi)}
	}
	return nil
}

// counts checks a list of at most that many positive numbers.
func counts(path string, v []int, most, hi int) error {
	if len(v) > most {
		return &FieldError{path, fmt.Sprintf("a list of %d", len(v)), fmt.Sprintf("at most %d", most)}
	}
	for i, n := range v {
		if err := integer(fmt.Sprintf("%s[%d]", path, i), n, 1, hi); err != nil {
			return err
		}
	}
	return nil
}

// number refuses NaN too.
func number(path string, v, lo, hi float64) error {
	if math.IsNaN(v) || v < lo || v > hi {
		return &FieldError{path, v, fmt.Sprintf("a number from %g to %g", lo, hi)}
	}
	return nil
}
