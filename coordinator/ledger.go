package coordinator

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.etcd.io/bbolt"

	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/internal/boltfile"
	"github.com/ergoflow/ergoflow/internal/trust"
)

var (
	// ErrRunning: another coordinator runs on the directory.
	ErrRunning = errors.New("another coordinator runs on this directory")
	// ErrLedger: coordinator.db is damaged. Without the file a run that is submitted
	// again continues from its checkpoints.
	ErrLedger = errors.New("damaged ledger")
)

// ledgerFormat is that of coordinator.db, of the entries by which several coordinators change it,
// and of the snapshots of these. A release raises it only after one that already reads the new
// format: coordinators of both are in one cluster while it is upgraded.
const ledgerFormat = 1

var (
	bucketMeta        = []byte(boltfile.BucketMeta)
	bucketCoordinator = []byte("coordinator")
	keyLedger         = []byte("ledger")
	keyAddresses      = []byte("addresses")
	keyNext           = []byte("next")
	bucketRuns        = []byte("runs")
	bucketSchedules   = []byte("schedules")
	bucketStarts      = []byte("starts")  // ID of a coordinator → how often its process has begun
	bucketRevoked     = []byte("revoked") // serial or identity → time, where there are several coordinators
	bucketConsensus   = []byte("consensus")
	keyApplied        = []byte("applied") // 8 bytes, big endian
	keyTokens         = []byte("tokens")  // without their secrets
	keyCluster        = []byte("cluster")
)

// otherKeys are those of the coordinator's bucket beside the ledgers of slots.
var otherKeys = [][]byte{keyAddresses, keyNext, keyTokens, keyCluster}

// ledger is the state that survives the process. Its file is also the lock that keeps a
// second coordinator out.
type ledger struct {
	db *boltfile.DB
	// propose has all coordinators of a cluster make the changes, and returns once a majority
	// has; nil: there is one coordinator.
	propose func([]change) error
}

