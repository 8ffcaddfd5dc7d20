package gossip

import (
	"encoding/json"
	"testing"

	"github.com/ergoflow/ergoflow/internal/corpus"
)

// What members of each release say of themselves is understood.
func TestCorpus(t *testing.T) {
	members := map[string]Meta{
		"coordinator.json": {Role: RoleCoordinator, ControlAddress: "10.0.0.1:7070", Version: "0.1.0+1c73bc2a4f3e", Started: 1_700_000_000_000_000_007, Term: 3},
		"worker.json":      {Role: RoleWorker, DataAddress: "[::1]:7071", Device: "xla:cpu", Version: "0.1.0", Started: 1},
	}
	corpus.Check(t, "gossip",
		func(dir string) {
			for name, m := range members {
				b, err := json.Marshal(m)
				if err != nil {
					t.Fatal(err)
				}
				corpus.Put(t, dir, name, b)
			}
		},
		func(dir string) any {
			read := make(map[string]Meta)
			for name := range members {
				m, err := decodeMeta(corpus.Get(t, dir, name))
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				read[name] = m
			}
			return read
		})
}
