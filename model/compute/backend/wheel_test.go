package backend

import (
	"archive/zip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func writeZip(t *testing.T, files map[string]string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.whl")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w := zip.NewWriter(file)
	for name, text := range files {
		entry, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := entry.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestUnpack(t *testing.T) {
	ctx := context.Background()
	file := writeZip(t, map[string]string{"a/lib.so": "library", "a/lib.so.extra": "no", "nvidia/x/y": "deep", "b": "no"})
	dir := t.TempDir()
	for _, w := range []wheel{{from: "a/lib.so", to: "plugin.so"}, {from: "nvidia/", to: "nvidia/"}} {
		if err := w.unpack(ctx, file, dir); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"plugin.so": "library", "nvidia/x/y": "deep"} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("unpacked %v", entries)
	}
	if err := (wheel{from: "c", to: "c"}).unpack(ctx, file, t.TempDir()); err == nil {
		t.Error("found what is not there")
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := (wheel{from: "a/lib.so", to: "p"}).unpack(cancelled, file, t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestUnpackStaysInside(t *testing.T) {
	dir := t.TempDir()
	inner := filepath.Join(dir, "inner")
	file := writeZip(t, map[string]string{"nvidia/../../evil": "x"})
	if err := (wheel{from: "nvidia/", to: "nvidia/"}).unpack(context.Background(), file, inner); err == nil {
		t.Error("unpacked a path that leads outside")
	}
	if _, err := os.Stat(filepath.Join(dir, "evil")); err == nil {
		t.Error("wrote outside")
	}
}

// Without the test a plugin is installed that this machine cannot load, and with it nothing is.
func TestInstallUntested(t *testing.T) {
	file := writeZip(t, map[string]string{"a/lib.so": "no library"})
	sum, _, err := hashFile(file)
	if err != nil {
		t.Fatal(err)
	}
	python := filepath.Join(t.TempDir(), "python3")
	script := "#!/bin/sh\nwhile [ $# -gt 0 ]; do [ \"$1\" = --dest ] && dest=$2; shift; done\nmkdir -p \"$dest\" && cp " + file + " \"$dest/a_plugin-1-any.whl\"\n"
	if err := os.WriteFile(python, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ERGOFLOW_CACHE", t.TempDir())
	p := plugin{kind: "a", backend: XLACUDA, version: "1", object: "plugin.so", needsGPU: true,
		wheels: []wheel{{"a-plugin", "1", sum, "a/lib.so", "plugin.so"}}}
	if err := p.install(t.Context(), python, true, io.Discard); err == nil {
		t.Error("a plugin that does not load is installed")
	}
	if _, err := p.info(); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("after the failure: %v", err)
	}
	if err := p.install(t.Context(), python, false, io.Discard); err != nil {
		t.Fatal(err)
	}
	if info, err := p.info(); err != nil || info.Version != "1" {
		t.Errorf("it is not installed: %+v, %v", info, err)
	}
}
