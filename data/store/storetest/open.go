package storetest

import (
	"testing"

	"github.com/ergoflow/ergoflow/data/store"
)

// Open opens the store at a location until the test ends.
func Open(t *testing.T, location string, o store.Options) store.Store {
	t.Helper()
	l, err := store.Parse(location)
	if err != nil {
		t.Fatal(err)
	}
	var s store.Store
	if err := Await(t.Context(), func() (err error) { // servers that elect a leader do not answer
		s, err = store.Open(t.Context(), l, o)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}
