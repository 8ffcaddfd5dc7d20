package state_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/data/sets/ledger"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/internal/safetensors"
	"github.com/ergoflow/ergoflow/model/network/parameters"
	"github.com/ergoflow/ergoflow/model/training/state"
)

var layout = parameters.Layout{
	{Name: "a.weight", Shape: []int{3, 2}, FanIn: 3},
	{Name: "a.bias", Shape: []int{2}, FanIn: 3},
}

func example() *state.State {
	s := state.Fresh(layout, 4)
	s.Step, s.Run, s.Losses = 2, "abc", []float64{0.5, 0.25}
	for i := range s.M {
		s.M[i], s.V[i] = float32(i), float32(i*i)
	}
	s.Normalisation = shard.Normalisation{"drift": {Mean: 1, Std: 2}, "diffusion": {Mean: 3, Std: 4}}
	s.Config = json.RawMessage(`{"name":"vn1d"}`)
	for step, workers := range [][]ergoflow.WorkerID{{"a"}, {"b", "c"}} {
		used := ledger.NewRecord(2)
		for k := range 2 {
			used.Add(k%len(workers), []ledger.Use{{Shard: k, Word: uint64(1+k) << 62}})
		}
		s.Ledger.Append(ergoflow.Step(step), ergoflow.Generation(1+2*step), workers, used)
	}
	return s
}

