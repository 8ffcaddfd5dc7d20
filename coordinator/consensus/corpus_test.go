package consensus

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"go.etcd.io/bbolt"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/internal/boltfile"
	"github.com/ergoflow/ergoflow/internal/corpus"
)

// The log of a member, as each release has written it, is read, with its votes and its identity.
func TestCorpus(t *testing.T) {
	at := time.Unix(1_700_000_000, 0).UTC()
	corpus.Check(t, "raft",
		func(dir string) {
			l, err := openLog(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer l.close()
			if _, _, _, err := l.identity(); err != nil {
				t.Fatal(err)
			}
			if err := l.setAddress("10.0.0.1:7070"); err != nil {
				t.Fatal(err)
			}
			if err := l.StoreLogs([]*raft.Log{
				{Index: 1, Term: 1, Type: raft.LogNoop, AppendedAt: at},
				{Index: 2, Term: 1, Type: raft.LogCommand, Data: seal(1, []byte(`[{"bucket":"Yg==","key":"aw==","value":"dg=="}]`)), Extensions: []byte{1}, AppendedAt: at},
			}); err != nil {
				t.Fatal(err)
			}
			if err := l.SetUint64([]byte("CurrentTerm"), 7); err != nil {
				t.Fatal(err)
			}
			if err := l.Set([]byte("LastVoteCand"), []byte("10.0.0.2:7070")); err != nil {
				t.Fatal(err)
			}
		},
		func(dir string) any {
			l, err := openLog(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer l.close()
			id, address, starts, err := l.identity()
			if err != nil {
				t.Fatal(err)
			}
			first, last := must(l.FirstIndex())(t), must(l.LastIndex())(t)
			entries := make([]raft.Log, last-first+1)
			for i := range entries {
				if err := l.GetLog(first+uint64(i), &entries[i]); err != nil {
					t.Fatal(err)
				}
			}
			return map[string]any{
				"id": id, "address": address, "starts": starts, "entries": entries,
				"term": must(l.GetUint64([]byte("CurrentTerm")))(t), "vote": must(l.Get([]byte("LastVoteCand")))(t),
				"begun": must(l.hasBegun())(t),
			}
		})
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// A log of a later format is refused.
func TestNewerLog(t *testing.T) {
	dir := t.TempDir()
	l, err := openLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	err = l.update("stamp", func(tx *bbolt.Tx) error { return boltfile.Stamp(tx, logFormat+1) })
	if err := errors.Join(err, l.close()); err != nil {
		t.Fatal(err)
	}
	if _, err := openLog(dir); !errors.Is(err, ergoflow.ErrNewer) || !strings.Contains(err.Error(), "raft.db has format 2") {
		t.Error(err)
	}
}
