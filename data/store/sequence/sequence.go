// Package sequence is a list of records in a store of objects, to which many machines append.
//
// Record n is put where there is none, so one writer alone appends it, and the others see that.
// Records are never removed: a writer that has slept could put the number again. Each carries its
// own SHA-256 and a number that its writer drew, so that a store that lies is noticed, and a
// writer whose answer was lost knows its own record.
//
//	<prefix>/record/<n>      record n, from 1
//	<prefix>/snapshot/<n>    what records 1 to n amount to, for readers that begin
package sequence

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ergoflow/ergoflow/data/store"
)

var (
	// ErrTaken: another writer has appended this record.
	ErrTaken = errors.New("the record is another writer's")
	// ErrEnd: there is no such record yet.
	ErrEnd = errors.New("there is no record yet")
	// ErrCorrupt: a record is not what was put.
	ErrCorrupt = errors.New("damaged record")
	// ErrLarge: a record is longer than one put can exclude others from.
	ErrLarge = errors.New("the record is too large")
)

// MaxRecord bounds a record, in bytes.
const MaxRecord = store.Exclusive - headSize

const (
	sumSize    = 2 * sha256.Size // hexadecimal
	nonceSize  = 26
	headSize   = sumSize + nonceSize + 2 // two line feeds
	recordsDir = "/record/"
	snapshots  = "/snapshot/"
)

// Sequence is safe for concurrent use.
type Sequence struct {
	store  store.Store
	prefix string
}

// New uses a store, which the caller closes. The prefix is one of keys.
func New(s store.Store, prefix string) *Sequence { return &Sequence{s, prefix} }

// String names the store.
func (q *Sequence) String() string { return q.store.String() }

func (q *Sequence) key(n int) string { return q.prefix + recordsDir + strconv.Itoa(n) }

// wrap adds checksum and nonce to a content.
func wrap(content []byte) []byte {
	body := slices.Concat([]byte(rand.Text()+"\n"), content)
	sum := sha256.Sum256(body)
	return slices.Concat([]byte(hex.EncodeToString(sum[:])+"\n"), body)
}

// unwrap is the inverse of wrap; false: it is damaged.
func unwrap(wrapped []byte) (content []byte, ok bool) {
	if len(wrapped) < headSize || wrapped[sumSize] != '\n' || wrapped[sumSize+1+nonceSize] != '\n' {
		return nil, false
	}
	sum := sha256.Sum256(wrapped[sumSize+1:])
	return wrapped[headSize:], hex.EncodeToString(sum[:]) == string(wrapped[:sumSize])
}

// Append puts record n, whose writer has read those before. It fails with ErrTaken where another
// writer was first. After any other error the record may be there: the next Read says so.
func (q *Sequence) Append(ctx context.Context, n int, content []byte) error {
	if len(content) > MaxRecord {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrLarge, len(content), MaxRecord)
	}
	wrapped := wrap(content)
	err := q.store.Put(ctx, q.key(n), bytes.NewReader(wrapped), int64(len(wrapped)))
	if !errors.Is(err, store.ErrExists) {
		return err
	}
	there, err := q.get(ctx, q.key(n))
	if err != nil {
		return err
	}
	if bytes.Equal(there, wrapped) { // an earlier attempt, whose answer was lost
		return nil
	}
	return fmt.Errorf("record %d in %s: %w", n, q, ErrTaken)
}

// Read reads record n: ErrEnd where there is none yet, ErrCorrupt where it is damaged.
func (q *Sequence) Read(ctx context.Context, n int) ([]byte, error) { return q.read(ctx, q.key(n)) }

func (q *Sequence) read(ctx context.Context, key string) ([]byte, error) {
	wrapped, err := q.get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("%w: %w", ErrEnd, err)
	}
	if err != nil {
		return nil, err
	}
	content, ok := unwrap(wrapped)
	if !ok {
		return nil, fmt.Errorf("%s in %s: %w", key, q, ErrCorrupt)
	}
	return content, nil
}

// get reads a whole object.
func (q *Sequence) get(ctx context.Context, key string) ([]byte, error) {
	o, err := q.store.Stat(ctx, key)
	if err != nil {
		return nil, err
	}
	if o.Bytes > store.MaxBytes {
		return nil, fmt.Errorf("%s in %s: %w: %d bytes", key, q, ErrCorrupt, o.Bytes)
	}
	return store.Read(ctx, q.store, key, o.Bytes)
}

// PutSnapshot puts what records 1 to n amount to, unless another has.
func (q *Sequence) PutSnapshot(ctx context.Context, n int, content []byte) error {
	wrapped := wrap(content)
	err := q.store.Put(ctx, q.prefix+snapshots+strconv.Itoa(n), bytes.NewReader(wrapped), int64(len(wrapped)))
	if errors.Is(err, store.ErrExists) {
		return nil
	}
	return err
}

// Snapshot reads the newest snapshot that is whole; 0 if there is none.
func (q *Sequence) Snapshot(ctx context.Context) (n int, content []byte, err error) {
	list, err := q.store.List(ctx, q.prefix+snapshots)
	if err != nil {
		return 0, nil, err
	}
	for most := math.MaxInt; ; most = n {
		n = 0
		for _, o := range list {
			if at, err := strconv.Atoi(strings.TrimPrefix(o.Key, q.prefix+snapshots)); err == nil && at < most {
				n = max(n, at)
			}
		}
		if n == 0 {
			return 0, nil, nil
		}
		content, err = q.read(ctx, q.prefix+snapshots+strconv.Itoa(n))
		if !errors.Is(err, ErrCorrupt) {
			return n, content, err
		}
	}
}
