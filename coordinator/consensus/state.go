package consensus

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/raft"

	"github.com/ergoflow/ergoflow"
)

// State is what the members replicate. Its methods are called one at a time.
type State interface {
	// Applied is the index of the last entry that was applied; 0: none.
	Applied() (index uint64, err error)
	// Apply changes the state by an entry, and notes its index in the same write. Nil: the entry
	// changes nothing.
	Apply(index uint64, entry []byte) error
	// Snapshot is the whole state, with the index.
	Snapshot() ([]byte, error)
	// Restore replaces the state by a snapshot.
	Restore(snapshot []byte) error
}

// maxSnapshot bounds a snapshot, in bytes. A ledger with 100,000 runs is smaller.
const maxSnapshot = 1 << 30

// fsm adapts State to raft.
type fsm struct {
	state State
	fail  func(error) // the member cannot go on
}

// errOldTerm: an entry was proposed in an earlier term than that in which it reached the log.
var errOldTerm = errors.New("the entry was decided in an earlier term")

// seal adds the proposer's term to an entry.
func seal(term uint64, entry []byte) []byte {
	return append(binary.BigEndian.AppendUint64(nil, term), entry...)
}

// Apply implements raft.FSM. It returns an error, or nil.
func (f fsm) Apply(l *raft.Log) any {
	applied, err := f.state.Applied()
	if err != nil {
		return f.failed(l, err)
	}
	if l.Index <= applied {
		return nil // before this start
	}
	entry, old := []byte(nil), error(nil)
	switch {
	case len(l.Data) < 8:
		return f.failed(l, fmt.Errorf("%w: it has %d bytes", ErrLog, len(l.Data)))
	case binary.BigEndian.Uint64(l.Data) != l.Term:
		old = errOldTerm
	default:
		entry = l.Data[8:]
	}
	if err := f.state.Apply(l.Index, entry); err != nil {
		return f.failed(l, err)
	}
	return old
}

// failed ends the member: with the entry left out, its state would differ from the others'.
func (f fsm) failed(l *raft.Log, err error) error {
	err = fmt.Errorf("apply entry %d: %w", l.Index, err)
	f.fail(err)
	return err
}

// Snapshot implements raft.FSM.
func (f fsm) Snapshot() (raft.FSMSnapshot, error) {
	b, err := f.state.Snapshot()
	return snapshot(b), err
}

// Restore implements raft.FSM.
func (f fsm) Restore(r io.ReadCloser) error {
	b, err := io.ReadAll(io.LimitReader(r, maxSnapshot+1))
	if err == nil && len(b) > maxSnapshot {
		err = fmt.Errorf("a snapshot has more than %d bytes", maxSnapshot)
	}
	if err == nil {
		err = f.state.Restore(b)
	}
	if errors.Is(err, ergoflow.ErrNewer) { // raft would try again for ever
		f.fail(err)
	}
	return errors.Join(err, r.Close())
}

type snapshot []byte

// Persist implements raft.FSMSnapshot.
func (s snapshot) Persist(sink raft.SnapshotSink) error {
	if _, err := sink.Write(s); err != nil {
		return errors.Join(err, sink.Cancel())
	}
	return sink.Close()
}

// Release implements raft.FSMSnapshot.
func (snapshot) Release() {}
