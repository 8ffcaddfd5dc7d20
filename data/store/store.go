// Package store keeps objects for machines that share no directory: in a JetStream stream of
// NATS or in a bucket of S3.
//
// An object is bytes under a key. It appears complete or not at all, and it does not change:
// putting is refused where the key is taken. So a writer commits by one put, and of several
// writers one wins. Keys are made by the program; the prefix of a bucket is the user's.
//
// Stores repeat what fails for a moment, with growing, random pauses. They check nothing of the
// content: who reads an object compares it with a hash that is kept elsewhere.
package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Store keeps objects. It is safe for concurrent use.
type Store interface {
	// Put stores size bytes of content under a key. It fails with ErrExists where the key is
	// taken, also by an earlier attempt of the same put whose answer was lost. It reads content
	// at any place, several times if need be, and not after it returns. A put that fails or is
	// cancelled leaves nothing that a reader sees. Of more than Exclusive bytes, puts of one key
	// at the same time may all succeed: not every server of S3 refuses the others. So the key of
	// a large object says what is in it.
	Put(ctx context.Context, key string, content io.ReaderAt, size int64) error
	// Get reads length bytes from offset on, which the object must have. It fails with
	// ErrNotFound. The reader ends with an error, not with io.EOF, where bytes are missing.
	Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error)
	// Stat describes an object; ErrNotFound if there is none.
	Stat(ctx context.Context, key string) (Object, error)
	// List describes the objects whose keys begin with prefix, sorted by key.
	List(ctx context.Context, prefix string) ([]Object, error)
	// Delete removes an object; one that is not there is no error.
	Delete(ctx context.Context, key string) error
	// Sweep removes what puts left that began before a time and were interrupted, and returns
	// how many they were. No reader sees any of it. In a bucket that others use, too, it is of
	// keys that begin with prefix.
	Sweep(ctx context.Context, prefix string, before time.Time) (puts int, err error)
	// String names the store to people, without secrets.
	String() string
	// Close ends its connections.
	Close() error
}

// Object describes an object.
type Object struct {
	Key   string
	Bytes int64
	Made  time.Time // by the store's clock
}

var (
	// ErrExists means that a key is taken.
	ErrExists = errors.New("the object exists")
	// ErrNotFound means that there is no object with that key.
	ErrNotFound = errors.New("object not found")
	// ErrGone means that the bucket is not there.
	ErrGone = errors.New("the bucket does not exist")
	// ErrDenied means that the store does not accept the credentials, or not for this.
	ErrDenied = errors.New("access denied")
	// ErrFull means that the store has no room.
	ErrFull = errors.New("the store is full")
	// ErrKey means that a key is none.
	ErrKey = errors.New("refused key")
	// ErrRange means that an object does not have the bytes that a reader asks for.
	ErrRange = errors.New("the object does not have these bytes")
	// ErrUnsafe means that a store lets a put replace an object.
	ErrUnsafe = errors.New("the store does not refuse to replace an object")
)

const (
	maxKey  = 256     // bytes
	maxList = 1 << 20 // objects
	// Exclusive is the most bytes of an object of which one put alone succeeds.
	Exclusive = partBytes
	// MaxBytes bounds an object. S3 takes 10,000 parts of partBytes.
	MaxBytes = 10_000 * partBytes
)

// CheckKey refuses keys that some store would change or take for another: a key has parts of
// letters, digits, '.', '_' and '-' with '/' between, and no part begins with a '.'.
func CheckKey(key string) error {
	if len(key) > maxKey {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrKey, len(key), maxKey)
	}
	for part := range strings.SplitSeq(key, "/") {
		if part == "" || part[0] == '.' || !isPlain(part) {
			return fmt.Errorf("%w: %q", ErrKey, key)
		}
	}
	return nil
}

// checkPrefix refuses what no key begins with; an empty prefix is of all.
func checkPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	return CheckKey(strings.TrimSuffix(prefix, "/"))
}

func isPlain(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

func checkPut(key string, size int64) error {
	if size < 0 || size > MaxBytes {
		return fmt.Errorf("%s: %d bytes: want 0 to %d", key, size, int64(MaxBytes))
	}
	return CheckKey(key)
}

func checkGet(key string, offset, length int64) error {
	if offset < 0 || length < 0 || offset > MaxBytes || length > MaxBytes {
		return fmt.Errorf("%s: %w: %d from %d on", key, ErrRange, length, offset)
	}
	return CheckKey(key)
}

// Probe puts an object twice and deletes it. It fails with ErrUnsafe where the second put is
// not refused: two writers of one key would both believe that they won.
func Probe(ctx context.Context, s Store, name string) error {
	key := "probe/" + name
	if err := s.Put(ctx, key, strings.NewReader("a"), 1); err != nil {
		return fmt.Errorf("%s: cannot write: %w", s, err)
	}
	second := s.Put(ctx, key, strings.NewReader("b"), 1)
	if err := s.Delete(ctx, key); err != nil {
		return fmt.Errorf("%s: cannot delete: %w", s, err)
	}
	switch {
	case second == nil:
		return fmt.Errorf("%s: %w", s, ErrUnsafe)
	case !errors.Is(second, ErrExists):
		return fmt.Errorf("%s: cannot write: %w", s, second)
	}
	return nil
}
