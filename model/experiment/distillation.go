package experiment

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// Distillation says how a network was trained to follow the flow of another one, its teacher,
// in few evaluations (package distillation). It enters Hash. The rest of the experiment is the
// teacher's, but for Evaluation.Solver.
type Distillation struct {
	Teacher        Teacher `json:"teacher" yaml:"teacher"`
	Evaluations    int     `json:"evaluations" yaml:"evaluations"`         // K, of the network for a sample
	Steps          int     `json:"steps" yaml:"steps"`                     // updates
	BatchFunctions int     `json:"batch_functions" yaml:"batch_functions"` // of an update
	BatchSamples   int     `json:"batch_samples" yaml:"batch_samples"`     // paths of each function
	LearningRate   float64 `json:"learning_rate" yaml:"learning_rate"`     // peak of OneCycle
	Seed           uint64  `json:"seed" yaml:"seed"`                       // of functions and noise
}

// Teacher names the state whose flow a network follows.
type Teacher struct {
	Run        string `json:"run" yaml:"run"`
	Step       int64  `json:"step" yaml:"step"`
	Parameters string `json:"parameters" yaml:"parameters"` // SHA-256 (state.HashParameters), in hexadecimal
}

const (
	maxEvaluations   = 16
	maxDistillations = 1 << 24 // updates
	// maxPoints bounds functions × paths × evaluations of an update.
	maxPoints = 1 << 20
)

// Solver is the only one that a distilled network can be integrated by: its velocities are
// means over the intervals between the K times.
func (d Distillation) Solver() ode.Solver { return ode.Euler{Steps: d.Evaluations} }

func (d Distillation) validate() error {
	const path = "distillation."
	if d.Teacher.Run == "" || len(d.Teacher.Run) > maxRunName {
		return &FieldError{path + "teacher.run", fmt.Sprintf("%q", d.Teacher.Run), fmt.Sprintf("a run's hash, of up to %d characters", maxRunName)}
	}
	if d.Teacher.Step < 0 {
		return &FieldError{path + "teacher.step", d.Teacher.Step, "at least 0"}
	}
	if err := parametersHash(path+"teacher.parameters", d.Teacher.Parameters); err != nil {
		return err
	}
	if err := cmp.Or(
		integer(path+"evaluations", d.Evaluations, 1, maxEvaluations),
		integer(path+"steps", d.Steps, 1, maxDistillations),
		integer(path+"batch_functions", d.BatchFunctions, 1, maxPoints),
		integer(path+"batch_samples", d.BatchSamples, 1, maxPoints),
		number(path+"learning_rate", d.LearningRate, 1e-12, 1),
	); err != nil {
		return err
	}
	if points := d.BatchFunctions * d.BatchSamples * d.Evaluations; points > maxPoints {
		return &FieldError{path + "batch_samples", d.BatchSamples, fmt.Sprintf("less: %d functions × %d paths × %d evaluations are more than %d points", d.BatchFunctions, d.BatchSamples, d.Evaluations, maxPoints)}
	}
	return nil
}

// distillationFits reports a solver that a distilled network cannot be integrated by.
func (e Experiment) distillationFits() error {
	if e.Distillation == nil {
		return nil
	}
	if err := e.Distillation.validate(); err != nil {
		return err
	}
	if want := e.Distillation.Solver().String(); e.Evaluation.Solver != want {
		return &FieldError{"evaluation.solver", fmt.Sprintf("%q", e.Evaluation.Solver), fmt.Sprintf("%q, for which the network is distilled", want)}
	}
	return nil
}

// ErrDistilled means that something is not for distilled networks.
var ErrDistilled = errors.New("the network is distilled")

// Distilled is the experiment of a student of the teacher's state st. It fails for a teacher
// that is distilled itself.
func (e Experiment) Distilled(st *state.State, d Distillation) (Experiment, error) {
	if e.Distillation != nil {
		return e, fmt.Errorf("%w already: its velocities lead along no flow that another network could follow", ErrDistilled)
	}
	hash := st.ParameterHash()
	d.Teacher = Teacher{Run: cmp.Or(st.Run, e.Hash()), Step: int64(st.Step), Parameters: hex.EncodeToString(hash[:])}
	if err := d.validate(); err != nil {
		return e, err
	}
	e.Distillation = &d
	e.Evaluation.Solver = d.Solver().String()
	return e, e.Validate()
}

// Solver reads the name of a solver of the trained flow; the empty name is the evaluation's. It
// refuses those that a distilled network cannot be integrated by.
func (e Experiment) Solver(name string) (ode.Solver, error) {
	s, err := ode.Parse(cmp.Or(name, e.Evaluation.Solver))
	if err != nil {
		return nil, err
	}
	if d := e.Distillation; d != nil && s != d.Solver() {
		return nil, fmt.Errorf("solver %q: %w for %q alone", name, ErrDistilled, d.Solver())
	}
	return s, nil
}
