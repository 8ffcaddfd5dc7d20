package reproduce

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ergoflow/ergoflow/internal/atomicfile"
	"github.com/ergoflow/ergoflow/internal/finitejson"
	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/report"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// Directory is where a reproduction lives:
//
//	runs/HASH/state.safetensors    the trained state
//	runs/HASH/training.json        how it was trained; its field finished says when
//	evaluations/HASH/              one evaluation's report (package report)
//	evaluations/HASH/judged.json   written last: without it the evaluation is incomplete
//	report/                        tables, figures and pages
//
// The HASH of a run is Experiment.Hash. That of an evaluation also covers all settings
// that its numbers depend on.
type Directory string

// TrainingRecord is training.json: how a state was trained.
type TrainingRecord struct {
	Experiment string `json:"experiment"`
	Preset     string `json:"preset"`
	Run        string `json:"run"` // hash of the configuration
	Seed       uint64 `json:"seed"`
	// Attempts counts how often the training started. Stages are those of the last
	// attempt.
	Attempts    int                `json:"attempts"`
	Stages      []StageSeconds     `json:"stages"`
	Loss        float64            `json:"loss"`        // mean of the last tenth, at most 250 steps
	Environment report.Environment `json:"environment"` // empty for a cluster of other machines
	Finished    time.Time          `json:"finished"`    // zero: not yet
}

// StageSeconds is a part of a run with its wall time.
type StageSeconds struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// seconds is the wall time of a stage; 0 where it is unknown.
func (t TrainingRecord) seconds(stage string) float64 {
	for _, s := range t.Stages {
		if s.Name == stage {
			return s.Seconds
		}
	}
	return 0
}

// completion is judged.json, which marks an evaluation as complete.
type completion struct {
	Environment report.Environment `json:"environment"`
	Created     time.Time          `json:"created"`
}

func (d Directory) run(hash string) string { return filepath.Join(string(d), "runs", hash) }
func (d Directory) statePath(hash string) string {
	return filepath.Join(d.run(hash), "state.safetensors")
}
func (d Directory) evaluation(key string) string { return filepath.Join(string(d), "evaluations", key) }

func (d Directory) report(parts ...string) string {
	return filepath.Join(append([]string{string(d), "report"}, parts...)...)
}

// Shards is where a local cluster with this directory, and every evaluation, keeps its
// shards.
func (d Directory) Shards() string { return filepath.Join(string(d), "shards") }

// training reads the record of a run; zero for one that never started.
func (d Directory) training(hash string) (TrainingRecord, error) {
	var t TrainingRecord
	err := readJSON(filepath.Join(d.run(hash), "training.json"), &t)
	if errors.Is(err, fs.ErrNotExist) {
		return TrainingRecord{}, nil
	}
	return t, err
}

func (d Directory) writeTraining(t TrainingRecord) error {
	return d.writeJSON(filepath.Join(d.run(t.Run), "training.json"), t)
}

// state reads the trained state of a run, nil if it was not kept. The state of another
// run is an error.
func (d Directory) state(hash string) (*state.State, error) {
	path := d.statePath(hash)
	encoded, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	_, st, err := experiment.DecodeState(encoded)
	if err == nil && st.Run != hash {
		err = fmt.Errorf("the file has the state of run %.12s", st.Run)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrCorrupt, path, err)
	}
	return st, nil
}

func (d Directory) writeState(hash string, encoded []byte) error {
	if err := atomicfile.MakeDirs(d.run(hash)); err != nil {
		return err
	}
	return atomicfile.Write(d.statePath(hash), encoded)
}

// storedEvaluation reads a finished evaluation; nil if there is none.
func (d Directory) storedEvaluation(key string) (*storedEvaluation, error) {
	j := storedEvaluation{Dir: d.evaluation(key)}
	err := readJSON(filepath.Join(j.Dir, "judged.json"), &j.completion)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = readJSON(filepath.Join(j.Dir, "results.json"), &j.Results)
	}
	if err != nil {
		return nil, err
	}
	return &j, nil
}

// storedEvaluation is a finished evaluation.
type storedEvaluation struct {
	completion
	Dir     string // its report
	Results evaluate.Results
}

func (d Directory) writeCompletion(key string, j completion) error {
	return d.writeJSON(filepath.Join(d.evaluation(key), "judged.json"), j)
}

func (d Directory) writeJSON(path string, v any) error {
	encoded, _, err := finitejson.Marshal(v, "  ") // with its warnings
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	if err := atomicfile.MakeDirs(filepath.Dir(path)); err != nil {
		return err
	}
	return atomicfile.Write(path, append(encoded, '\n'))
}

// readJSON reads a file that this package wrote. A file that does not parse is
// ErrCorrupt.
func readJSON(path string, v any) error {
	encoded, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := finitejson.Unmarshal(encoded, v); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrCorrupt, path, err)
	}
	return nil
}

// ErrCorrupt means that a file of a reproduction is damaged, or that another version
// wrote it.
var ErrCorrupt = errors.New("not a record of a reproduction")
