package backend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// ErrPip means that python3 or its pip is missing.
var ErrPip = errors.New("python3 with pip is needed to download plugins (on Debian: apt install python3-pip)")

// Install downloads the plugin of that kind, cpu or cuda, into the user's cache and
// tests it by a computation in a child process. It keeps an installed plugin that
// works. It writes progress to w. Open does not see an interrupted installation.
func Install(ctx context.Context, kind string, w io.Writer) error {
	return install(ctx, kind, true, w)
}

// InstallUntested is Install without the computation: for an image, made on a machine without
// the device.
func InstallUntested(ctx context.Context, kind string, w io.Writer) error {
	return install(ctx, kind, false, w)
}

func install(ctx context.Context, kind string, test bool, w io.Writer) error {
	var p plugin
	for _, candidate := range plugins {
		if candidate.kind == kind {
			p = candidate
		}
	}
	if p.kind == "" {
		return fmt.Errorf("%w %q: install cpu or cuda", ErrUnknown, kind)
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return fmt.Errorf("plugins exist for linux/amd64 only, this is %s/%s: use the backend go", runtime.GOOS, runtime.GOARCH)
	}
	if err := p.loadable(); err != nil && test {
		return fmt.Errorf("backend %s: %w", p.backend, err)
	}
	if path, _, err := p.installed(); err == nil {
		if !test {
			fmt.Fprintf(w, "%s %s is installed\n", p.backend, p.version)
			return nil
		}
		if device, err := probe(p.backend, path); err == nil {
			fmt.Fprintf(w, "%s %s is installed and works: %s\n", p.backend, p.version, device)
			return nil
		}
	}
	python, err := findPython(ctx)
	if err != nil {
		return err
	}
	if err := p.install(ctx, python, test, w); err != nil {
		return fmt.Errorf("install %s: %w", p.backend, err)
	}
	return nil
}

func findPython(ctx context.Context) (string, error) {
	python, err := exec.LookPath("python3")
	if err != nil {
		return "", ErrPip
	}
	if out, err := exec.CommandContext(ctx, python, "-m", "pip", "--version").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", ErrPip, lastLine(string(out)))
	}
	return python, nil
}

// install unpacks the plugin in a temporary directory, tests it there if that is wanted, and
// then moves it to its final place.
func (p plugin) install(ctx context.Context, python string, test bool, w io.Writer) (err error) {
	final, err := p.dir()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(final), 0o755); err != nil {
		return err
	}
	// In the final directory's parent, so that the rename stays on one file system.
	work, err := os.MkdirTemp(filepath.Dir(final), "."+p.kind+"-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()

	unpacked := filepath.Join(work, "unpacked")
	if err := p.unpackWheels(ctx, python, work, unpacked, w); err != nil {
		return err
	}
	result := "is not tested"
	if test {
		device, err := probe(p.backend, filepath.Join(unpacked, p.object))
		if err != nil {
			return err
		}
		result = "works: " + device
	}
	if err := p.writeManifest(unpacked); err != nil {
		return err
	}
	// Remove an older installation that does not work. A process that has loaded it
	// keeps its mapping.
	if err := os.RemoveAll(final); err != nil {
		return err
	}
	if err := os.Rename(unpacked, final); err != nil {
		return err
	}
	fmt.Fprintf(w, "%s %s %s\ninstalled in %s\n", p.backend, p.version, result, final)
	return nil
}

// unpackWheels downloads the wheels to work, one after the other, and unpacks them to
// dir.
func (p plugin) unpackWheels(ctx context.Context, python, work, dir string, w io.Writer) error {
	for _, part := range p.wheels {
		fmt.Fprintf(w, "downloading %s %s with pip\n", part.name, part.version)
		file, err := part.download(ctx, python, filepath.Join(work, "wheels"), w)
		if err != nil {
			return err
		}
		if err := part.unpack(ctx, file, dir); err != nil {
			return err
		}
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return nil
}

// writeManifest writes the manifest of a plugin that is unpacked in dir.
func (p plugin) writeManifest(dir string) error {
	sum, size, err := hashFile(filepath.Join(dir, p.object))
	if err != nil {
		return err
	}
	manifest, err := json.MarshalIndent(installation{Version: p.version, Object: p.object, Bytes: size, SHA256: sum}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, manifestName), manifest, 0o644)
}
