package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/internal/boltfile"
	"github.com/ergoflow/ergoflow/model/network/parameters"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// weights are the encoded state of a small network that follows from a seed.
func weights(t testing.TB, seed int) []byte {
	t.Helper()
	st := state.Fresh(parameters.Layout{{Name: "a.weight", Shape: []int{40, 30}, FanIn: 3}}, uint64(seed))
	st.Run = "run" + strconv.Itoa(seed)
	st.Normalisation = shard.Normalisation{"drift": {Mean: 1, Std: 2}}
	st.Config = json.RawMessage(`{"name":"vn1d","preset":"smoke","data":{"family":"vn1d","functions":64}}`)
	encoded, err := st.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

func open(t testing.TB, dir string) *Registry {
	t.Helper()
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// add adds a version of model whose key and weights follow from a seed.
func add(t testing.TB, r *Registry, model string, seed int) Version {
	t.Helper()
	v, err := r.Add(t.Context(), example(model, seed), weights(t, seed))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func example(model string, seed int) Version {
	w2 := 0.1 / float64(1+seed)
	return Version{
		Model: model, Key: "retraining " + strconv.Itoa(seed), Experiment: "vn1d/smoke", Step: ergoflow.Step(seed), Run: "run", Dataset: "data",
		Seeds:   map[string]uint64{"training": uint64(seed), "data": 1 << 63},
		Metrics: map[string]Metric{"w2": {Value: w2, Low: w2 / 2, High: 2 * w2, Level: 0.95, Functions: 32}},
		Reasons: []string{"better in w2"}, Decision: "promoted", By: "retrain", HeldOut: "held", Imports: []string{"a", "b"},
	}
}

func verified(t testing.TB, r *Registry) Verified {
	t.Helper()
	found, err := r.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestAdd(t *testing.T) {
	r := open(t, filepath.Join(t.TempDir(), "a", "registry"))
	if _, err := r.List(t.Context(), ""); !errors.Is(err, ErrNoRegistry) {
		t.Errorf("before the first version: %v", err)
	}
	first := add(t, r, "vn1d", 1)
	if again := add(t, r, "vn1d", 1); first.Number != 1 || !reflect.DeepEqual(again, first) {
		t.Errorf("the same key again: %+v, first %+v", again, first)
	}
	other := example("vn1d", 2)
	other.Key = ""
	for n := 2; n <= 3; n++ { // equal weights without a key: two versions, one file
		if v, err := r.Add(t.Context(), other, weights(t, 2)); err != nil || v.Number != n {
			t.Fatalf("%+v, %v", v, err)
		}
	}
	add(t, r, "rare1d", 1)
	got, err := r.Get(t.Context(), "vn1d@1")
	if err != nil || !reflect.DeepEqual(got, first) {
		t.Errorf("%+v, error %v, want %+v", got, err, first)
	}
	want := example("vn1d", 1)
	want.Number, want.Created, want.Weights, want.Build, want.Config, want.Aliases = 1, got.Created, got.Weights, ergoflow.Build(), got.Config, []string{}
	if !reflect.DeepEqual(got, want) || !json.Valid(got.Config) || got.Created.IsZero() {
		t.Errorf("%+v, want %+v", got, want)
	}
	loaded, err := r.Load(t.Context(), got)
	if sealed, _ := state.Seal(weights(t, 1)); err != nil || !bytes.Equal(loaded, sealed) {
		t.Errorf("the weights differ from the export of the state, error %v", err)
	}
	all, err := r.List(t.Context(), "")
	if err != nil || len(all) != 4 || all[0].Model != "rare1d" || all[3].Number != 3 || all[1].Config != nil {
		t.Errorf("error %v, list %+v", err, all)
	}
	if found := verified(t, r); found.Models != 2 || found.Versions != 4 || found.Weights != 2 || len(found.LeftOver) > 0 {
		t.Errorf("%+v", found)
	}
}

func TestNames(t *testing.T) {
	r := open(t, t.TempDir())
	add(t, r, "vn1d", 1)
	if err := r.SetAlias(t.Context(), "vn1d", 1, "challenger", "me"); err != nil {
		t.Fatal(err)
	}
	for ref, word := range map[string]string{
		"vn1d@challenger": "", "vn1d@1": "",
		"vn1d":        `alias "champion" of model vn1d not found; there is challenger`,
		"vn1d@2":      "version vn1d@2 not found; it has 1, from 1 to 1",
		"rare1d":      `model "rare1d" not found; there is vn1d`,
		"vn1d@":       "names neither an alias nor a number",
		"vn1d@+1":     "names neither an alias nor a number",
		"vn1d@0":      "names neither an alias nor a number",
		"../vn1d@1":   "is no name of a model",
		"weights@1":   "as a file of the registry is",
		"vn1d@a@b":    "names neither an alias nor a number",
		"@champion":   "is no name of a model",
		"vn1d@\x1b[2": "names neither an alias nor a number",
	} {
		model, number, err := r.Resolve(t.Context(), ref)
		if word == "" && (err != nil || model != "vn1d" || number != 1) || word != "" && (err == nil || !strings.Contains(err.Error(), word)) {
			t.Errorf("%q: %s %d, error %v, want %q", ref, model, number, err, word)
		}
	}
	for name, v := range map[string]Version{
		"name":   {Model: "a/b"},
		"metric": {Model: "a", Metrics: map[string]Metric{"w2": {Value: nan()}}},
		"tag":    {Model: "a", Tags: map[string]string{"a b": "c"}},
		"text":   {Model: "a", Run: strings.Repeat("a", 300)},
		"length": {Model: "a", Reasons: []string{strings.Repeat("a", maxDetails)}},
	} {
		if _, err := r.Add(t.Context(), v, weights(t, 1)); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := r.Add(t.Context(), Version{Model: "a"}, []byte("no state")); !errors.Is(err, state.ErrCorrupt) {
		t.Errorf("no state: %v", err)
	}
	if found := verified(t, r); found.Models != 1 || found.Versions != 1 {
		t.Errorf("what was refused left %+v", found)
	}
}

// A registry of another program, or of a newer one, is refused by readers and writers, and
// stays as it is.
func TestFormat(t *testing.T) {
	for value, want := range map[string]error{"2": ErrFormat, "x": ErrCorrupt, "": ErrFormat} {
		dir := t.TempDir()
		r := open(t, dir)
		add(t, r, "vn1d", 1)
		db, err := boltfile.Open(databasePath(dir), false)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Update(func(tx *bbolt.Tx) error {
			if value == "" {
				return tx.DeleteBucket(bucketMeta)
			}
			return tx.Bucket(bucketMeta).Put(keyFormat, []byte(value))
		}); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		_, reads := r.List(t.Context(), "")
		_, adds := r.Add(t.Context(), example("vn1d", 2), weights(t, 2))
		pins := r.Pin(t.Context(), "vn1d", 1, true)
		for _, err := range []error{reads, adds, pins} {
			if !errors.Is(err, want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("format %q: %v", value, err)
			}
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file); !errors.Is(err, ErrInvalid) {
		t.Errorf("a file: %v", err)
	}
}

func nan() float64 { var zero float64; return zero / zero }
