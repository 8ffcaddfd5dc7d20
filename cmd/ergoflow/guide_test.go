package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The commands at the beginning of docs/retraining.md work as they stand, from an empty
// directory. Only the training that retrain init configures is made shorter, and goes by the
// backend that is always there.
func TestRetrainingGuide(t *testing.T) {
	guide, err := os.ReadFile("../../docs/retraining.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(guide), "\n```sh\n")
	block, _, closed := strings.Cut(block, "\n```\n")
	if !found || !closed {
		t.Fatal("docs/retraining.md has no commands")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	dir := t.TempDir()
	var printed []string
	for command := range strings.Lines(block) {
		words := strings.Fields(command)
		if len(words) == 0 || words[0] != "ergoflow" {
			t.Fatalf("%q is no command of ergoflow", command)
		}
		cmd, out := program(ctx, t, words[1:]...)
		cmd.Dir = dir
		result := new(bytes.Buffer)
		cmd.Stdout = result
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s%v\n%s%s", command, err, result, out)
		}
		printed = append(printed, result.String())
		if words[1] == "retrain" && words[2] == "init" {
			shorten(t, filepath.Join(dir, "retrain.yaml"))
		}
	}
	all := strings.Join(printed, "\n")
	for _, want := range []string{"no champion", "the candidate is promoted", "nothing to do", "champion"} {
		_, rest, found := strings.Cut(all, want)
		if !found {
			t.Fatalf("%q is not printed in its turn:\n%s", want, strings.Join(printed, "\n"))
		}
		all = rest
	}
	if _, err := os.Stat(filepath.Join(dir, "x.npy")); err != nil {
		t.Error(err)
	}
}

// shorten makes the training of a configuration short.
func shorten(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{{"training.epochs=20", "training.epochs=2"}, {"  workers: 2\n", "  workers: 2\n  backend: go\n"}} {
		if bytes.Count(text, []byte(change[0])) != 1 {
			t.Fatalf("%s has no %q", path, change[0])
		}
		text = bytes.Replace(text, []byte(change[0]), []byte(change[1]), 1)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}
