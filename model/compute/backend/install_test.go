package backend_test

import (
	"archive/zip"
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/model/compute/backend"
)

// pipScript is a python3 whose pip download copies a prepared file.
const pipScript = `#!/bin/sh
case "$*" in
*"pip --version"*) exit 0;;
esac
while [ $# -gt 0 ]; do
	[ "$1" = --dest ] && dest=$2
	[ "$1" = --platform ] && tags="$tags $2"
	shift
done
mkdir -p "$dest"
if [ -z "$FAKE_WHEEL" ]; then echo "no route to the index" >&2; exit 1; fi
tag=manylinux_${FAKE_GLIBC:-2_27}_x86_64
case "$tags " in *" $tag "*) ;; *) echo "no wheel for$tags" >&2; exit 1;; esac
cp "$FAKE_WHEEL" "$dest/xla_cpu_pjrt-0.0.1-py3-none-$tag.whl"
`

// fakePip puts the script first in the PATH.
func fakePip(t *testing.T) (cache string) {
	t.Helper()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "python3"), []byte(pipScript), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	cache = t.TempDir()
	t.Setenv("ERGOFLOW_CACHE", cache)
	return cache
}

// leftovers lists what is in the plugins' directory.
func leftovers(t *testing.T, cache string) []os.DirEntry {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(cache, "plugins"))
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

func TestInstallFailsCleanly(t *testing.T) {
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	entry, err := w.Create("xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := entry.Write([]byte("something else")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	wheel := filepath.Join(t.TempDir(), "wheel")
	if err := os.WriteFile(wheel, archive.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ wheel, glibc, want string }{
		"download fails":    {"", "2_27", "pip download xla-cpu-pjrt==0.0.1"},
		"another file":      {wheel, "2_27", "SHA-256"},
		"for older systems": {wheel, "2_25", "SHA-256"}, // downloaded: that of nvidia-cuda-cupti
		"for newer systems": {wheel, "2_28", "pip download xla-cpu-pjrt==0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			cache := fakePip(t)
			t.Setenv("FAKE_WHEEL", test.wheel)
			t.Setenv("FAKE_GLIBC", test.glibc)
			var log bytes.Buffer
			err := backend.Install(context.Background(), "cpu", &log)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v does not say %q", err, test.want)
			}
			if left := leftovers(t, cache); len(left) != 0 {
				t.Errorf("left %v behind", left)
			}
		})
	}
}
