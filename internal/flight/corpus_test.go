package flight

import (
	"bytes"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/internal/corpus"
)

// Dumps of each release are read: processes of several leave them side by side.
func TestCorpus(t *testing.T) {
	at := time.Unix(1_700_000_000, 5).UTC()
	corpus.Check(t, "flight",
		func(dir string) {
			d := Dump{
				Header: Header{Format: Format, Process: Identity{Role: Worker, Host: "h", PID: 7, Version: "0.1.0", Began: at}, Run: "abc", Occasion: "lost", At: at, Since: 9},
				Records: []Record{
					{Seq: 1, Wall: at, Since: 1.5, Kind: Stepped, Generation: 2, Step: 3, Rank: 1, Value: 0.5, Phases: Phases{Data: 1, Gradient: 2}},
					{Seq: 2, Wall: at, Since: 2, Kind: Waits, Worker: "b", Peer: "c", Chunk: 4, PID: 8, Members: "a b", Seconds: 3, Limit: 4, Text: "why"},
				},
			}
			b, err := d.Encode()
			if err != nil {
				t.Fatal(err)
			}
			corpus.Put(t, dir, "dump", b)
		},
		func(dir string) any {
			d, err := Read(bytes.NewReader(corpus.Get(t, dir, "dump")))
			if err != nil {
				t.Fatal(err)
			}
			return d
		})
}
