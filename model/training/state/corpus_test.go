package state_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow"
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

// A state of a later format is refused as such.
func TestNewerState(t *testing.T) {
	newer := bytes.Replace(encode(t, golden()), []byte("ergoflow-state-3"), []byte("ergoflow-state-5"), 1)
	if _, err := state.Decode(newer, layout); !errors.Is(err, ergoflow.ErrNewer) || !strings.Contains(err.Error(), "the training state has format 5") {
		t.Error(err)
	}
}
