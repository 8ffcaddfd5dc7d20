package ergoflow

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// docs/architecture.md names every package, and no package that does not exist.
func TestArchitectureNamesPackages(t *testing.T) {
	text, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "## Packages")
	if !found {
		t.Fatal("docs/architecture.md has no section Packages")
	}
	listed, err := exec.Command("go", "list", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := make(map[string]bool)
	for _, path := range strings.Fields(string(listed)) {
		name := strings.TrimPrefix(strings.TrimPrefix(path, "github.com/ergoflow/ergoflow"), "/")
		if name == "" {
			name = "ergoflow"
		}
		packages[name] = true
		if !strings.Contains(table, "`"+name+"`") && !strings.HasPrefix(name, "docs/") {
			t.Errorf("package %s is missing", name)
		}
	}
	for _, line := range strings.Split(table, "\n") {
		cell, _, found := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		if !found || !strings.HasPrefix(cell, "`") {
			continue
		}
		for _, name := range strings.Split(cell, ", ") {
			if name = strings.Trim(name, "`"); !packages[name] {
				t.Errorf("%s is no package", name)
			}
		}
	}
}

// A fresh clone stays small: raw records of results are compressed or can be made again
// (docs/results/README.md). The code may grow.
func TestTreeIsSmall(t *testing.T) {
	const limit = 7 << 20 // bytes of what is not Go code
	listed, err := exec.Command("git", "ls-files", "-z").Output()
	if err != nil {
		t.Skip("not a git checkout:", err)
	}
	var total int64
	for _, path := range strings.Split(strings.TrimRight(string(listed), "\x00"), "\x00") {
		if info, err := os.Lstat(path); err == nil && filepath.Ext(path) != ".go" { // a deleted file has no size
			total += info.Size()
		}
	}
	if total > limit {
		t.Errorf("the tree has %d bytes beside Go code, more than %d", total, limit)
	}
}
