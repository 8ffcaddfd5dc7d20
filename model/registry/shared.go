package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"

	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/data/store/sequence"
	"github.com/ergoflow/ergoflow/internal/boltfile"
)

// shared is a registry in a bucket. registry.db on this machine is a copy of it, and files of
// weights are copies, too.
//
// Every change is a record of a sequence. A change reads all records that there are, makes its
// transaction in the copy, and appends what that has changed as the next record, which one writer
// alone can. Where another was first, it undoes its transaction, reads that record and begins
// anew. So changes have one order, in which each sees those before it. Reading begins with the
// records that there are by then, so what anybody has seen is never unseen.
//
//	registry/record/<n>, registry/snapshot/<n>     package sequence
//	registry/weights/<SHA-256>.<object>            weights of one version
type shared struct {
	records *sequence.Sequence
	objects store.Store
}

const (
	root          = "registry"
	weightsRoot   = root + "/weights/"
	snapshotEvery = 256 // records
	contention    = 50 * time.Millisecond
)

var (
	bucketReplica = []byte("replica")
	keyApplied    = []byte("applied")
)

// applied is the last record that a copy has.
type applied struct {
	Number int    `json:"number"` // 0: none
	Sum    string `json:"sum"`    // SHA-256 of the record
}

// location is that of a bucket, if a registry's name is one.
func location(name string) (l store.Location, ok bool) {
	l, err := store.Parse(name)
	return l, err == nil && l.Scheme != store.File
}

// openShared names the registry in a bucket. Its copy is in this user's cache.
func openShared(l store.Location) (*Registry, error) {
	if l.Scheme != store.S3 {
		return nil, fmt.Errorf("registry %s: %w: a registry is in a directory or at s3://BUCKET/PREFIX?endpoint=URL", l.Public(), ErrInvalid)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("registry %s: its copy on this machine: %w", l, err)
	}
	objects, err := store.Open(context.Background(), l, store.Options{}) // S3: it makes no request
	if err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	sum := sha256.Sum256([]byte(l.String()))
	return share(objects, filepath.Join(cache, "ergoflow", "registries", hex.EncodeToString(sum[:8]))), nil
}

// share is the registry in a store, with its copy in a directory.
func share(objects store.Store, dir string) *Registry {
	return &Registry{dir: dir, clock: sinceBoot, shared: &shared{sequence.New(objects, root), objects}}
}

func getApplied(tx *bbolt.Tx) (at applied, err error) {
	if b := tx.Bucket(bucketReplica); b != nil && b.Get(keyApplied) != nil {
		err = decode(b.Get(keyApplied), &at)
	}
	return at, err
}

func putApplied(tx *bbolt.Tx, n int, record []byte) error {
	b, err := tx.CreateBucketIfNotExists(bucketReplica)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(record)
	encoded, err := json.Marshal(applied{n, hex.EncodeToString(sum[:])})
	if err != nil {
		return err
	}
	return b.Put(keyApplied, boltfile.Seal(encoded))
}

// pull brings the copy up to date. A copy that is damaged is made anew.
func (r *Registry) pull(ctx context.Context) error {
	err := r.pullOnce(ctx)
	if errors.Is(err, boltfile.ErrCorrupt) {
		if removed := os.Remove(databasePath(r.dir)); removed == nil {
			err = r.pullOnce(ctx)
		}
	}
	return err
}

func (r *Registry) pullOnce(ctx context.Context) error {
	var at applied
	db, err := r.open(ctx, true)
	switch {
	case errors.Is(err, ErrNoRegistry):
	case err != nil:
		return err
	default:
		err = boltfile.Guard(func() error {
			return db.View(func(tx *bbolt.Tx) (err error) { at, err = getApplied(tx); return err })
		})
		if err := errors.Join(err, db.close()); err != nil {
			return err
		}
	}
	if _, err := r.shared.records.Read(ctx, at.Number+1); errors.Is(err, sequence.ErrEnd) {
		return nil
	} else if err != nil {
		return err
	}
	if err := r.make(); err != nil {
		return err
	}
	if db, err = r.open(ctx, false); err != nil {
		return err
	}
	err = boltfile.Guard(func() error { return db.Update(func(tx *bbolt.Tx) error { return r.shared.follow(ctx, tx) }) })
	return errors.Join(err, db.close())
}

