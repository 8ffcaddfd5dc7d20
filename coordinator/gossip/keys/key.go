package keys

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
)

// Size of a key in bytes: AES-256.
const Size = 32

// ErrKey: bytes are no key.
var ErrKey = errors.New("not a key of the gossip")

// Key encrypts gossip. Nothing prints it: it is behind a function, since fmt does not ask
// Format in fields that are not exported, and prints what pointers point to. The zero Key is
// none.
type Key struct{ reveal func() [Size]byte }

// New draws a key.
func New() Key {
	var b [Size]byte
	rand.Read(b[:]) // never fails
	return Key{func() [Size]byte { return b }}
}

// Of is the key that Bytes has written.
func Of(b []byte) (Key, error) {
	if len(b) != Size {
		return Key{}, fmt.Errorf("%w: %d bytes, not %d", ErrKey, len(b), Size)
	}
	own := [Size]byte(b)
	return Key{func() [Size]byte { return own }}, nil
}

// Bytes is the key itself, for what encrypts, for the ledger, and for sessions over TLS.
func (k Key) Bytes() []byte {
	if k.reveal == nil {
		return nil
	}
	b := k.reveal()
	return b[:]
}

// Equal reports that two keys are the same.
func (k Key) Equal(other Key) bool { return subtle.ConstantTimeCompare(k.Bytes(), other.Bytes()) == 1 }

// String names the key by the beginning of its hash, which says nothing of the key.
func (k Key) String() string {
	if k.reveal == nil {
		return "no key"
	}
	sum := sha256.Sum256(append([]byte("ergoflow gossip key"), k.Bytes()...))
	return "key " + hex.EncodeToString(sum[:4])
}

// Format is String for every verb.
func (k Key) Format(f fmt.State, _ rune) { fmt.Fprint(f, k.String()) }

// MarshalText refuses, so that no JSON has a key by accident.
func (Key) MarshalText() ([]byte, error) { return nil, errors.New("a key is not written as text") }
