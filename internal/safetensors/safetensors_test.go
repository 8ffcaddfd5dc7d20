package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The golden file was written by the reference implementation: see
// testdata/make_golden.py.
func TestReadsTheReferenceImplementation(t *testing.T) {
	f, err := Open(filepath.Join("testdata", "golden.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, want := f.Metadata(), map[string]string{"format": "1", "text": "line\n\"quoted\" <&> ü"}; !maps.Equal(got, want) {
		t.Errorf("metadata %q, want %q", got, want)
	}
	for _, want := range []Tensor{
		Float32("drift", []int{2, 3}, []float32{-1, -.75, -.5, -.25, 0, .25}),
		Float64("double", []int{2}, []float64{1. / 3, -1e300}),
		Int64("count", []int{}, []int64{-7}),
		Bytes("odd", []byte{1, 2, 255}),
		{Info{"half", F16, []int{1}}, []byte{0x00, 0x38}},
		Float32("empty", []int{0, 4}, nil),
		{Info{`quoted "ü"`, Bool, []int{2}}, []byte{1, 0}},
	} {
		got, err := f.Tensor(want.Name)
		if err != nil {
			t.Error(err)
			continue
		}
		if got.DType != want.DType || !slices.Equal(got.Shape, want.Shape) || !bytes.Equal(got.Data, want.Data) {
			t.Errorf("%s: got %+v, want %+v", want.Name, got, want)
		}
	}
	if n := len(f.Tensors()); n != 7 {
		t.Errorf("%d tensors, want 7", n)
	}
	drift, _ := f.Tensor("drift")
	values, err := drift.Float32s()
	if err != nil || values[5] != .25 {
		t.Errorf("drift %v, %v", values, err)
	}
	if _, err := drift.Int64s(); err == nil {
		t.Error("an F32 tensor was read as I64")
	}
}

func TestRoundTrip(t *testing.T) {
	tensors := []Tensor{
		Float32("b", []int{3, 1}, []float32{1, float32(math.Inf(-1)), math.SmallestNonzeroFloat32}),
		Bytes("a", []byte("odd length")), // the next tensor is not aligned
		Float32("unaligned", []int{2}, []float32{3.5, -0}),
		Float64("f64", []int{1}, []float64{math.Pi}),
		Int64("i64", []int{2}, []int64{math.MinInt64, math.MaxInt64}),
		Float32("none", []int{0}, nil),
		Float32("scalar", nil, []float32{7}),
	}
	metadata := map[string]string{"z": "1", "a": "<&>\"\\\n", "é": ""}
	encoded, err := Encode(tensors, metadata)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := Encode(tensors, metadata); !bytes.Equal(encoded, again) {
		t.Error("the bytes differ from run to run")
	}
	if n := binary.LittleEndian.Uint64(encoded); n%8 != 0 {
		t.Errorf("the header has %d bytes: the data is not aligned", n)
	}

	path := filepath.Join(t.TempDir(), "x.safetensors")
	if err := os.WriteFile(path, encoded, 0o600); err != nil {
		t.Fatal(err)
	}
	mapped, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer mapped.Close()
	// In memory at every alignment, and mapped.
	files := map[string]*File{"mapped": mapped}
	for shift := range 8 {
		buffer := make([]byte, shift+len(encoded))
		copy(buffer[shift:], encoded)
		if files[fmt.Sprint("shifted by ", shift)], err = Decode(buffer[shift:]); err != nil {
			t.Fatal(err)
		}
	}
	for name, f := range files {
		if !maps.Equal(f.Metadata(), metadata) {
			t.Errorf("%s: metadata %q", name, f.Metadata())
		}
		for i, got := range f.Tensors() {
			want := tensors[i]
			if got.Name != want.Name || got.DType != want.DType || !slices.Equal(got.Shape, want.Shape) || !bytes.Equal(got.Data, want.Data) {
				t.Errorf("%s: got %+v, want %+v", name, got, want)
			}
		}
		u, _ := f.Tensor("unaligned")
		if v, err := u.Float32s(); err != nil || v[0] != 3.5 {
			t.Errorf("%s: unaligned tensor %v, %v", name, v, err)
		}
	}
	if _, err := mapped.Tensor("missing"); err == nil {
		t.Error("found a tensor that is not there")
	}
}

// Reading a mapped tensor copies nothing.
func TestViewsShareTheMapping(t *testing.T) {
	encoded, err := Encode([]Tensor{Float32("x", []int{1 << 16}, make([]float32, 1<<16))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	if err := os.WriteFile(path, encoded, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	x, _ := f.Tensor("x")
	if n := testing.AllocsPerRun(10, func() { _, err = x.Float32s() }); n != 0 || err != nil {
		t.Errorf("%v allocations, error %v", n, err)
	}
}

func TestWriterStreams(t *testing.T) {
	values := []float32{1, 2, 3, 4, 5, 6}
	want, err := Encode([]Tensor{Float32("a", []int{2, 2}, values[:4]), Float32("b", []int{2}, values[4:])}, map[string]string{"k": "v"})
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	w, err := NewWriter(&got, []Info{{"a", F32, []int{2, 2}}, {"b", F32, []int{2}}}, map[string]string{"k": "v"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteFloat32s(values[:5]); err != nil { // across tensors
		t.Fatal(err)
	}
	if err := w.Close(); err == nil {
		t.Error("closed with data missing")
	}
	if err := w.WriteFloat32s(values[:2]); err == nil {
		t.Error("wrote more than declared")
	}
	if err := w.WriteFloat32s(values[5:]); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(got.Bytes(), want) || w.Size() != len(want) {
		t.Errorf("streamed %q (size %d), want %q", got.Bytes(), w.Size(), want)
	}
}

// file assembles a file from a header's text and data.
func file(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, data)...)
}

func TestRefusesBadFiles(t *testing.T) {
	length := func(n uint64) []byte { return append(binary.LittleEndian.AppendUint64(nil, n), "{}"...) }
	for _, c := range []struct {
		name, want string
		bytes      []byte
	}{
		{"empty", "too few", nil},
		{"short length", "too few", []byte{1, 2, 3}},
		{"header beyond the file", "only 2 follow", length(3)},
		{"a Git LFS pointer", "this is a Git LFS pointer", []byte("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")},
		{"header too long", "longer than 100000000", length(100_000_001)},
		{"length overflows", "longer than", length(math.MaxUint64)},
		{"no header", "no JSON object", file("", 0)},
		{"not an object", "no JSON object", file("[]", 0)},
		{"leading space", "no JSON object", file(" {}", 0)},
		{"not UTF-8", "no JSON object", file("{\"\xff\":1}", 0)},
		{"unterminated", "header", file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}`, 1)},
		{"something after it", "follows", file(`{}{}`, 0)},
		{"name twice", "twice", file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 2)},
		{"metadata twice", "twice", file(`{"__metadata__":{},"__metadata__":{}}`, 0)},
		{"metadata of numbers", "__metadata__", file(`{"__metadata__":{"a":1}}`, 0)},
		{"unknown dtype", "unknown dtype", file(`{"a":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}}`, 4)},
		{"unknown field", "unknown field", file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}}`, 1)},
		{"no shape", "missing", file(`{"a":{"dtype":"U8","data_offsets":[0,1]}}`, 1)},
		{"no offsets", "missing", file(`{"a":{"dtype":"U8","shape":[1]}}`, 1)},
		{"three offsets", "missing", file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}}`, 1)},
		{"negative dimension", "tensor \"a\"", file(`{"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}}`, 1)},
		{"fractional dimension", "tensor \"a\"", file(`{"a":{"dtype":"U8","shape":[1.5],"data_offsets":[0,1]}}`, 1)},
		{"dimension overflows", "overflows", file(`{"a":{"dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,1]}}`, 1)},
		{"product overflows to the right size", "overflows", file(`{"a":{"dtype":"U8","shape":[4294967296,4294967296,2],"data_offsets":[0,0]}}`, 0)},
		{"size of elements overflows", "overflows", file(`{"a":{"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]}}`, 0)},
		{"offsets reversed", "do not hold", file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}}`, 1)},
		{"offsets and shape", "do not hold", file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, 4)},
		{"gap before", "begins at byte 1", file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 2)},
		{"gap between", "begins at byte 2", file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}}`, 3)},
		{"overlap", "begins at byte 1", file(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}`, 3)},
		{"truncated", "truncated", file(`{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}`, 3)},
		{"data left over", "no tensor", file(`{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}`, 5)},
		{"data without tensors", "no tensor", file(`{}`, 1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Decode(c.bytes)
			if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v: want ErrFormat and %q", err, c.want)
			}
			path := filepath.Join(t.TempDir(), "bad.safetensors")
			if err := os.WriteFile(path, c.bytes, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(path); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), path) {
				t.Errorf("Open: error %v: want ErrFormat and the path", err)
			}
		})
	}
	if _, err := Decode(file("{}      ", 0)); err != nil {
		t.Errorf("an empty file with padding: %v", err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v for a file that is not there", err)
	}
}

func TestRefusesToWrite(t *testing.T) {
	for name, tensors := range map[string][]Tensor{
		"a name twice":      {Bytes("a", nil), Bytes("a", nil)},
		"the metadata name": {Bytes("__metadata__", nil)},
		"not UTF-8":         {Bytes("\xff", nil)},
		"data and shape":    {Float32("a", []int{3}, []float32{1})},
		"unknown dtype":     {{Info{"a", "F4", []int{1}}, nil}},
		"negative":          {{Info{"a", U8, []int{-1}}, nil}},
		"overflow":          {{Info{"a", U8, []int{math.MaxInt, 3}}, nil}},
	} {
		if _, err := Encode(tensors, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := NewWriter(&bytes.Buffer{}, []Info{{"a", U8, []int{math.MaxInt}}, {"b", U8, []int{math.MaxInt}}}, nil); err == nil {
		t.Error("a file longer than an int: no error")
	}
}

// Whatever Decode accepts is consistent, and Encode gives back its contents.
func FuzzDecode(f *testing.F) {
	golden, err := os.ReadFile(filepath.Join("testdata", "golden.safetensors"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	f.Add(file(`{}`, 0))
	f.Add(file(`{"__metadata__":{"a":"b"},"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}`, 8))
	f.Add(file(`{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"b":{"dtype":"BF16","shape":[],"data_offsets":[0,2]}}`, 2))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := Decode(b)
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatalf("error %v is not ErrFormat", err)
			}
			return
		}
		for _, tensor := range file.Tensors() {
			if size, err := tensor.Bytes(); err != nil || size != len(tensor.Data) {
				t.Fatalf("tensor %+v: size %d, %v", tensor.Info, size, err)
			}
			switch tensor.DType {
			case F32:
				_, err = tensor.Float32s()
			case F64:
				_, err = tensor.Float64s()
			case I64:
				_, err = tensor.Int64s()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		encoded, err := Encode(file.Tensors(), file.Metadata())
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(encoded)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(again.Tensors(), file.Tensors(), func(a, b Tensor) bool {
			return a.Name == b.Name && a.DType == b.DType && slices.Equal(a.Shape, b.Shape) && bytes.Equal(a.Data, b.Data)
		}) {
			t.Fatal("another file after encoding again")
		}
	})
}
