// Package deploy tests the files by which others start ergoflow, as far as that can be done on
// any machine.
package deploy

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
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

// checkFlags checks the flags among words against docs/cli.md, which a test of the command
// compares with its help.
func checkFlags(t *testing.T, command string, words []string) {
	t.Helper()
	_, help, found := strings.Cut(read(t, "../docs/cli.md"), "\n## ergoflow "+command+"\n")
	help, _, _ = strings.Cut(help, "\n## ")
	if !found {
		t.Fatalf("docs/cli.md has no section on ergoflow %s", command)
	}
	for _, word := range words {
		flag := regexp.MustCompile(`(?m)^ +` + regexp.QuoteMeta(word) + ` `)
		if strings.HasPrefix(word, "-") && !flag.MatchString(help) {
			t.Errorf("ergoflow %s has no flag %s", command, word)
		}
	}
}

// checkRetrain checks the command of a retraining. words begin after the program's name.
func checkRetrain(t *testing.T, words []string) {
	t.Helper()
	if len(words) == 0 || words[0] != "retrain" {
		t.Errorf("%q is not ergoflow retrain", words)
		return
	}
	checkFlags(t, "retrain", words[1:])
	if !slices.Contains(words, "--config") {
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
