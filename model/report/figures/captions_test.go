package figures

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ergoflow/ergoflow/internal/atomicfile"
)

func TestCaptions(t *testing.T) {
	dir := t.TempDir()
	if _, err := Captions(dir); !os.IsNotExist(err) {
		t.Errorf("no report: %v", err)
	}
	encoded, err := EncodeCaptions([]Drawn{{Caption: Caption{"loss", "a curve", 600}}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "figures.json")
	if err := atomicfile.Write(path, encoded); err != nil {
		t.Fatal(err)
	}
	got, err := Captions(dir)
	if err != nil || len(got) != 1 || got[0] != (Caption{"loss", "a curve", 600}) {
		t.Errorf("%+v, %v", got, err)
	}
	// Names become paths: nothing leads out of the directory.
	for _, bad := range []string{`[{"name":"../x"}]`, `[{"name":""}]`, `[{"name":"a/b"}]`, `[{`} {
		if err := atomicfile.Write(path, []byte(bad)); err != nil {
			t.Fatal(err)
		}
		if _, err := Captions(dir); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}
