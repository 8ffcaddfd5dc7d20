package registry

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/bbolt"

	"github.com/ergoflow/ergoflow"
)

// A change is one entry of registry.db that a transaction has set or removed. It says what
// is in the file, not what was asked for, so that every machine has the same file.
type change struct {
	In    [][]byte `json:"in"`              // names of the buckets around it, the outermost first
	Key   []byte   `json:"key,omitempty"`   // empty: the bucket itself is made
	Value []byte   `json:"value,omitempty"` // of the key
	Gone  bool     `json:"gone,omitempty"`  // the key is removed
}

const maxDepth = 4 // buckets around an entry

// entry is an entry of registry.db, or a bucket, without its value.
type entry struct {
	in  [][]byte
	key []byte // nil: a bucket
	sum [sha256.Size]byte
}

// path names an entry. Names and keys may have any bytes.
func (e entry) path() string {
	var b strings.Builder
	for _, part := range append(slices.Clone(e.in), e.key) {
		fmt.Fprintf(&b, "%d:%s", len(part), part)
	}
	return fmt.Sprintf("%t%s", e.key == nil, &b)
}

// walk visits all entries of registry.db but those of the replica itself.
func walk(tx *bbolt.Tx, visit func(e entry, value []byte) error) error {
	return tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
		if string(name) == string(bucketReplica) {
			return nil
		}
		return walkIn(b, [][]byte{slices.Clone(name)}, visit)
	})
}

func walkIn(b *bbolt.Bucket, in [][]byte, visit func(e entry, value []byte) error) error {
	if err := visit(entry{in: in}, nil); err != nil {
		return err
	}
	return b.ForEach(func(k, value []byte) error {
		if value == nil {
			return walkIn(b.Bucket(k), append(slices.Clone(in), slices.Clone(k)), visit)
		}
		return visit(entry{in, slices.Clone(k), sha256.Sum256(value)}, value)
	})
}

// content is what registry.db has, by path.
func content(tx *bbolt.Tx) (map[string]entry, error) {
	all := make(map[string]entry)
	return all, walk(tx, func(e entry, _ []byte) error {
		all[e.path()] = e
		return nil
	})
}

// since are the changes from an earlier content to the present one. It empties before.
func since(before map[string]entry, tx *bbolt.Tx) (changes []change, err error) {
	err = walk(tx, func(e entry, value []byte) error {
		path := e.path()
		old, known := before[path]
		delete(before, path)
		if !known || old.sum != e.sum {
			changes = append(changes, change{In: e.in, Key: e.key, Value: slices.Clone(value)})
		}
		return nil
	})
	for _, gone := range before { // buckets are never removed
		changes = append(changes, change{In: gone.in, Key: gone.key, Gone: true})
	}
	return changes, err
}

// apply makes changes in a transaction.
func apply(tx *bbolt.Tx, changes []change) error {
	for _, c := range changes {
		if len(c.In) == 0 || len(c.In) > maxDepth || string(c.In[0]) == string(bucketReplica) {
			return corrupt("a change of the bucket %.80q", c.In)
		}
		b, err := tx.CreateBucketIfNotExists(c.In[0])
		for _, name := range c.In[1:] {
			if err == nil {
				b, err = b.CreateBucketIfNotExists(name)
			}
		}
		switch {
		case err != nil:
		case len(c.Key) == 0:
		case c.Gone:
			err = b.Delete(c.Key)
		default:
			err = b.Put(c.Key, c.Value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// transaction is a record of a registry in a bucket: what one operation changed.
type transaction struct {
	Format    int      `json:"format"`
	Before    string   `json:"before"` // SHA-256 of the record before; empty: it is the first
	Operation string   `json:"operation"`
	Changes   []change `json:"changes"`
}

func readTransaction(n int, record []byte) (t transaction, err error) {
	if err := json.Unmarshal(record, &t); err != nil {
		return t, corrupt("record %d: %w", n, err)
	}
	if err := ergoflow.CheckFormat(fmt.Sprintf("record %d", n), t.Format, format); err != nil {
		return t, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if t.Format != format {
		return t, fmt.Errorf("%w: record %d has format %d, and this program reads %d", ErrFormat, n, t.Format, format)
	}
	return t, nil
}
