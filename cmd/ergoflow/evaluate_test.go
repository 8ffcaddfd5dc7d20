package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
)

// TestReportNotWritable: a report that cannot be written fails before the work, or does
// not lose the results.
func TestReportNotWritable(t *testing.T) {
	for _, test := range []struct {
		name     string
		obstruct func(report string) error
		worked   bool
	}{
		{"no directory", func(report string) error { return os.WriteFile(report, nil, 0o600) }, false},
		{"a directory for a page", func(report string) error { return os.MkdirAll(filepath.Join(report, "report.html", "x"), 0o755) }, false},
		{"a directory for a figure", func(report string) error { return os.MkdirAll(filepath.Join(report, "percentiles.png", "x"), 0o755) }, true},
	} {
		dir := t.TempDir()
		saveAccount(t, dir, 0)
		if err := test.obstruct(filepath.Join(dir, "report")); err != nil {
			t.Fatal(err)
		}
		for _, format := range []struct{ flag, results string }{{"--json=false", "Sinkhorn"}, {"--json", `"functions": `}} {
			cmd, _ := program(t.Context(), t, "evaluate", "vn1d", "--preset", "smoke", "--dir", dir, "--backend", "go", format.flag)
			cmd.Stdout, cmd.Stderr = nil, nil
			out, err := cmd.Output()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != exitFailure || !strings.Contains(string(exit.Stderr), "ergoflow: report: ") {
				t.Fatalf("%s: ended with %v\n%s", test.name, err, exit.Stderr)
			}
			if strings.Contains(string(out), format.results) != test.worked || strings.Contains(string(exit.Stderr), "functions") != test.worked {
				t.Errorf("%s, %s: printed\n%s\n%s", test.name, format.flag, out, exit.Stderr)
			}
		}
	}
}

// TestRows: --rows makes these rows alone, in the order of the table. An unknown one is wrong usage
// before any work.
func TestRows(t *testing.T) {
	dir := t.TempDir()
	saveAccount(t, dir, 0)
	cmd, _ := program(t.Context(), t, "evaluate", "vn1d", "--preset", "smoke", "--dir", dir, "--backend", "go", "--json", "--rows", "model,floor")
	cmd.Stdout, cmd.Stderr = nil, nil
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var results evaluate.Results
	if err := json.Unmarshal(out, &results); err != nil {
		t.Fatal(err)
	}
	var made []evaluate.Kind
	for _, row := range results.Rows {
		made = append(made, row.Kind)
	}
	if !slices.Equal(made, []evaluate.Kind{evaluate.Floor, evaluate.Model}) {
		t.Errorf("rows %v", made)
	}
	if _, err := os.Stat(filepath.Join(dir, "report", "report.html")); err != nil {
		t.Error(err)
	}
	cmd, shown := program(t.Context(), t, "evaluate", "vn1d", "--preset", "smoke", "--dir", t.TempDir(), "--rows", "best")
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != exitUsage || !strings.Contains(shown.String(), `--rows: no kind of row: "best" (known: floor, split, mcmc, model, `) {
		t.Errorf("an unknown row ended with %v\n%s", err, shown)
	}
}

func TestDoctorDirectory(t *testing.T) {
	dir := t.TempDir()
	if f := examineDisk(dir); strings.Contains(f.Detail, "written") {
		t.Errorf("%+v", f)
	}
	file := filepath.Join(dir, "file") // root may write into any directory
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if f := examineDisk(file); f.OK || !strings.Contains(f.Detail, "written") {
		t.Errorf("%+v", f)
	}
}
