package coordinator

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"go.etcd.io/bbolt"

	"github.com/ergoflow/ergoflow/coordinator/boltfile"
	"github.com/ergoflow/ergoflow/coordinator/machine"
)

var (
	// ErrRunning: another coordinator runs on the directory.
	ErrRunning = errors.New("another coordinator runs on this directory")
	// ErrLedger: coordinator.db is damaged. Without the file a run that is submitted
	// again continues from its checkpoints.
	ErrLedger = errors.New("damaged ledger")
)

var (
	bucketCoordinator = []byte("coordinator")
	keyLedger         = []byte("ledger")
	keyAddresses      = []byte("addresses")
)

// ledger is the state that survives the process. Its file is also the lock that keeps a
// second coordinator out.
type ledger struct{ db *bbolt.DB }

func openLedger(dir string) (*ledger, error) {
	db, err := boltfile.Open(filepath.Join(dir, "coordinator.db"), false)
	if errors.Is(err, boltfile.ErrLocked) {
		if a, err := ReadAddresses(dir); err == nil {
			return nil, fmt.Errorf("%w: %s (pid %d)", ErrRunning, dir, a.PID)
		}
		return nil, fmt.Errorf("%w: %s", ErrRunning, dir)
	}
	if errors.Is(err, boltfile.ErrCorrupt) {
		return nil, fmt.Errorf("%w: %w", ErrLedger, err)
	}
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return &ledger{db}, nil
}

// load reads a key into v, which stays unchanged where the key is missing.
func (l *ledger) load(key []byte, v any) error {
	err := boltfile.Guard(func() error {
		return l.db.View(func(tx *bbolt.Tx) error {
			if b := tx.Bucket(bucketCoordinator); b != nil && b.Get(key) != nil {
				return json.Unmarshal(b.Get(key), v)
			}
			return nil
		})
	})
	if err != nil {
		return fmt.Errorf("%w: %s: read %s: %w", ErrLedger, l.db.Path(), key, err)
	}
	return nil
}

// store writes a key; when it returns the value is durable.
func (l *ledger) store(key []byte, v any) error {
	err := boltfile.Guard(func() error {
		value, err := json.Marshal(v)
		if err != nil {
			return err
		}
		return l.db.Update(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists(bucketCoordinator)
			if err != nil {
				return err
			}
			return b.Put(key, value)
		})
	})
	if err != nil {
		return fmt.Errorf("ledger %s: write %s: %w", l.db.Path(), key, err)
	}
	return nil
}

func (l *ledger) persist(m machine.Ledger) error { return l.store(keyLedger, m) }

func (l *ledger) close() error { return l.db.Close() }
