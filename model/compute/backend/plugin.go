package backend

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// plugin is an XLA plugin that Install can install from pinned wheels.
type plugin struct {
	kind     string // name for Install
	backend  string // name for Open
	version  string
	wheels   []wheel
	object   string // the shared object, relative to the directory of the plugin
	needsGPU bool
}

// installation is the manifest beside an unpacked plugin. Install writes it last, so
// that a directory with a manifest is complete.
type installation struct {
	Version string `json:"version"`
	Object  string `json:"object"`
	Bytes   int64  `json:"bytes"`
	SHA256  string `json:"sha256"` // of the shared object
}

const manifestName = "installed.json"

// Info is the status of one backend on this machine.
type Info struct {
	Backend   string `json:"backend"`
	Installed bool   `json:"installed"`
	Version   string `json:"version,omitempty"`
	Path      string `json:"path,omitempty"`
	Works     bool   `json:"works"`
	Device    string `json:"device,omitempty"`
	Problem   string `json:"problem,omitempty"` // why it does not work
}

// byPreference are the backends with plugins, in auto's order.
var byPreference = []string{XLACUDA, XLACPU}

// Installed returns the backends whose plugins are installed, in auto's order of preference. It
// does not load them: whether they work is not said.
func Installed() []Info {
	var list []Info
	for _, name := range byPreference {
		if info, err := plugins[name].info(); err == nil {
			list = append(list, info)
		}
	}
	return list
}

func (p plugin) info() (Info, error) {
	path, found, err := p.installed()
	if err != nil {
		return Info{Backend: p.backend}, err
	}
	return Info{Backend: p.backend, Installed: true, Version: found.Version, Path: path}, nil
}

// loadable returns why this program cannot load the plugin on this machine, if it cannot.
func (p plugin) loadable() error {
	switch {
	case !canLoad:
		return ErrNoCgo
	case p.needsGPU && !hasGPU():
		return ErrNoGPU
	}
	return nil
}

// List returns every backend in auto's order of preference. It tests each installed
// plugin by a small computation in a child process.
func List() []Info {
	var list []Info
	for _, name := range byPreference {
		p := plugins[name]
		info, err := p.info()
		if cannot := p.loadable(); cannot != nil {
			err = cannot
		}
		if err == nil {
			info.Device, err = probe(name, info.Path)
		}
		if err != nil {
			info.Problem = err.Error()
		}
		info.Works = err == nil
		list = append(list, info)
	}
	b, err := openGo()
	if err != nil {
		return append(list, Info{Backend: Go, Problem: err.Error()})
	}
	defer b.Close()
	return append(list, Info{Backend: Go, Installed: true, Works: true, Device: b.Device})
}

// cacheDir is where plugins are unpacked: $ERGOFLOW_CACHE, or ergoflow in the
// user's cache directory.
func cacheDir() (string, error) {
	if dir := os.Getenv("ERGOFLOW_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache directory (set ERGOFLOW_CACHE): %w", err)
	}
	return filepath.Join(dir, "ergoflow"), nil
}

func (p plugin) dir() (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "plugins", p.kind+"-"+p.version), nil
}

// installed returns the path of the shared object and its manifest. It checks the
// size, not the checksum: the object has hundreds of megabytes.
func (p plugin) installed() (string, installation, error) {
	dir, err := p.dir()
	if err != nil {
		return "", installation{}, err
	}
	file := filepath.Join(dir, manifestName)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", installation{}, fmt.Errorf("backend %s: %w (ergoflow backend install %s)", p.backend, ErrNotInstalled, p.kind)
	}
	if err != nil {
		return "", installation{}, fmt.Errorf("backend %s: %w", p.backend, err)
	}
	var found installation
	if err := json.Unmarshal(text, &found); err != nil {
		return "", installation{}, fmt.Errorf("backend %s: %w: %s: %w", p.backend, ErrDamaged, file, err)
	}
	path := filepath.Join(dir, p.object)
	stat, err := os.Stat(path)
	if err != nil {
		return "", installation{}, fmt.Errorf("backend %s: %w: %w", p.backend, ErrDamaged, err)
	}
	if stat.Size() != found.Bytes {
		return "", installation{}, fmt.Errorf("backend %s: %w: %s has %d bytes instead of %d", p.backend, ErrDamaged, path, stat.Size(), found.Bytes)
	}
	return path, found, nil
}

func openInstalled(p plugin) (*Backend, error) {
	if err := p.loadable(); err != nil {
		return nil, fmt.Errorf("backend %s: %w", p.backend, err)
	}
	path, _, err := p.installed()
	if err != nil {
		return nil, err
	}
	return openXLA(p.backend, path)
}

// TriesGPU reports whether Open would load a plugin for a GPU by that name. It does not load it:
// whether it works is not said.
func TriesGPU(name string) bool {
	if name != Auto && name != "" {
		return name == XLACUDA
	}
	p := plugins[XLACUDA]
	_, _, err := p.installed()
	return err == nil && p.loadable() == nil
}

// hasGPU looks for the device files of NVIDIA's driver.
func hasGPU() bool {
	found, err := filepath.Glob("/dev/nvidia[0-9]*")
	return err == nil && len(found) > 0
}