func openLedger(dir string) (*ledger, error) {
	db, err := boltfile.Open(LedgerPath(dir), false)
	if errors.Is(err, boltfile.ErrLocked) {
		if a, err := ReadAddresses(dir); err == nil {
			return nil, fmt.Errorf("%w: %s (pid %d, control %s)", ErrRunning, dir, a.PID, a.Control)
		}
		return nil, fmt.Errorf("%w: %s", ErrRunning, dir)
	}
	if errors.Is(err, boltfile.ErrCorrupt) {
		return nil, fmt.Errorf("%w: %w", ErrLedger, err)
	}
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	err = boltfile.Guard(func() error {
		return db.Update(func(tx *bbolt.Tx) error { return boltfile.Stamp(tx, ledgerFormat) })
	})
	if errors.Is(err, boltfile.ErrCorrupt) {
		err = fmt.Errorf("%w: %s: %w", ErrLedger, db.Path(), err)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &ledger{db: db}, nil
}

// load reads a key into v, which stays unchanged where the key is missing.
func (l *ledger) load(key []byte, v any) error {
	err := boltfile.Guard(func() error {
		return l.db.View(func(tx *bbolt.Tx) error {
			if b := tx.Bucket(bucketCoordinator); b != nil && b.Get(key) != nil {
				return decode(b.Get(key), v)
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
func (l *ledger) store(key []byte, v any) error { return l.put(key, v, l.change) }

// storeHere writes a key that is this process's own.
func (l *ledger) storeHere(key []byte, v any) error { return l.put(key, v, l.write) }

func (l *ledger) put(key []byte, v any, by func([]change) error) error {
	c, err := set(bucketCoordinator, key, v)
	if err == nil {
		err = by([]change{c})
	}
	if err != nil {
		return fmt.Errorf("ledger %s: write %s: %w", l.db.Path(), key, err)
	}
	return nil
}

// decode reads a value as set makes it.
func decode(sealed []byte, v any) error {
	value, err := boltfile.Unseal(sealed)
	if err != nil {
		return err
	}
	return json.Unmarshal(value, v)
}

// LedgerPath is the file of a coordinator's ledger.
func LedgerPath(dir string) string { return filepath.Join(dir, "coordinator.db") }

// VerifyLedger reads the whole of coordinator.db in a directory: the tree, and every value
// with its checksum and its limits. A directory without the file is whole. The warning, if
// not empty, says what could not be verified.
func VerifyLedger(dir string) (warning string, err error) {
	path := LedgerPath(dir)
	db, err := boltfile.Open(path, true)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case errors.Is(err, boltfile.ErrLocked):
		return path + ": not verified, since a coordinator has it open", nil
	case err != nil:
		return "", fmt.Errorf("%w: %w", ErrLedger, err)
	}
	l := &ledger{db: db}
	if err = boltfile.Guard(func() error { return db.View(verifyEntries) }); err != nil {
		err = fmt.Errorf("%w: %s: %w", ErrLedger, path, err)
	}
	if err == nil {
		err = l.verifyValues()
	}
	return db.Warning, errors.Join(err, l.close())
}

// verifyEntries checks the tree, and that it has no entries but those that ledger stores.
func verifyEntries(tx *bbolt.Tx) error {
	err := errors.Join(boltfile.CheckFormat(tx, ledgerFormat), boltfile.Check(tx))
	return errors.Join(err, tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
		switch {
		case bytes.Equal(name, bucketMeta), bytes.Equal(name, bucketRuns), bytes.Equal(name, bucketSchedules), bytes.Equal(name, bucketStarts), bytes.Equal(name, bucketRevoked), bytes.Equal(name, bucketConsensus):
			return nil // verifyValues reads all of them
		case !bytes.Equal(name, bucketCoordinator):
			return fmt.Errorf("it has the unknown bucket %.40q", name)
		}
		return b.ForEach(func(key, value []byte) error {
			if _, isSlot := slotOf(key); value == nil || !isSlot && !slices.ContainsFunc(otherKeys, func(k []byte) bool { return bytes.Equal(key, k) }) {
				return fmt.Errorf("it has the unknown key %.40q", key)
			}
			return nil
		})
	}))
}

// verifyValues decodes what openState does.
func (l *ledger) verifyValues() error {
	var addresses Addresses
	var tokens []trust.Joining
	known, err := l.loadSlots()
	if err := errors.Join(l.load(keyAddresses, &addresses), l.load(keyTokens, &tokens), err); err != nil {
		return err
	}
	for _, one := range known {
		if err := one.Validate(); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrLedger, l.db.Path(), err)
		}
	}
	if _, err := l.Applied(); err != nil {
		return err
	}
	if err := l.eachStart(func(string, uint64) {}); err != nil {
		return err
	}
	if _, err := l.revoked(); err != nil {
		return err
	}
	queued, err := l.loadQueue()
	if err == nil {
		if _, invalid := queue.New(queue.Config{}, queued); invalid != nil {
			err = fmt.Errorf("%w: %s: %w", ErrLedger, l.db.Path(), invalid)
		}
	}
	return err
}

// persist makes the ledger of a slot of the fleet durable.
func (l *ledger) persist(slot int, m machine.Ledger) error { return l.store(slotKey(slot), m) }

// slotKey is the key of a slot's ledger. That of slot 0 is the one of coordinators that had one
// run at a time.
func slotKey(slot int) []byte {
	if slot == 0 {
		return keyLedger
	}
	return fmt.Appendf(nil, "%s/%d", keyLedger, slot)
}

// slotOf is the slot of a key that slotKey makes.
func slotOf(key []byte) (slot int, ok bool) {
	if bytes.Equal(key, keyLedger) {
		return 0, true
	}
	number, ok := strings.CutPrefix(string(key), string(keyLedger)+"/")
	slot, err := strconv.Atoi(number)
	return slot, ok && err == nil && slot > 0 && bytes.Equal(slotKey(slot), key)
}

// loadSlots reads the ledgers of all slots.
func (l *ledger) loadSlots() (map[int]machine.Ledger, error) {
	ledgers := make(map[int]machine.Ledger)
	err := boltfile.Guard(func() error {
		return l.db.View(func(tx *bbolt.Tx) error {
			b := tx.Bucket(bucketCoordinator)
			if b == nil {
				return nil
			}
			return b.ForEach(func(key, sealed []byte) error {
				slot, ok := slotOf(key)
				if !ok {
					return nil
				}
				var one machine.Ledger
				if err := decode(sealed, &one); err != nil {
					return fmt.Errorf("read %s: %w", key, err)
				}
				ledgers[slot] = one
				return nil
			})
		})
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrLedger, l.db.Path(), err)
	}
	return ledgers, nil
}

func (l *ledger) close() error { return l.db.Close() }
