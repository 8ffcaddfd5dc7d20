package registry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/internal/atomicfile"
	"github.com/ergoflow/ergoflow/internal/boltfile"
)

const format = 1

// patience is how long an operation waits while other processes have the file open.
const patience = 30 * time.Second

var (
	// ErrNoRegistry: the directory has no registry.
	ErrNoRegistry = errors.New("there is no registry")
	// ErrNotFound: the registry has no such model, version or alias.
	ErrNotFound = errors.New("not found")
	// ErrFormat: the registry is of another program, or of a newer one.
	ErrFormat = errors.New("this program cannot read the registry")
	// ErrInvalid: what should be stored or looked up is not well-formed.
	ErrInvalid = errors.New("invalid")
	// ErrCorrupt: the registry is damaged; the error names the damaged part.
	ErrCorrupt = boltfile.ErrCorrupt
	// ErrBusy: other processes kept the registry open for all of the time that an operation waits.
	ErrBusy = boltfile.ErrLocked
	// ErrSpace: the disk is full.
	ErrSpace = boltfile.ErrSpace
)

var (
	bucketMeta       = []byte("meta")
	bucketModels     = []byte("models")
	bucketVersions   = []byte("versions")
	bucketDetails    = []byte("details")
	bucketConfigs    = []byte("configs")
	bucketKeys       = []byte("keys")
	bucketAliases    = []byte("aliases")
	bucketHistory    = []byte("history")
	bucketPromotions = []byte("promotions")
	keyFormat        = []byte("format")
	keyHead          = []byte("head")
	keyLock          = []byte("lock")
)

// Registry is a directory of models, or a bucket of them. Its methods may be called
// concurrently, also by several processes, and of a bucket by several machines.
type Registry struct {
	dir    string
	shared *shared              // nil: it is a directory; otherwise dir has the copy of this machine
	clock  func() time.Duration // since the machine's start, the same for all processes on it

	mu      sync.Mutex
	warning string
}

// Open names the registry in a directory, or at a location s3://. The first Add or Lock makes
// it where it is missing.
func Open(dir string) (*Registry, error) {
	if l, ok := location(dir); ok {
		return openShared(l)
	}
	if dir == "" {
		return nil, fmt.Errorf("registry: %w: no directory", ErrInvalid)
	}
	info, err := os.Stat(dir)
	switch {
	case err == nil && !info.IsDir():
		return nil, fmt.Errorf("registry %s: %w: it is not a directory", dir, ErrInvalid)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("registry: %w", err)
	}
	return &Registry{dir: dir, clock: sinceBoot}, nil
}

// Exists reports whether a directory has a registry. Of a location it reports that it may have
// one, without a request.
func Exists(dir string) bool {
	if _, ok := location(dir); ok {
		return true
	}
	info, err := os.Stat(databasePath(dir))
	return err == nil && info.Mode().IsRegular()
}

func databasePath(dir string) string { return filepath.Join(dir, "registry.db") }

// Dir is the registry's directory, or that of its copy on this machine.
func (r *Registry) Dir() string { return r.dir }

// Warnings are what the operations so far found to be doubtful and could read all the same.
func (r *Registry) Warnings() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.warning == "" {
		return nil
	}
	return []string{r.warning}
}

// open opens registry.db. It waits while another process has it open for writing or, if
// this one writes, for reading. The caller ends with close.
func (r *Registry) open(ctx context.Context, readOnly bool) (*opened, error) {
	leave, err := r.pass(ctx, readOnly)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoRegistry
	}
	if err != nil {
		return nil, err
	}
	fresh := !Exists(r.dir)
	db, err := boltfile.Open(databasePath(r.dir), readOnly)
	if err == nil && fresh {
		err = atomicfile.SyncDir(r.dir)
	}
	if err != nil {
		if db != nil {
			err = errors.Join(err, db.Close())
		}
		leave()
		return nil, err
	}
	if db.Warning != "" { // the operation may mend it: the next would find nothing
		r.mu.Lock()
		r.warning = db.Warning
		r.mu.Unlock()
	}
	return &opened{db, leave}, nil
}

// opened is an open registry.db.
type opened struct {
	*boltfile.DB
	leave func()
}

