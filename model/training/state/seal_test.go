package state_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/internal/safetensors"
	"github.com/ergoflow/ergoflow/model/training/state"
)

func sealed(t *testing.T, encoded []byte) []byte {
	t.Helper()
	b, err := state.Seal(encoded)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSeal(t *testing.T) {
	encoded := encode(t, example())
	export := sealed(t, encoded)
	if !bytes.Equal(export, sealed(t, encoded)) || !bytes.Equal(export, sealed(t, export)) {
		t.Error("the same state has other bytes when it is sealed again")
	}
	if s, err := state.Decode(export, layout); err != nil || !reflect.DeepEqual(s, example()) {
		t.Errorf("error %v, state %+v", err, s)
	}
	if b, err := state.Unseal(export, layout); err != nil || !bytes.Equal(b, encoded) {
		t.Errorf("unsealed bytes are not those of the store, error %v", err)
	}
	if _, err := state.Unseal(encoded, layout); !errors.Is(err, state.ErrUnsealed) {
		t.Errorf("without a seal: %v", err)
	}
}

// An export is the same state in any order of its file: written by Seal, written again by
// Python (testdata/rewrite.py), and written by builds before content_sha256. Sealed and
// unsealed again all have the same bytes.
func TestSealIsOfTheContent(t *testing.T) {
	stored := encode(t, golden())
	if *update {
		if err := os.WriteFile(filepath.Join("testdata", "export.safetensors"), sealed(t, stored), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"export", "rewritten", "export-1"} {
		export, err := os.ReadFile(filepath.Join("testdata", name+".safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		if s, err := state.Decode(export, layout); err != nil || !reflect.DeepEqual(s, golden()) {
			t.Errorf("%s: error %v, state %+v", name, err, s)
		}
		b, err := state.Unseal(export, layout)
		if err != nil || !bytes.Equal(b, stored) {
			t.Errorf("%s: unsealed bytes are not those of the store, error %v", name, err)
		}
		if again := sealed(t, b); name == "export" && !bytes.Equal(again, export) {
			t.Errorf("%s: sealed again it has other bytes", name)
		}
		if name == "export-1" { // its seal is of the stored bytes
			sum := sha256.Sum256(stored)
			if !bytes.Contains(export, []byte(hex.EncodeToString(sum[:]))) {
				t.Error("the old seal is another")
			}
		}
		if name == "rewritten" {
			brokenSeal(t, export, golden())
		}
	}
}

// A tensor or a text that changes places with another is a change.
func TestSealOfSwappedParts(t *testing.T) {
	file, err := safetensors.Decode(sealed(t, encode(t, golden())))
	if err != nil {
		t.Fatal(err)
	}
	tensors := slices.Clone(file.Tensors())
	tensors[0].Name, tensors[2].Name = tensors[2].Name, tensors[0].Name // a.weight of parameters and of Adam
	swapped, err := safetensors.Encode(tensors, file.Metadata())
	if err != nil {
		t.Fatal(err)
	}
	metadata := maps.Clone(file.Metadata())
	metadata["run"], metadata["step"] = metadata["run"]+metadata["step"], ""
	moved, err := safetensors.Encode(file.Tensors(), metadata)
	if err != nil {
		t.Fatal(err)
	}
	for name, export := range map[string][]byte{"tensors": swapped, "metadata": moved} {
		if _, err := state.Decode(export, layout); !errors.Is(err, state.ErrCorrupt) || !strings.Contains(err.Error(), "SHA-256") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A change of any bit, of tensors, header or seal, is refused or leaves the state the
// same. (A letter of the header in the other case may do so.)
func TestBrokenSeal(t *testing.T) {
	brokenSeal(t, sealed(t, encode(t, example())), example())
}

func brokenSeal(t *testing.T, export []byte, want *state.State) {
	for i := range export {
		for bit := range 8 {
			damaged := bytes.Clone(export)
			damaged[i] ^= 1 << bit
			s, err := state.Decode(damaged, layout)
			if err == nil && !reflect.DeepEqual(s, want) || err != nil && !errors.Is(err, state.ErrCorrupt) {
				t.Fatalf("bit %d of byte %d (%q): error %v, want ErrCorrupt", bit, i, export[max(i-9, 0):i+1], err)
			}
			if config, err := state.Config(damaged); err == nil && !bytes.Equal(config, want.Config) || err != nil && !errors.Is(err, state.ErrCorrupt) {
				t.Fatalf("bit %d of byte %d (%q): configuration %s, error %v, want ErrCorrupt", bit, i, export[max(i-9, 0):i+1], config, err)
			}
		}
	}
}