// follow applies the records that a copy lacks. A copy that has none begins with a snapshot.
func (s *shared) follow(ctx context.Context, tx *bbolt.Tx) error {
	at, err := getApplied(tx)
	if err != nil {
		return err
	}
	var last []byte // record
	if at.Number == 0 {
		n, snapshot, err := s.records.Snapshot(ctx)
		if err != nil {
			return err
		}
		if n > 0 {
			t, err := readTransaction(n, snapshot)
			if err != nil {
				return err
			}
			if err := apply(tx, t.Changes); err != nil {
				return err
			}
			at = applied{n, t.Before}
			if last, err = s.records.Read(ctx, n); err != nil {
				return err
			}
			if sum := sha256.Sum256(last); hex.EncodeToString(sum[:]) != at.Sum {
				return corrupt("the snapshot up to record %d is of another one", n)
			}
		}
	}
	for {
		record, err := s.records.Read(ctx, at.Number+1)
		if errors.Is(err, sequence.ErrEnd) {
			break
		}
		if errors.Is(err, sequence.ErrCorrupt) {
			return corrupt("%w", err)
		}
		if err != nil {
			return err
		}
		t, err := readTransaction(at.Number+1, record)
		if err != nil {
			return err
		}
		if t.Before != at.Sum {
			return corrupt("record %d in %s does not follow the one before that this machine has seen", at.Number+1, s.records)
		}
		if err := apply(tx, t.Changes); err != nil {
			return err
		}
		sum := sha256.Sum256(record)
		at, last = applied{at.Number + 1, hex.EncodeToString(sum[:])}, record
	}
	if last == nil {
		return nil
	}
	return putApplied(tx, at.Number, last)
}

// changeShared is change of a registry in a bucket: write may run several times.
func (r *Registry) changeShared(ctx context.Context, operation string, write func(models *bbolt.Bucket) error) error {
	for {
		if err := r.pull(ctx); err != nil {
			return err
		}
		if err := r.make(); err != nil {
			return err
		}
		db, err := r.open(ctx, false)
		if err != nil {
			return err
		}
		n := 0
		err = boltfile.Guard(func() error {
			return db.Update(func(tx *bbolt.Tx) (err error) {
				n, err = r.shared.commit(ctx, tx, operation, write)
				return err
			})
		})
		err = errors.Join(err, db.close())
		switch {
		case errors.Is(err, errUnchanged):
			return nil
		case !errors.Is(err, sequence.ErrTaken):
			if err == nil && n%snapshotEvery == 0 {
				return r.snapshot(ctx, n)
			}
			return err
		}
		select {
		case <-time.After(mathrand.N(contention)): // others try, too
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// errUnchanged undoes a transaction that has changed nothing.
var errUnchanged = errors.New("nothing has changed")

// commit runs a transaction on the copy and appends what it has changed. It returns the record's
// number.
func (s *shared) commit(ctx context.Context, tx *bbolt.Tx, operation string, write func(models *bbolt.Bucket) error) (n int, err error) {
	at, err := getApplied(tx)
	if err != nil {
		return 0, err
	}
	before, err := content(tx)
	if err != nil {
		return 0, err
	}
	if err := prepare(tx); err != nil {
		return 0, err
	}
	if err := write(tx.Bucket(bucketModels)); err != nil {
		return 0, err
	}
	changes, err := since(before, tx)
	if err != nil {
		return 0, err
	}
	if len(changes) == 0 {
		return 0, errUnchanged
	}
	record, err := json.Marshal(transaction{Format: format, Before: at.Sum, Operation: operation, Changes: changes})
	if err != nil {
		return 0, err
	}
	n = at.Number + 1
	if err := s.records.Append(ctx, n, record); err != nil {
		return 0, err
	}
	return n, putApplied(tx, n, record)
}

// snapshot puts what the copy has, if that is up to record n.
func (r *Registry) snapshot(ctx context.Context, n int) error {
	db, err := r.open(ctx, true)
	if err != nil {
		return err
	}
	var encoded []byte
	err = boltfile.Guard(func() error {
		return db.View(func(tx *bbolt.Tx) error {
			at, err := getApplied(tx)
			if err != nil || at.Number != n {
				return err
			}
			all, err := since(map[string]entry{}, tx)
			if err != nil {
				return err
			}
			encoded, err = json.Marshal(transaction{Format: format, Before: at.Sum, Operation: "snapshot", Changes: all})
			return err
		})
	})
	if err := errors.Join(err, db.close()); err != nil || encoded == nil {
		return err
	}
	return r.shared.records.PutSnapshot(ctx, n, encoded)
}
