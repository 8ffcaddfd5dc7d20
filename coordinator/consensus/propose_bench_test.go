package consensus

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/ergoflow/ergoflow/internal/boltfile"
)

// entryBytes is more than the ledger of a run with eight workers takes.
const entryBytes = 4096

// ledgerIn returns a function that writes an entry to a file as a ledger does: durably.
func ledgerIn(b *testing.B) func(entry []byte) error {
	db, err := boltfile.Open(filepath.Join(b.TempDir(), "ledger.db"), false)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	return func(entry []byte) error {
		return db.Update(func(tx *bbolt.Tx) error {
			bucket, err := tx.CreateBucketIfNotExists([]byte("ledger"))
			if err == nil {
				err = bucket.Put([]byte("run"), entry)
			}
			return err
		})
	}
}

// BenchmarkAlone writes an entry as one coordinator does: a generation begins after it.
func BenchmarkAlone(b *testing.B) {
	write, entry := ledgerIn(b), bytes.Repeat([]byte("x"), entryBytes)
	for b.Loop() {
		if err := write(entry); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPropose writes it as several coordinators on this machine's disk do: a majority has it
// in its logs, and the one that leads in its ledger.
func BenchmarkPropose(b *testing.B) {
	for _, n := range []int{3, 5} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			members := cluster(b, n)
			for _, m := range members {
				write := ledgerIn(b)
				m.state.mu.Lock()
				m.state.write = write
				m.state.mu.Unlock()
			}
			_, term := leader(b, members...)
			entry := bytes.Repeat([]byte("x"), entryBytes)
			for b.Loop() {
				if err := term.Propose(entry); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
