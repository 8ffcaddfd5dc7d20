package state_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"reflect"
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
	file, err := safetensors.Decode(export)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(encoded)
	if got, want := file.Metadata()["sha256"], hex.EncodeToString(sum[:]); got != want {
		t.Errorf("the seal is %s, want that of the stored bytes, %s", got, want)
	}
	if s, err := state.Decode(export, layout); err != nil || !reflect.DeepEqual(s, example()) {
		t.Errorf("error %v, state %+v", err, s)
	}
	if b, err := state.Unseal(export); err != nil || !bytes.Equal(b, encoded) {
		t.Errorf("unsealed bytes are not those of the store, error %v", err)
	}
	if _, err := state.Unseal(encoded); !errors.Is(err, state.ErrUnsealed) {
		t.Errorf("without a seal: %v", err)
	}
}

// A change of any bit, of tensors, header or seal, is refused or leaves the state the
// same. (A letter of the header in the other case may do so.)
func TestBrokenSeal(t *testing.T) {
	want := example()
	export := sealed(t, encode(t, want))
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
