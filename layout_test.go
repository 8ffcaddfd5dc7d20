package ergoflow

import (
	"os"
	"os/exec"
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
