// Package corpus keeps what every release has written, messages and files, so that tests of later
// ones read it: a cluster is upgraded one process after another, on the files that it has.
//
// What release V wrote is testdata/releases/V/NAME.tar.gz, and beside it NAME.json has what it
// says. `make corpus` adds the release of ergoflow.Version where that is missing. Nothing of a
// release changes once it is out.
package corpus

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow"
)

var write = flag.Bool("corpus.write", false, "add what this release writes to internal/corpus, where it is missing")

// maxFile bounds a file of the corpus, in bytes, when it is unpacked.
const maxFile = 16 << 20

// Check has this release read what each release wrote under a name, and compares what it says
// with what it said then: fields may be added, and none may be missing or different. Produce writes
// into an empty directory as this release does. Read returns what it finds there, as a value for
// JSON; it may change the directory.
func Check(t *testing.T, name string, produce func(dir string), read func(dir string) any) {
	t.Helper()
	releases := filepath.Join(root(t), "internal", "corpus", "testdata", "releases")
	this := filepath.Join(releases, ergoflow.Version, name)
	if _, err := os.Stat(this + ".json"); errors.Is(err, fs.ErrNotExist) {
		if !*write {
			t.Errorf("what release %s writes as %s is not in the corpus: make corpus", ergoflow.Version, name)
		} else {
			add(t, this, produce, read)
		}
	}
	goldens, err := filepath.Glob(filepath.Join(releases, "*", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, golden := range goldens {
		release, err := filepath.Rel(releases, golden)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(release, func(t *testing.T) {
			dir := t.TempDir()
			if err := unpack(golden[:len(golden)-len(".json")]+".tar.gz", dir); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			var want any
			if err := decode(text, &want); err != nil {
				t.Fatal(err)
			}
			for _, lack := range Lacks("", want, asJSON(t, read(dir))) {
				t.Error(lack)
			}
		})
	}
}

// add writes what this release writes, and what that says.
func add(t *testing.T, path string, produce func(dir string), read func(dir string) any) {
	t.Helper()
	dir := t.TempDir()
	produce(dir)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := pack(path+".tar.gz", dir); err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(asJSON(t, read(dir)), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".json", append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Lacks lists what a document says, and another does not.
func Lacks(at string, want, got any) (lacks []string) {
	switch want := want.(type) {
	case map[string]any:
		has, ok := got.(map[string]any)
		if !ok {
			break
		}
		for key, value := range want {
			inner, there := has[key]
			if !there && value != nil {
				lacks = append(lacks, fmt.Sprintf("%s/%s is missing", at, key))
				continue
			}
			lacks = append(lacks, Lacks(at+"/"+key, value, inner)...)
		}
		slices.Sort(lacks)
		return lacks
	case []any:
		has, ok := got.([]any)
		if !ok || len(has) != len(want) {
			break
		}
		for i := range want {
			lacks = append(lacks, Lacks(fmt.Sprintf("%s/%d", at, i), want[i], has[i])...)
		}
		return lacks
	}
	if !reflect.DeepEqual(want, got) {
		lacks = append(lacks, fmt.Sprintf("%s is %.200v, and was %.200v", at, got, want))
	}
	return lacks
}

// asJSON is a value as a document that Lacks compares.
func asJSON(t *testing.T, v any) (document any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err == nil {
		err = decode(text, &document)
	}
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// decode keeps numbers as they are written: float64 does not hold all.
func decode(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(v)
}

// root is the directory of the module, in or above that of the test.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil && filepath.Dir(dir) != dir {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	t.Fatalf("no go.mod above the test: %v", err)
	return ""
}

func pack(path, dir string) error {
	var packed bytes.Buffer
	zip, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	files := tar.NewWriter(zip)
	err = filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := files.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(content))}); err != nil {
			return err
		}
		_, err = files.Write(content)
		return err
	})
	if err := errors.Join(err, files.Close(), zip.Close()); err != nil {
		return err
	}
	return os.WriteFile(path, packed.Bytes(), 0o644)
}

func unpack(path, dir string) error {
	packed, err := os.Open(path)
	if err != nil {
		return err
	}
	defer packed.Close()
	zip, err := gzip.NewReader(packed)
	if err != nil {
		return err
	}
	files := tar.NewReader(zip)
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !filepath.IsLocal(header.Name) || header.Size > maxFile {
			return fmt.Errorf("%s has %q with %d bytes", path, header.Name, header.Size)
		}
		content, err := io.ReadAll(files)
		if err != nil {
			return err
		}
		file := filepath.Join(dir, header.Name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return err
		}
	}
}

// Put writes a file into a directory.
func Put(t *testing.T, dir, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Get reads a file of a directory.
func Get(t *testing.T, dir, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}
