package coordinator

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/boltfile"
)

// change sets an entry of the ledger, or removes it.
type change struct {
	Bucket []byte `json:"bucket"`
	Key    []byte `json:"key"`
	Value  []byte `json:"value,omitempty"` // JSON with its checksum; empty: the entry is removed
}

// set is the change that sets an entry to v.
func set(bucket, key []byte, v any) (change, error) {
	value, err := json.Marshal(v)
	return change{bucket, key, boltfile.Seal(value)}, err
}

// change makes changes in one transaction, of all coordinators where there are several. They are
// durable when it returns.
func (l *ledger) change(list []change) error {
	if l.propose != nil {
		return l.propose(list)
	}
	return l.write(list)
}

// write makes changes in this coordinator's file.
func (l *ledger) write(list []change) error {
	return boltfile.Guard(func() error {
		return l.db.Update(func(tx *bbolt.Tx) error { return apply(tx, list) })
	})
}

func apply(tx *bbolt.Tx, list []change) error {
	for _, c := range list {
		b, err := tx.CreateBucketIfNotExists(c.Bucket)
		if err != nil {
			return err
		}
		if len(c.Value) == 0 {
			err = b.Delete(c.Key)
		} else {
			err = b.Put(c.Key, c.Value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// shared reports whether an entry is the cluster's, and not this process's own.
func shared(bucket, key []byte) bool {
	return !bytes.Equal(bucket, bucketMeta) && !bytes.Equal(bucket, bucketConsensus) && !(bytes.Equal(bucket, bucketCoordinator) && bytes.Equal(key, keyAddresses))
}

// entries are all that the coordinators share.
func (l *ledger) entries() (list []change, err error) {
	err = boltfile.Guard(func() error {
		return l.db.View(func(tx *bbolt.Tx) error {
			list, err = entriesIn(tx)
			return err
		})
	})
	return list, err
}

func entriesIn(tx *bbolt.Tx) (list []change, err error) {
	err = tx.ForEach(func(bucket []byte, b *bbolt.Bucket) error {
		return b.ForEach(func(key, value []byte) error {
			if shared(bucket, key) {
				list = append(list, change{bytes.Clone(bucket), bytes.Clone(key), bytes.Clone(value)})
			}
			return nil
		})
	})
	return list, err
}

// Applied implements consensus.State.
func (l *ledger) Applied() (index uint64, err error) {
	err = boltfile.Guard(func() error {
		return l.db.View(func(tx *bbolt.Tx) error {
			index, err = appliedIn(tx)
			return err
		})
	})
	if err != nil {
		return 0, fmt.Errorf("%w: %s: %w", ErrLedger, l.db.Path(), err)
	}
	return index, nil
}

func appliedIn(tx *bbolt.Tx) (uint64, error) {
	b := tx.Bucket(bucketConsensus)
	if b == nil {
		return 0, nil
	}
	value := b.Get(keyApplied)
	if len(value) != 8 {
		return 0, fmt.Errorf("its index of the consensus has %d bytes", len(value))
	}
	return binary.BigEndian.Uint64(value), nil
}

// Apply implements consensus.State.
func (l *ledger) Apply(index uint64, entry []byte) error {
	list, err := parseEntry(entry)
	if err != nil {
		return err
	}
	return l.write(append(list, appliedAt(index)))
}

// parseEntry reads an entry: a list of changes. One of a later format is an object that says so.
func parseEntry(entry []byte) (list []change, err error) {
	if entry == nil {
		return nil, nil
	}
	var later struct {
		Format int `json:"format"`
	}
	if json.Unmarshal(entry, &later) == nil {
		if err := ergoflow.CheckFormat("an entry of the ledger", later.Format, ledgerFormat); err != nil {
			return nil, err
		}
	}
	if err := json.Unmarshal(entry, &list); err != nil {
		return nil, fmt.Errorf("read an entry of the ledger: %w", err)
	}
	return list, nil
}

func appliedAt(index uint64) change {
	return change{bucketConsensus, keyApplied, binary.BigEndian.AppendUint64(nil, index)}
}

// eachStart calls f for the number of starts of each coordinator.
func (l *ledger) eachStart(f func(id string, starts uint64)) error {
	err := boltfile.Guard(func() error {
		return l.db.View(func(tx *bbolt.Tx) error {
			return each(tx.Bucket(bucketStarts), func(id []byte, starts uint64) error {
				f(string(id), starts)
				return nil
			})
		})
	})
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrLedger, l.db.Path(), err)
	}
	return nil
}

// addStarts adds to members the numbers of starts that the ledger has.
func (l *ledger) addStarts(members []*wire.CoordinatorMember) error {
	return l.eachStart(func(id string, starts uint64) {
		for _, m := range members {
			if m.GetId() == id {
				m.Starts = starts
			}
		}
	})
}

// copied is a snapshot of the ledger.
type copied struct {
	Format  int      `json:"format,omitempty"` // 0: from before it was there
	Applied uint64   `json:"applied"`
	Entries []change `json:"entries"`
}

// Snapshot implements consensus.State.
func (l *ledger) Snapshot() ([]byte, error) {
	c := copied{Format: ledgerFormat}
	err := boltfile.Guard(func() error {
		return l.db.View(func(tx *bbolt.Tx) (err error) {
			if c.Applied, err = appliedIn(tx); err == nil {
				c.Entries, err = entriesIn(tx)
			}
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("ledger %s: copy it: %w", l.db.Path(), err)
	}
	return json.Marshal(c)
}

// Restore implements consensus.State.
func (l *ledger) Restore(snapshot []byte) error {
	var c copied
	if err := json.Unmarshal(snapshot, &c); err != nil {
		return fmt.Errorf("read a snapshot of the ledger: %w", err)
	}
	if err := ergoflow.CheckFormat("a snapshot of the ledger", c.Format, ledgerFormat); err != nil {
		return err
	}
	err := boltfile.Guard(func() error {
		return l.db.Update(func(tx *bbolt.Tx) error {
			old, err := entriesIn(tx)
			if err != nil {
				return err
			}
			for i := range old {
				old[i].Value = nil
			}
			if err := apply(tx, old); err != nil {
				return err
			}
			return apply(tx, append(c.Entries, appliedAt(c.Applied)))
		})
	})
	if err != nil {
		return fmt.Errorf("ledger %s: restore it: %w", l.db.Path(), err)
	}
	return nil
}
