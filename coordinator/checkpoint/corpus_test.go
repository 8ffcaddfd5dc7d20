package checkpoint

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/internal/boltfile"
	"github.com/ergoflow/ergoflow/internal/corpus"
)

// Checkpoints that each release has stored are there, whole.
func TestCorpus(t *testing.T) {
	const file = "checkpoints.db"
	corpus.Check(t, "checkpoints",
		func(dir string) {
			s, err := Open(filepath.Join(dir, file), false)
			if err != nil {
				t.Fatal(err)
			}
			save(t, s, "0123456789abcdef", 10, 0.5, payload(1, 300))
			save(t, s, "0123456789abcdef", 20, 0.25, payload(2, 300))
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		},
		func(dir string) any {
			s, err := Open(filepath.Join(dir, file), false)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if err := s.Verify(t.Context()); err != nil {
				t.Error(err)
			}
			list, err := s.List()
			if err != nil {
				t.Fatal(err)
			}
			read := map[string]any{"list": list}
			for _, info := range list {
				_, data, err := s.Read(info.ID)
				if err != nil {
					t.Error(err)
				}
				read[info.ID] = data
			}
			save(t, s, "0123456789abcdef", 30, 0.1, payload(3, 300)) // it can go on
			return read
		})
}

// A file of a later format is refused.
func TestNewerStore(t *testing.T) {
	s := newStore(t)
	if err := s.db.Update(func(tx *bbolt.Tx) error { return boltfile.Stamp(tx, format+1) }); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, readOnly := range []bool{true, false} {
		if _, err := Open(s.Path(), readOnly); !errors.Is(err, ergoflow.ErrNewer) || !strings.Contains(err.Error(), "checkpoints.db has format 2") {
			t.Error(err)
		}
	}
}
