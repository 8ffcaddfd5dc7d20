package deploy

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var debianRoots = flag.String("debian", "", "directory of Debian systems in which tests run deploy's files; made by debootstrap where they are missing. Needs root. Empty: those tests are skipped")

// needRoots skips a test where `make deploy-test` does not run it.
func needRoots(t *testing.T) {
	t.Helper()
	if *debianRoots == "" {
		t.Skip("it needs root and minutes: `make deploy-test` runs it")
	}
}

// debian is the root directory of a Debian 12 of its own for a test, with packages. It stays for
// the next run.
func debian(t *testing.T, name string, packages ...string) string {
	t.Helper()
	return debianOf(t, "bookworm", name, packages...)
}

// debianOf is debian for any release.
func debianOf(t *testing.T, suite, name string, packages ...string) string {
	t.Helper()
	needRoots(t)
	root, err := filepath.Abs(filepath.Join(*debianRoots, name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(root); err == nil {
		return root
	}
	// It gets its name when it is complete.
	part := root + ".part"
	if err := os.RemoveAll(part); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(*debianRoots, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("debootstrap", "--variant=minbase", "--include="+strings.Join(packages, ","), suite, part).CombinedOutput(); err != nil {
		t.Fatalf("debootstrap: %v\n%s", err, out)
	}
	if err := os.Rename(part, root); err != nil {
		t.Fatal(err)
	}
	return root
}

// build builds the program.
func build(t *testing.T, path string, flags ...string) {
	t.Helper()
	command := append(append([]string{"build", "-trimpath"}, flags...), "-o", path, "../cmd/ergoflow")
	if out, err := exec.Command("go", command...).CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
}
