package retraining

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ergoflow/ergoflow/internal/atomicfile"
)

// journalFormat is the version of journal.json.
const journalFormat = 1

// maxJournal bounds journal.json, whose configurations have kilobytes.
const maxJournal = 16 << 20

// ErrJournal means that journal.json is damaged, or of a newer ergoflow.
var ErrJournal = errors.New("journal of the retraining")

// journal is what a retraining has decided and done. It is on disk before the next stage
// begins, so a process that takes over repeats no decision.
type journal struct {
	Format    int       `json:"format"`
	ID        string    `json:"id"`
	Schedule  string    `json:"schedule,omitempty"`
	Scheduled string    `json:"scheduled,omitempty"`
	Began     time.Time `json:"began"`
	// Spent is the wall time of the processes before this one.
	Spent  Duration `json:"spent,omitempty"`
	Inputs string   `json:"inputs"` // hash of what is learned from, and how
	// Configured is the same hash without the data that come by themselves: growth and imports.
	Configured string     `json:"configured"`
	Champion   int        `json:"champion"` // version that the candidates are judged against; 0: none
	Parent     int        `json:"parent"`   // version that a warm start begins from; 0: none
	Trained    []training `json:"trained"`
	Warnings   []string   `json:"warnings,omitempty"`
	// Outcome ends the retraining. Without it the retraining is in progress.
	Outcome *Outcome `json:"outcome,omitempty"`
}

// training is one candidate of a retraining.
type training struct {
	From       From            `json:"from"`
	Experiment json.RawMessage `json:"experiment"`
	Run        string          `json:"run"` // hash of Experiment
	// Steps are done of Planned, once there is a state. StoppedBy is the budget that ended the
	// training before its last step.
	Done      bool   `json:"done"`
	Steps     int    `json:"steps"`
	Planned   int    `json:"planned"`
	StoppedBy string `json:"stopped_by,omitempty"`
}

func journalPath(dir string) string { return filepath.Join(dir, "journal.json") }

// readJournal returns the journal in a directory; nil if there is none.
func readJournal(dir string) (*journal, error) {
	path := journalPath(dir)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrJournal, err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxJournal+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrJournal, err)
	}
	if len(raw) > maxJournal {
		return nil, fmt.Errorf("%w: %s has more than %d bytes", ErrJournal, path, maxJournal)
	}
	var j journal
	if err := json.Unmarshal(raw, &j); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrJournal, path, err)
	}
	if j.Format != journalFormat {
		return nil, fmt.Errorf("%w: %s has format %d, this program reads %d", ErrJournal, path, j.Format, journalFormat)
	}
	return &j, nil
}

// write replaces the journal in a directory.
func (j *journal) write(dir string) error {
	raw, err := json.MarshalIndent(j, "", "  ")
	if err != nil {
		return fmt.Errorf("%w: %w", ErrJournal, err)
	}
	if err := atomicfile.Write(journalPath(dir), append(raw, '\n')); err != nil {
		return fmt.Errorf("%w: %w", ErrJournal, err)
	}
	return nil
}
