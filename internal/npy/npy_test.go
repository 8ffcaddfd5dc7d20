package npy

import (
	"bytes"
	"context"
	"encoding/binary"
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
	half := matrix(1049 * 0x1p-20) // the float16 nearest to 1e-3
	whole := Array[float64]{[]int{3, 2}, []float64{1, 2, 3, 0, 0, 7}}
	for name, want := range map[string]Array[float64]{
		"f4.npy":           single,
		"f8.npy":           matrix(1e-3),
		"fortran.npy":      single,
		"v2.npy":           single,
		"v3.npy":           matrix(1e-3), // also big-endian and in Fortran order
		"big_endian.npy":   single,
		"dtype_f8_big.npy": matrix(1e-3),
		"dtype_f2.npy":     half,
		"dtype_f2_big.npy": half,
		"half.npy":         {[]int{5}, []float64{0.333251953125, -65504, 0x1p-24, -0x1p-14, 0}},
		"int.npy":          {[]int{3, 2}, []float64{1, 2, -3, 0, 0, 7}},
		"dtype_i1.npy":     whole,
		"dtype_i2.npy":     whole,
		"dtype_i4_big.npy": whole,
		"dtype_i8_big.npy": whole,
		"dtype_u1.npy":     whole,
		"dtype_u2.npy":     whole,
		"dtype_u2_big.npy": whole,
		"dtype_u4.npy":     whole,
		"dtype_u8.npy":     whole,
		"least.npy":        {[]int{3}, []float64{-0x1p63, 0x1p53, -128}},
		"one.npy":          {[]int{3}, []float64{1, -3, 0}},
		"huge.npy":         {[]int{1}, []float64{1e300}},
		"empty.npy":        {[]int{0}, nil},
		"one.npz":          matrix(1e-3),
		"deflated.npz":     matrix(1e-3),
	} {
		got, err := Read(filepath.Join("testdata", name))
		if err != nil || !slices.Equal(got.Shape, want.Shape) || !slices.Equal(got.Data, want.Data) {
			t.Errorf("%s: got %v, %v, want %v", name, got, err, want)
		}
	}
}

func TestRefusesNumPy(t *testing.T) {
	for name, want := range map[string]string{
		"scalar.npy":       "shape ()",
		"cube.npy":         "3 dimensions",
		"nan.npy":          "element 1 is NaN",
		"half_inf.npy":     "element 0 is +Inf",
		"odd.npy":          "element 1 is 9007199254740993: float64 does not hold it",
		"odd_unsigned.npy": "element 0 is 18446744073709551615: float64 does not hold it",
		"record.npy":       "dtype",
		"bool.npy":         `dtype "|b1"`,
		"complex.npy":      `dtype "<c16"`,
		"text.npy":         `dtype "<U1"`,
		"object.npy":       `dtype "|O"`,
		"long_double.npy":  `dtype "<f16"`,
		"two.npz":          `2 arrays ("a", "b"), want one`,
		"none.npz":         "0 arrays",
		"none.npy":         "no such file",
	} {
		path := filepath.Join("testdata", name)
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
		"version 4":           []byte(magic + "\x04\x00\x00\x00\x00\x00"),
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

// No byte of an archive can change without an error or the same array. Its reader ignores
// the local header's copies of what the directory has.
func TestDamagedArchive(t *testing.T) {
	for _, name := range []string{"one.npz", "deflated.npz"} {
		whole, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		want, err := decodeArchive(bytes.NewReader(whole), int64(len(whole)))
		if err != nil {
			t.Fatal(err)
		}
		for cut := range whole {
			if _, err := decodeArchive(bytes.NewReader(whole[:cut]), int64(cut)); err == nil {
				t.Fatalf("%s: cut to %d bytes it is read", name, cut)
			}
		}
		for i := range whole {
			for bit := range 8 {
				b := bytes.Clone(whole)
				b[i] ^= 1 << bit
				got, err := decodeArchive(bytes.NewReader(b), int64(len(b)))
				if err == nil && (!slices.Equal(got.Shape, want.Shape) || !slices.Equal(got.Data, want.Data)) {
					t.Fatalf("%s: bit %d of byte %d: %v", name, bit, i, got)
				}
			}
		}
	}
}

// What a directory says of lengths is not believed.
func TestArchiveBomb(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "deflated.npz"))
	if err != nil {
		t.Fatal(err)
	}
	directory := bytes.LastIndex(b, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(b[directory+24:], 1<<31)
	if _, err := decodeArchive(bytes.NewReader(b), int64(len(b))); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "of 2147483648 bytes in ") {
		t.Errorf("error %v", err)
	}
}

func FuzzArchive(f *testing.F) {
	for _, name := range []string{"one.npz", "deflated.npz", "two.npz", "none.npz"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if a, err := decodeArchive(bytes.NewReader(b), int64(len(b))); err == nil && len(a.Shape) == 0 {
			t.Fatal("no shape")
		}
	})
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
		if err := Encode(t.Context(), &out, a); err != nil {
			t.Fatal(err)
		}
		again, err := decode(bytes.NewReader(out.Bytes()), int64(out.Len()))
		if err != nil || !slices.Equal(again.Shape, a.Shape) || !slices.Equal(again.Data, a.Data) {
			t.Fatalf("%v, after encoding again %v, %v", a, again, err)
		}
	})
}
