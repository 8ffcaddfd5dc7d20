// Package deploy tests the files by which others start ergoflow, as far as that can be done on
// any machine.
package deploy

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// read is a file of this directory.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// program writes a script that can be executed.
func program(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// checkRetrain checks a command against the flags in docs/cli.md, which a test of the command
// compares with its help. words begin after the program's name.
func checkRetrain(t *testing.T, words []string) {
	t.Helper()
	if len(words) == 0 || words[0] != "retrain" {
		t.Errorf("%q is not ergoflow retrain", words)
		return
	}
	_, help, found := strings.Cut(read(t, "../docs/cli.md"), "\n## ergoflow retrain\n")
	help, _, closed := strings.Cut(help, "\n## ")
	if !found || !closed {
		t.Fatal("docs/cli.md has no section on ergoflow retrain")
	}
	configured := false
	for _, word := range words[1:] {
		configured = configured || word == "--config"
		flag := regexp.MustCompile(`(?m)^ +` + regexp.QuoteMeta(word) + ` `)
		if strings.HasPrefix(word, "-") && !flag.MatchString(help) {
			t.Errorf("ergoflow retrain has no flag %s", word)
		}
	}
	if !configured {
		t.Errorf("%q names no configuration", words)
	}
}

// tool is the path of a program that checks a file. The test is skipped where it is missing.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	return path
}
