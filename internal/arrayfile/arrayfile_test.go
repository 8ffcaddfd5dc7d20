package arrayfile

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var shapes = map[string]Samples{
	"line":    Line([]float64{0.5, -1, float64(float32(0.1))}),
	"chains":  {Data: []float64{1, 2, 3, 4, 5, 6.5}, Columns: []string{"x"}, Chains: 2},
	"plane":   Points([]float64{1, 2, 3, 4, 5, 6}, 2),
	"space":   Points([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 12),
	"digits":  Line([]float64{1e5 + 1e-6, 1e5 + 2e-6, 1e5 + 4e-6}),
	"columns": {Data: []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.7}, Columns: []string{"x", "density", "cdf"}},
}

// Every format gives back what was written; .npy and .npz have no names of columns.
func TestRoundTrip(t *testing.T) {
	for name, want := range shapes {
		for _, suffix := range Suffixes() {
			path := filepath.Join(t.TempDir(), "x"+suffix)
			dtype, err := Write(t.Context(), path, want)
			if err != nil {
				t.Fatalf("%s%s: %v", name, suffix, err)
			}
			got, err := Read(path)
			if err != nil {
				t.Fatalf("%s%s: %v", name, suffix, err)
			}
			if (dtype == "float64") != (name == "digits") {
				t.Errorf("%s%s: %s", name, suffix, dtype)
			}
			if !reflect.DeepEqual(got.Shape(), want.Shape()) {
				t.Errorf("%s%s: shape %v, want %v", name, suffix, got.Shape(), want.Shape())
			}
			if strings.HasPrefix(suffix, ".np") {
				got.Columns, got.Unnamed = want.Columns, false
				got.Chains = want.Chains
			}
			if name == "columns" { // float32, and the order of Parquet's columns is that of their names
				continue
			}
			if !reflect.DeepEqual(got.Data, want.Data) && name != "space" || got.Chains != want.Chains {
				t.Errorf("%s%s: %+v, want %+v", name, suffix, got, want)
			}
		}
	}
}

// Numbers in float32 are written as those in float64 that hold them.
func TestSingle(t *testing.T) {
	for _, suffix := range Suffixes() {
		var single, double bytes.Buffer
		if err := tableOf(Points32([]float32{0.1, 2, 3, 4}, 2)).encode(t.Context(), &single, suffix); err != nil {
			t.Fatal(err)
		}
		if err := tableOf(Points([]float64{float64(float32(0.1)), 2, 3, 4}, 2)).encode(t.Context(), &double, suffix); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(single.Bytes(), double.Bytes()) {
			t.Errorf("%s differs", suffix)
		}
	}
}

// The text of the formats that people read.
func TestText(t *testing.T) {
	for _, c := range []struct{ shape, suffix, want string }{
		{"line", ".csv", "x\n0.5\n-1\n0.1\n"},
		{"chains", ".csv", "chain,draw,x\n0,0,1\n0,1,2\n0,2,3\n1,0,4\n1,1,5\n1,2,6.5\n"},
		{"plane", ".csv", "x,y\n1,2\n3,4\n5,6\n"},
		{"columns", ".csv", "x,density,cdf\n0.1,0.2,0.3\n0.4,0.5,0.7\n"},
		{"line", ".json", "{\"x\": [0.5,-1,0.1]}\n"},
		{"chains", ".json", "{\"x\": [[1,2,3],\n[4,5,6.5]]}\n"},
		{"plane", ".json", "{\"x\": [1,3,5],\n \"y\": [2,4,6]}\n"},
		{"digits", ".csv", "x\n100000.000001\n100000.000002\n100000.000004\n"},
	} {
		var b bytes.Buffer
		if err := tableOf(shapes[c.shape]).encode(t.Context(), &b, c.suffix); err != nil || b.String() != c.want {
			t.Errorf("%s%s: %q, %v, want %q", c.shape, c.suffix, b.String(), err, c.want)
		}
	}
}

// An array of two dimensions may be of chains.
func TestUnnamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npy")
	if _, err := Write(t.Context(), path, shapes["chains"]); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil || !got.Unnamed || len(got.Columns) != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
	if chains := got.AsChains(); chains.Chains != 2 || !reflect.DeepEqual(chains.Shape(), []int{2, 3}) {
		t.Errorf("%+v", chains)
	}
	for _, c := range []struct {
		other Samples
		most  int
		want  []int
		lines int
	}{{Line([]float64{1}), 64, []int{2, 3}, 2}, {shapes["chains"], 64, []int{2, 3}, 2}, {shapes["plane"], 64, []int{2, 3}, 0}, {got, 64, []int{2, 3}, 0}, {got, 2, []int{2, 3}, 2}} {
		if s := got.Beside(c.other, c.most); s.Chains != c.lines || !reflect.DeepEqual(s.Shape(), c.want) {
			t.Errorf("beside %+v: %+v", c.other, s)
		}
	}
}

// An array whose shape suggests the other kind is doubtful.
func TestDoubt(t *testing.T) {
	of := func(rows, columns int) Samples {
		s := Points(make([]float64, rows*columns), columns)
		s.Unnamed = true
		return s
	}
	for name, c := range map[string]struct {
		s    Samples
		want string
	}{
		"line": {Line([]float64{1}), ""}, "plane": {of(4096, 2), ""}, "space": {of(4096, 64), ""}, "chains": {of(64, 1000).AsChains(), ""},
		"short chains": {of(64, 20), "64 points in 20 dimensions"}, "plane as chains": {of(4096, 2).AsChains(), "4096 chains of 2 samples"},
	} {
		if got := c.s.Doubt(); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"x.nc", "x.txt", "x.h5"} {
		if _, err := Write(t.Context(), filepath.Join(dir, name), shapes["line"]); !errors.Is(err, ErrSuffix) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"x", "x.NPY", "x.", "x.Csv"} {
		if err := Known(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, suffix := range Suffixes() {
		if _, err := Write(ctx, filepath.Join(dir, "x"+suffix), shapes["line"]); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", suffix, err)
		}
	}
	if _, err := Write(t.Context(), filepath.Join(dir, "x.csv"), Samples{Data: []float64{1, 2, 3}, Columns: []string{"x", "y"}}); err == nil {
		t.Error("three numbers in two columns")
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("%d files are left", len(left))
	}
	for name, c := range map[string]struct{ text, want string }{
		"numbers.csv": {"1\n2\n", "names of the columns"}, "word.csv": {"x\n1\none\n", "line 3: \"one\""}, "nan.csv": {"x\n1\nNaN\n", "row 2"},
		"empty.csv": {"", "header"}, "ragged.csv": {"x,y\n1\n", "wrong number of fields"}, "chain.csv": {"chain,draw\n0,0\n", "no column"},
		"list.json": {"[1]", "json"}, "ragged.json": {`{"x": [1], "y": [1, 2]}`, "different lengths"}, "chains.json": {`{"x": [[1], [1, 2]]}`, "different lengths"},
		"uneven.csv": {"chain,x\n0,1\n0,2\n1,3\n", "3 numbers in 1 columns and 2 chains"}, "bad.parquet": {"PAR1", ""}, "bad.npy": {"x", "NUMPY"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
