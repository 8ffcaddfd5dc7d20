package state_test

import (
	"testing"

	"github.com/ergoflow/ergoflow/internal/corpus"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// Training states and exports that each release has written are read.
func TestCorpus(t *testing.T) {
	rounds := golden()
	rounds.Outer = make([]float32, len(rounds.M))
	for i := range rounds.Outer {
		rounds.Outer[i] = float32(i) / 4
	}
	files := map[string]*state.State{"state.safetensors": golden(), "rounds.safetensors": rounds}
	corpus.Check(t, "state",
		func(dir string) {
			for name, s := range files {
				corpus.Put(t, dir, name, encode(t, s))
			}
			sealed, err := state.Seal(encode(t, golden()))
			if err != nil {
				t.Fatal(err)
			}
			corpus.Put(t, dir, "export.safetensors", sealed)
		},
		func(dir string) any {
			read := make(map[string]any)
			for _, name := range []string{"state.safetensors", "rounds.safetensors", "export.safetensors"} {
				s, err := state.Decode(corpus.Get(t, dir, name), layout)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				read[name] = s
			}
			return read
		})
}
