package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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