func encode(t testing.TB, s *state.State) []byte {
	t.Helper()
	b, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRoundTrip(t *testing.T) {
	rounds := example()
	rounds.Outer = []float32{1, -2, 3, -4, 5, -6, 7, -8}
	for format, want := range map[string]*state.State{"ergoflow-state-3": example(), "ergoflow-state-4": rounds} {
		t.Run(format, func(t *testing.T) { roundTrip(t, want, format) })
	}
}

func roundTrip(t *testing.T, want *state.State, format string) {
	t.Helper()
	encoded := encode(t, want)
	if !bytes.Contains(encoded, []byte(`"format":"`+format+`"`)) {
		t.Errorf("the format is not %s", format)
	}
	got, err := state.Decode(encoded, layout)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if !bytes.Equal(encode(t, got), encoded) {
		t.Error("encoding again gives other bytes")
	}
	if got.ParameterHash() != want.ParameterHash() {
		t.Error("the parameters' hash differs")
	}
	// The decoded state does not live in the bytes.
	clear(encoded)
	if !reflect.DeepEqual(got, want) {
		t.Error("the state changed with the bytes it was decoded from")
	}
	got.Parameters[1]++
	if got.ParameterHash() == want.ParameterHash() {
		t.Error("other parameters have the same hash")
	}
}

func TestCorruptBytesAreRefused(t *testing.T) {
	encoded := encode(t, example())
	for cut := range encoded {
		if _, err := state.Decode(encoded[:cut], layout); !errors.Is(err, state.ErrCorrupt) {
			t.Fatalf("cut to %d of %d bytes: %v", cut, len(encoded), err)
		}
	}
	for name, change := range map[string][2]string{
		"format":  {"ergoflow-state-3", "ergoflow-state-1"},
		"ledger":  {`\"first\":1`, `\"first\":0`},
		"account": {"ledger.users", "ledger.usurs"},
		"scale":   {`\"std\":2`, `\"std\":0`},
		"step":    {`"step":"2"`, `"step":"3"`},
		"no step": {`"step":"2"`, `"step":"x"`},
		"name":    {"adam.v/a.bias", "adam.v/a.bxas"},
		"config":  {`{\"name\"`, `{\"name\\`},
	} {
		if !bytes.Contains(encoded, []byte(change[0])) {
			t.Fatalf("%s: %q is not in the encoding", name, change[0])
		}
		damaged := bytes.Replace(encoded, []byte(change[0]), []byte(change[1]), 1)
		if _, err := state.Decode(damaged, layout); !errors.Is(err, state.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
	nan := append([]byte(nil), encoded...)
	copy(nan[len(nan)-100:], []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	if _, err := state.Decode(nan, layout); !errors.Is(err, state.ErrCorrupt) {
		t.Errorf("NaN: %v, want ErrCorrupt", err)
	}
	other := parameters.Layout{layout[1], layout[0]}
	other[0].Shape = []int{1, 2}
	if _, err := state.Decode(encoded, other); !errors.Is(err, state.ErrCorrupt) {
		t.Errorf("another network: %v, want ErrCorrupt", err)
	}
}

// Every state that Decode accepts is valid and can be encoded. Peers send these bytes.
func FuzzDecode(f *testing.F) {
	encoded, err := example().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(encoded)
	f.Fuzz(decodes)
}

// The same of files that are whole but for what they say of themselves: metadata,
// and the numbers of the ledger, of which a row of the tables has width. What any
// mutation would only break, the format's name and numbers as text, is not mutated.
func FuzzMetadata(f *testing.F) {
	whole, err := safetensors.Decode(encode(f, example()))
	if err != nil {
		f.Fatal(err)
	}
	steps, words := ledgerNumbers(f, whole, "ledger.steps"), ledgerNumbers(f, whole, "ledger.words")
	m := whole.Metadata()
	f.Add(true, int64(2), m["normalisation"], m["config"], m["ledger"], steps, words, uint8(2))
	f.Add(false, int64(2), m["normalisation"], m["config"], "", []byte{}, []byte{}, uint8(0))
	f.Add(true, int64(-1), `{"drift":null}`, `{}`, `[{"first":9000000000000000000}]`, steps[:8], words, uint8(1))
	f.Add(true, int64(2), `{"drift":{"mean":1e308,"std":1e-308}}`, ``, `[{"first":0},{"first":1}]`, steps, words[:8], uint8(1))
	f.Fuzz(func(t *testing.T, ledgered bool, step int64, normalisation, config, stretches string, steps, words []byte, width uint8) {
		steps, words = steps[:len(steps)&^7], words[:len(words)&^7]
		shape := []int{1, len(words) / 8}
		if width > 0 && shape[1]%int(width) == 0 {
			shape = []int{shape[1] / int(width), int(width)}
		}
		format := "ergoflow-state-2"
		if ledgered {
			format = m["format"]
		}
		var tensors []safetensors.Tensor
		for _, tensor := range whole.Tensors() {
			switch tensor.Name {
			case "ledger.steps":
				tensor.Shape, tensor.Data = []int{len(steps) / 8}, steps
			case "ledger.words", "ledger.users":
				tensor.Shape, tensor.Data = shape, words
			}
			if ledgered || !strings.HasPrefix(tensor.Name, "ledger.") {
				tensors = append(tensors, tensor)
			}
		}
		encoded, err := safetensors.Encode(tensors, map[string]string{
			"format": format, "step": strconv.FormatInt(step, 10), "run": "abc", "normalisation": normalisation, "config": config, "ledger": stretches,
		})
		if err != nil {
			return // no such text in a header
		}
		decodes(t, encoded)
	})
}

// ledgerNumbers are the bytes of one of the ledger's tensors.
func ledgerNumbers(f *testing.F, file *safetensors.File, name string) []byte {
	f.Helper()
	tensor, err := file.Tensor(name)
	if err != nil {
		f.Fatal(err)
	}
	return tensor.Data
}

// decodes fails if Decode accepts an invalid state.
func decodes(t *testing.T, b []byte) {
	s, err := state.Decode(b, layout)
	if err != nil {
		if !errors.Is(err, state.ErrCorrupt) {
			t.Fatalf("error %v is not ErrCorrupt", err)
		}
		return
	}
	again, err := state.Decode(encode(t, s), layout)
	if err != nil || again.ParameterHash() != s.ParameterHash() {
		t.Fatalf("decoded a state that cannot be kept: %v", err)
	}
}

func TestEncodeRefusesInvalid(t *testing.T) {
	for name, spoil := range map[string]func(*state.State){
		"short moments":  func(s *state.State) { s.M = s.M[1:] },
		"NaN":            func(s *state.State) { s.Parameters[0] = float32(math.NaN()) },
		"no scale":       func(s *state.State) { s.Normalisation["drift"] = shard.Standard{} },
		"missing losses": func(s *state.State) { s.Step = 3 },
		"missing steps":  func(s *state.State) { s.Ledger.Words = s.Ledger.Words[:1] },
	} {
		s := example()
		spoil(s)
		if _, err := s.Encode(); err == nil {
			t.Errorf("%s: encoded", name)
		}
	}
}

var update = flag.Bool("update", false, "write testdata/state.safetensors")

// The format is fixed: the bytes of a state made with the first release are
// still what Encode writes and Decode reads. testdata/read.py reads them with
// Python's safetensors.
func TestGoldenFile(t *testing.T) {
	path := filepath.Join("testdata", "state.safetensors")
	if *update {
		if err := os.WriteFile(path, encode(t, golden()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := encode(t, golden()); !bytes.Equal(got, want) {
		t.Errorf("the encoding changed: %d bytes, want %d", len(got), len(want))
	}
	s, err := state.Decode(want, layout)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(s, golden()) {
		t.Errorf("decoded %+v", s)
	}
}

// States of version 2, which had no ledger, are read.
func TestStateWithoutLedger(t *testing.T) {
	encoded, err := os.ReadFile(filepath.Join("testdata", "state-2.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := state.Decode(encoded, layout)
	if err != nil {
		t.Fatal(err)
	}
	want := golden()
	want.Ledger = ledger.Ledger{}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("decoded %+v", got)
	}
}

// golden does not depend on how parameters are initialised.
func golden() *state.State {
	s := example()
	for i := range s.Parameters {
		s.Parameters[i] = float32(i) / 8
	}
	return s
}
