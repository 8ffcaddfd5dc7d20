package ergoflow

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every test that docs/theory.md names is there.
func TestTheoryNamesTests(t *testing.T) {
	text, err := os.ReadFile("docs/theory.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("`([a-z0-9/]+)\\.(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(string(text), -1)
	if len(names) < 30 {
		t.Errorf("%d tests are named", len(names))
	}
	sources := make(map[string]string) // of a package's tests
	for _, name := range names {
		folder, test := name[1], name[2]
		if _, ok := sources[folder]; !ok {
			files, err := filepath.Glob(folder + "/*_test.go")
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				source, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				sources[folder] += string(source)
			}
		}
		if !strings.Contains(sources[folder], "\nfunc "+test+"(t *testing.T)") {
			t.Errorf("%s has no %s", folder, test)
		}
	}
}
