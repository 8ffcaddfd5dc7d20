package machine

import (
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow"
)

// Upload describes a checkpoint that a process is about to send.
type Upload struct {
	Worker ergoflow.WorkerID
	Secret uint64 // as in its Hello
	Run    string
	State  ergoflow.Mark
}

// CheckUpload returns why the coordinator does not store a checkpoint now. It stores
// late ones of earlier generations: such a state may be the only one left.
func (m *Machine) CheckUpload(u Upload) error {
	var run string
	var steps ergoflow.Step
	if p := m.ledger.Plan; p != nil {
		run, steps = p.Run, p.Steps
	}
	switch {
	case !m.knows(u.Worker, u.Secret):
		return fmt.Errorf("%.64q is not a worker of this coordinator", u.Worker)
	case u.Run != run:
		return fmt.Errorf("run %.64q is not the one in progress, %q", u.Run, run)
	case u.State.Generation > m.ledger.Generation:
		return fmt.Errorf("generation %d has not begun, the last is %d", u.State.Generation, m.ledger.Generation)
	case u.State.Step < 0 || u.State.Step > steps:
		return fmt.Errorf("step %d is not one of 0 to %d", u.State.Step, steps)
	}
	return nil
}

// knows reports whether a process is a worker, or one of the last that were. The
// checkpoint of a lost worker may be the only state left.
func (m *Machine) knows(id ergoflow.WorkerID, secret uint64) bool {
	if secret == 0 { // none was given
		return false
	}
	if w := m.byID(id); w != nil && w.Secret == secret {
		return true
	}
	return slices.ContainsFunc(m.departed, func(w process) bool { return w.ID == id && w.Secret == secret })
}
