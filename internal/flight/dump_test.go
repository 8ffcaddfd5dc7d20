package flight

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// zipped compresses text.
func zipped(t testing.TB, write func(w io.Writer)) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	write(zip)
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

const header = `{"format":"ergoflow-flight-1","process":{"role":"worker"}}` + "\n"

// What is larger than any dump is refused before it takes memory.
func TestReadBounds(t *testing.T) {
	for name, c := range map[string]struct {
		encoded []byte
		want    error
	}{
		"nothing":           {nil, ErrFormat},
		"no gzip":           {[]byte("hello"), ErrFormat},
		"another format":    {zipped(t, func(w io.Writer) { fmt.Fprintln(w, `{"format":"other"}`) }), ErrFormat},
		"a later version":   {zipped(t, func(w io.Writer) { fmt.Fprintln(w, `{"format":"ergoflow-flight-2"}`) }), ErrFormat},
		"no line":           {zipped(t, func(io.Writer) {}), ErrFormat},
		"no end":            {zipped(t, func(w io.Writer) { fmt.Fprint(w, header, `{"seq":1}`, "\n") }), ErrCut},
		"another end":       {zipped(t, func(w io.Writer) { fmt.Fprint(w, header, `{"seq":1}`, "\n", `{"end":2}`, "\n") }), ErrCut},
		"a damaged record":  {zipped(t, func(w io.Writer) { fmt.Fprint(w, header, `{"seq":`, "\n") }), ErrCut},
		"a long line":       {zipped(t, func(w io.Writer) { fmt.Fprint(w, header, strings.Repeat("x", maxLine+1)) }), ErrLarge},
		"a long first line": {zipped(t, func(w io.Writer) { fmt.Fprint(w, strings.Repeat("x", 1<<20)) }), ErrFormat},
		"many records": {zipped(t, func(w io.Writer) {
			fmt.Fprint(w, header)
			for range maxRecords + 1 {
				fmt.Fprintln(w, `{"seq":1}`)
			}
		}), ErrLarge},
		"a bomb": {zipped(t, func(w io.Writer) {
			fmt.Fprint(w, header)
			for range 1 << 6 {
				w.Write(make([]byte, 1<<20))
			}
		}), ErrLarge},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Read(bytes.NewReader(c.encoded))
			if !errors.Is(err, c.want) || (d != nil) != errors.Is(c.want, ErrCut) {
				t.Errorf("%v, %v; want %v", d, err, c.want)
			}
		})
	}
}

// FuzzRead: any bytes are a dump, a part of one or an error; what is read is clean.
func FuzzRead(f *testing.F) {
	r := New(Worker)
	r.Add(Record{Kind: Lost, Worker: "w", Text: "because"})
	encoded, err := r.Dump("fuzz").Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(encoded, false)
	f.Add([]byte(header+`{"seq":1,"kind":"lost","text":"x"}`+"\n"+`{"end":1}`+"\n"), true)
	f.Fuzz(func(t *testing.T, b []byte, zip bool) {
		if zip {
			b = zipped(t, func(w io.Writer) { w.Write(b) })
		}
		d, err := Read(bytes.NewReader(b))
		if d == nil {
			if err == nil {
				t.Fatal("neither a dump nor an error")
			}
			return
		}
		for _, e := range d.Records {
			if len(e.Text) > maxText || len(e.Worker) > 128 || Clean(e.Text) != e.Text {
				t.Fatalf("%+v", e)
			}
		}
		if _, err := d.Encode(); err != nil {
			t.Fatal(err)
		}
	})
}
