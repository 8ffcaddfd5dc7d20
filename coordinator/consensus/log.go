package consensus

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/raft"
	"go.etcd.io/bbolt"

	"github.com/ergoflow/ergoflow/internal/boltfile"
)

// ErrLog: raft.db is damaged.
var ErrLog = errors.New("damaged log of the consensus")

// logFormat is that of raft.db.
const logFormat = 1

var (
	bucketLog      = []byte("log")      // index, 8 bytes big endian → record
	bucketStable   = []byte("stable")   // terms and votes, as raft names them
	bucketIdentity = []byte("identity") // of this member
	keyID          = []byte("id")
	keyStarts      = []byte("starts")
	keyAddress     = []byte("address") // by which the others know it
)

// LogPath is the file of a member's log in the directory of its coordinator.
func LogPath(dir string) string { return filepath.Join(dir, "raft.db") }

// log is a member's log, with its votes and its identity. It implements raft.LogStore and
// raft.StableStore. What its methods have written is on the disk.
type log struct{ db *boltfile.DB }

// record is an entry as the file has it: JSON with a checksum.
type record struct {
	Term       uint64       `json:"term"`
	Type       raft.LogType `json:"type"`
	Data       []byte       `json:"data,omitempty"`
	Extensions []byte       `json:"extensions,omitempty"`
	Appended   time.Time    `json:"appended"`
}

func openLog(dir string) (*log, error) {
	db, err := boltfile.Open(LogPath(dir), false)
	if err != nil {
		return nil, fmt.Errorf("log of the consensus: %w", err)
	}
	l := &log{db}
	err = l.update("open", func(tx *bbolt.Tx) error {
		if err := boltfile.Stamp(tx, logFormat); err != nil {
			return err
		}
		for _, name := range [][]byte{bucketLog, bucketStable, bucketIdentity} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return l, nil
}

// HasBegun reports whether the coordinator of a directory has taken part in a cluster of several.
func HasBegun(dir string) (begun bool, err error) {
	if _, err := os.Lstat(LogPath(dir)); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	l, err := openLog(dir)
	if err != nil {
		return false, err
	}
	begun, err = l.hasBegun()
	return begun, errors.Join(err, l.close())
}

func (l *log) hasBegun() (bool, error) {
	return raft.HasExistingState(l, l, &raft.DiscardSnapshotStore{}) // a snapshot comes with a term
}

func (l *log) close() error { return l.db.Close() }

func (l *log) update(what string, f func(*bbolt.Tx) error) error {
	return l.guard(what, func() error { return l.db.Update(f) })
}

func (l *log) view(what string, f func(*bbolt.Tx) error) error {
	return l.guard(what, func() error { return l.db.View(f) })
}

// guard keeps the errors that raft compares.
func (l *log) guard(what string, f func() error) error {
	err := boltfile.Guard(f)
	if err == nil || errors.Is(err, raft.ErrLogNotFound) {
		return err
	}
	return fmt.Errorf("%s: %s: %w", l.db.Path(), what, err)
}

// identity returns the member's ID, made at the first start, and the address that setAddress noted,
// and counts this start.
func (l *log) identity() (id, address string, starts uint64, err error) {
	err = l.update("identity", func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucketIdentity)
		id = string(b.Get(keyID))
		if id == "" {
			id = rand.Text()
		}
		address = string(b.Get(keyAddress))
		if starts, err = parse(b.Get(keyStarts)); err != nil {
			return err
		}
		starts++
		return errors.Join(b.Put(keyID, []byte(id)), b.Put(keyStarts, number(starts)))
	})
	return id, address, starts, err
}

func (l *log) setAddress(address string) error {
	return l.update("address", func(tx *bbolt.Tx) error { return tx.Bucket(bucketIdentity).Put(keyAddress, []byte(address)) })
}

// number is a key that sorts as the number does.
func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// parse reads what number writes; nothing is 0.
func parse(b []byte) (uint64, error) {
	switch len(b) {
	case 0:
		return 0, nil
	case 8:
		return binary.BigEndian.Uint64(b), nil
	}
	return 0, fmt.Errorf("%w: a number has %d bytes", ErrLog, len(b))
}

// FirstIndex implements raft.LogStore.
func (l *log) FirstIndex() (uint64, error) { return l.end((*bbolt.Cursor).First) }

// LastIndex implements raft.LogStore.
func (l *log) LastIndex() (uint64, error) { return l.end((*bbolt.Cursor).Last) }

func (l *log) end(at func(*bbolt.Cursor) (key, value []byte)) (index uint64, err error) {
	err = l.view("find an end", func(tx *bbolt.Tx) error {
		key, _ := at(tx.Bucket(bucketLog).Cursor())
		index, err = parse(key)
		return err
	})
	return index, err
}

// GetLog implements raft.LogStore.
func (l *log) GetLog(index uint64, entry *raft.Log) error {
	return l.view(fmt.Sprintf("read entry %d", index), func(tx *bbolt.Tx) error {
		sealed := tx.Bucket(bucketLog).Get(number(index))
		if sealed == nil {
			return raft.ErrLogNotFound
		}
		var r record
		value, err := boltfile.Unseal(sealed)
		if err == nil {
			err = json.Unmarshal(value, &r)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrLog, err)
		}
		*entry = raft.Log{Index: index, Term: r.Term, Type: r.Type, Data: r.Data, Extensions: r.Extensions, AppendedAt: r.Appended}
		return nil
	})
}

// StoreLog implements raft.LogStore.
func (l *log) StoreLog(entry *raft.Log) error { return l.StoreLogs([]*raft.Log{entry}) }

// StoreLogs implements raft.LogStore.
func (l *log) StoreLogs(entries []*raft.Log) error {
	return l.update("write entries", func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucketLog)
		for _, e := range entries {
			value, err := json.Marshal(record{e.Term, e.Type, e.Data, e.Extensions, e.AppendedAt})
			if err != nil {
				return err
			}
			if err := b.Put(number(e.Index), boltfile.Seal(value)); err != nil {
				return err
			}
		}
		return nil
	})
}

// DeleteRange implements raft.LogStore.
func (l *log) DeleteRange(first, last uint64) error {
	return l.update("delete entries", func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucketLog)
		var keys [][]byte // a cursor skips entries where it deletes them
		c := b.Cursor()
		for key, _ := c.Seek(number(first)); key != nil && string(key) <= string(number(last)); key, _ = c.Next() {
			keys = append(keys, append([]byte(nil), key...))
		}
		for _, key := range keys {
			if err := b.Delete(key); err != nil {
				return err
			}
		}
		return nil
	})
}

// Set implements raft.StableStore.
func (l *log) Set(key, value []byte) error {
	return l.update(fmt.Sprintf("write %s", key), func(tx *bbolt.Tx) error { return tx.Bucket(bucketStable).Put(key, value) })
}

// Get implements raft.StableStore.
func (l *log) Get(key []byte) (value []byte, err error) {
	err = l.view(fmt.Sprintf("read %s", key), func(tx *bbolt.Tx) error {
		value = append([]byte(nil), tx.Bucket(bucketStable).Get(key)...)
		return nil
	})
	return value, err
}

// SetUint64 implements raft.StableStore.
func (l *log) SetUint64(key []byte, value uint64) error { return l.Set(key, number(value)) }

// GetUint64 implements raft.StableStore.
func (l *log) GetUint64(key []byte) (uint64, error) {
	value, err := l.Get(key)
	if err != nil {
		return 0, err
	}
	return parse(value)
}
