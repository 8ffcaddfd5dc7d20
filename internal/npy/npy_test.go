package npy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The golden files were written by NumPy: see testdata/make_golden.py.
func TestReadsNumPy(t *testing.T) {
	matrix := func(thousandth float64) Array[float64] {
		return Array[float64]{[]int{3, 2}, []float64{1, 2.5, -3, thousandth, 0, 7}}
	}
	single := matrix(float64(float32(1e-3)))
	for name, want := range map[string]Array[float64]{
		"f4":      single,
		"f8":      matrix(1e-3),
		"fortran": single,
		"v2":      single,
		"one":     {[]int{3}, []float64{1, -3, 0}},
		"huge":    {[]int{1}, []float64{1e300}},
		"empty":   {[]int{0}, nil},
	} {
		got, err := Read(filepath.Join("testdata", name+".npy"))
		if err != nil || !slices.Equal(got.Shape, want.Shape) || !slices.Equal(got.Data, want.Data) {
			t.Errorf("%s: got %v, %v, want %v", name, got, err, want)
		}
	}
}

func TestRefusesNumPy(t *testing.T) {
	for name, want := range map[string]string{
		"int":        `dtype "<i8"`,
		"big_endian": `dtype ">f4"`,
		"scalar":     "shape ()",
		"cube":       "3 dimensions",
		"nan":        "element 1 is NaN",
		"record":     "dtype",
		"none":       "no such file",
	} {
		path := filepath.Join("testdata", name+".npy")
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v: want %q and the path", name, err, want)
		}
	}
	if _, err := Read("testdata"); err == nil {
		t.Error("read a directory")
	}
}

// What Write writes is byte for byte what NumPy writes.
func TestWritesAsNumPy(t *testing.T) {
	writesAsNumPy(t, "f4", Array[float32]{[]int{3, 2}, []float32{1, 2.5, -3, 1e-3, 0, 7}})
	writesAsNumPy(t, "f8", Array[float64]{[]int{3, 2}, []float64{1, 2.5, -3, 1e-3, 0, 7}})
	writesAsNumPy(t, "empty", Array[float32]{[]int{0}, nil})
}

func writesAsNumPy[T float32 | float64](t *testing.T, name string, a Array[T]) {
	path := filepath.Join(t.TempDir(), name+".npy")
	if err := Write(t.Context(), path, a); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join("testdata", name+".npy"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: wrote %q, NumPy writes %q", name, got, want)
	}
}

// A write that fails leaves the old file as it was, and nothing beside it.
func TestWriteIsAtomic(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.npy")
	if err := Write(t.Context(), path, Array[float32]{[]int{1}, []float32{1}}); err != nil {
		t.Fatal(err)
	}
	if err := Write(t.Context(), path, Array[float32]{[]int{2}, []float32{1}}); err == nil {
		t.Error("wrote 1 element with shape [2]")
	}
	if a, err := Read(path); err != nil || a.Data[0] != 1 {
		t.Errorf("read %v, %v", a, err)
	}
	blocked := filepath.Join(dir, "directory")
	if err := os.MkdirAll(filepath.Join(blocked, "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Write(t.Context(), blocked, Array[float32]{[]int{1}, []float32{1}}); err == nil {
		t.Error("replaced a directory")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("the directory has %v, %v: want x.npy and directory", entries, err)
	}
	if err := Write(t.Context(), filepath.Join(dir, "none", "x.npy"), Array[float32]{[]int{1}, []float32{1}}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v for a directory that is not there", err)
	}
}

// An array that is large enough to take a while is left where it is when the context
// ends, and nothing beside it.
func TestWriteIsInterrupted(t *testing.T) {
	dir := t.TempDir()
	ctx := &ending{Context: t.Context(), checks: 3}
	if err := Write(ctx, filepath.Join(dir, "x.npy"), Array[float32]{[]int{10 * stretch}, make([]float32, 10*stretch)}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 || ctx.checks != 0 {
		t.Errorf("the directory has %v, %v, after %d more checks", entries, err, ctx.checks)
	}
}

// ending ends when it has been looked at so many times.
type ending struct {
	context.Context
	checks int
}

func (e *ending) Err() error {
	if e.checks > 0 {
		e.checks--
		return nil
	}
	return context.Canceled
}

func TestRefusesBadFiles(t *testing.T) {
	with := func(header string, data int) []byte {
		return fmt.Appendf(nil, "%s\x01\x00%c%c%s%s", magic, 0, 0, header, make([]byte, data))
	}
	file := func(header string, data int) []byte {
		b := with(header, data)
		b[8], b[9] = byte(len(header)), byte(len(header)>>8)
		return b
	}
	dict := func(descr, order, shape string) string {
		return fmt.Sprintf("{'descr': %s, 'fortran_order': %s, 'shape': %s, }\n", descr, order, shape)
	}
	good := dict("'<f4'", "False", "(2,)")
	if _, err := decode(bytes.NewReader(file(good, 8)), int64(len(file(good, 8)))); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"empty":               nil,
		"other magic":         []byte("\x93NUMPI\x01\x00\x00\x00"),
		"version 3":           []byte(magic + "\x03\x00\x00\x00\x00\x00"),
		"version 2 truncated": []byte(magic + "\x02\x00\x00\x00"),
		"header truncated":    []byte(magic + "\x01\x00\x40\x00{"),
		"header huge":         []byte(magic + "\x02\x00\xff\xff\xff\xff{"),
		"no header":           file("", 0),
		"not a dictionary":    file("[]\n", 0),
		"no descr":            file("{'fortran_order': False, 'shape': (2,), }\n", 8),
		"no order":            file("{'descr': '<f4', 'shape': (2,), }\n", 8),
		"no shape":            file("{'descr': '<f4', 'fortran_order': False, }\n", 8),
		"order":               file(dict("'<f4'", "Maybe", "(2,)"), 8),
		"negative":            file(dict("'<f4'", "False", "(-2,)"), 8),
		"words":               file(dict("'<f4'", "False", "(two,)"), 8),
		"overflow":            file(dict("'<f4'", "False", "(4294967296, 4294967296)"), 8),
		"beyond int":          file(dict("'<f4'", "False", "(99999999999999999999,)"), 8),
		"large":               file(dict("'<f4'", "False", "(1000000000000,)"), 8),
		"truncated":           file(good, 7),
		"overlong":            file(good, 9),
	} {
		if _, err := decode(bytes.NewReader(b), int64(len(b))); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: error %v, want ErrFormat", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.npy"))
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := decode(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := encode(t.Context(), &out, a); err != nil {
			t.Fatal(err)
		}
		again, err := decode(bytes.NewReader(out.Bytes()), int64(out.Len()))
		if err != nil || !slices.Equal(again.Shape, a.Shape) || !slices.Equal(again.Data, a.Data) {
			t.Fatalf("%v, after encoding again %v, %v", a, again, err)
		}
	})
}