func (o *opened) close() error {
	defer o.leave()
	return o.DB.Close()
}

// view runs a transaction that reads.
func (r *Registry) view(ctx context.Context, operation string, read func(models *bbolt.Bucket) error) error {
	if r.shared != nil {
		if err := r.pull(ctx); err != nil {
			return r.name(operation, err)
		}
	}
	db, err := r.open(ctx, true)
	if err == nil {
		err = boltfile.Guard(func() error {
			return db.View(func(tx *bbolt.Tx) error {
				if err := checkFormat(tx); err != nil {
					return err
				}
				return read(tx.Bucket(bucketModels))
			})
		})
		err = errors.Join(err, db.close())
	}
	return r.name(operation, err)
}

// update runs a transaction that writes, on a registry that exists. What it has written is
// durable when update returns without error; after an error nothing has changed.
func (r *Registry) update(ctx context.Context, operation string, write func(models *bbolt.Bucket) error) error {
	if r.shared != nil {
		if err := r.pull(ctx); err != nil {
			return r.name(operation, err)
		}
	}
	if !Exists(r.dir) {
		return r.name(operation, ErrNoRegistry)
	}
	return r.change(ctx, operation, write, nil)
}

// change is update, and makes the registry's file where it is missing. After the
// transaction it calls then, while no other process can write.
func (r *Registry) change(ctx context.Context, operation string, write func(models *bbolt.Bucket) error, then func() error) error {
	if r.shared != nil {
		err := r.changeShared(ctx, operation, write)
		if err == nil && then != nil {
			err = then()
		}
		return r.name(operation, err)
	}
	db, err := r.open(ctx, false)
	if err == nil {
		err = boltfile.Guard(func() error {
			return db.Update(func(tx *bbolt.Tx) error {
				if err := prepare(tx); err != nil {
					return err
				}
				return write(tx.Bucket(bucketModels))
			})
		})
		if err == nil && then != nil {
			err = then()
		}
		err = errors.Join(err, db.close())
	}
	return r.name(operation, err)
}

// name adds the registry and the operation, if it is not empty, to an error.
func (r *Registry) name(operation string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNoRegistry):
		return fmt.Errorf("%w in %s", ErrNoRegistry, r)
	case operation != "":
		err = fmt.Errorf("%s: %w", operation, err)
	}
	return fmt.Errorf("registry %s: %w", r, err)
}

// String is where the registry is.
func (r *Registry) String() string {
	if r.shared != nil {
		return r.shared.objects.String()
	}
	return r.dir
}

// make makes the directories where they are missing.
func (r *Registry) make() error {
	if _, err := os.Stat(r.weightsDir()); err == nil {
		return nil
	}
	if err := atomicfile.MakeDirs(r.weightsDir()); err != nil {
		return err
	}
	return errors.Join(atomicfile.SyncDir(filepath.Dir(r.dir)), atomicfile.SyncDir(r.dir))
}

// prepare makes the buckets of a new file, and checks the format of an old one.
func prepare(tx *bbolt.Tx) error {
	if first, _ := tx.Cursor().First(); first != nil {
		return checkFormat(tx)
	}
	if _, err := tx.CreateBucket(bucketModels); err != nil {
		return err
	}
	meta, err := tx.CreateBucket(bucketMeta)
	if err != nil {
		return err
	}
	return meta.Put(keyFormat, strconv.AppendInt(nil, format, 10))
}

func checkFormat(tx *bbolt.Tx) error {
	if first, _ := tx.Cursor().First(); first == nil { // killed before its first transaction
		return ErrNoRegistry
	}
	meta := tx.Bucket(bucketMeta)
	if meta == nil || tx.Bucket(bucketModels) == nil {
		return fmt.Errorf("%w: its file is of another program", ErrFormat)
	}
	value := meta.Get(keyFormat)
	switch n, err := strconv.Atoi(string(value)); {
	case err != nil || n < 1:
		return fmt.Errorf("%w: its format is %.16q", ErrCorrupt, value)
	case n > format:
		return fmt.Errorf("%w: %w", ErrFormat, ergoflow.CheckFormat("it", n, format))
	}
	return nil
}
