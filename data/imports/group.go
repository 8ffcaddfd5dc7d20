package imports

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// settled is how long a file in a watched directory must not have changed: before, it may
// still be being written.
const settled = 3 * time.Second

// group are the files of one import.
type group struct {
	main         string            // x.safetensors, or x.npy with the samples
	fields       map[string]string // x.<field>.npy by the name of the field
	descriptions []string          // x.json, x.yaml or x.yml: at most one, or there is a conflict
	conflict     string            // why it cannot be read; may be empty
}

// arrays are the files of arrays by the name of the tensor.
func (g group) arrays() map[string]string {
	all := map[string]string{samplesName: g.main}
	for name, path := range g.fields {
		all[name] = path
	}
	return all
}

// paths are all files of the group, main first.
func (g group) paths() []string {
	all := []string{g.main}
	for _, path := range g.fields {
		all = append(all, path)
	}
	slices.Sort(all[1:])
	return append(all, g.descriptions...)
}

// found are the files of a directory.
type found struct {
	groups     []group  // by the names of their main files
	orphans    []string // arrays and descriptions that belong to no samples
	unfinished []string // their names say that they are still being written
}

// scan finds the groups among the files of a directory. It passes over directories, hidden
// files and files of other kinds.
func scan(dir string, fields []string) (all found, err error) {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return found{}, err
	}
	var parts []string // arrays of fields and descriptions
	of := map[string]int{}
	for _, e := range entries {
		name := e.Name()
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.Mode().IsRegular() || strings.HasPrefix(name, ".") {
			continue
		}
		stem, field := stemOf(name, fields)
		switch ext := filepath.Ext(name); {
		case slices.Contains([]string{".tmp", ".part", ".partial"}, ext):
			all.unfinished = append(all.unfinished, name)
		case ext == ".safetensors", ext == ".npy" && field == "":
			g := group{main: filepath.Join(dir, name), fields: map[string]string{}}
			if other, ok := of[stem]; ok {
				g.conflict = fmt.Sprintf("%s has the same name: rename one of them", filepath.Base(all.groups[other].main))
			} else {
				of[stem] = len(all.groups)
			}
			all.groups = append(all.groups, g)
		case ext == ".npy", slices.Contains(descriptions, ext):
			parts = append(parts, name)
		}
	}
	for _, name := range parts {
		stem, field := stemOf(name, fields)
		at, ok := of[stem]
		if !ok || field != "" && filepath.Ext(all.groups[at].main) != ".npy" {
			all.orphans = append(all.orphans, name)
			continue
		}
		g, path := &all.groups[at], filepath.Join(dir, name)
		if field != "" {
			g.fields[field] = path
			continue
		}
		if g.descriptions = append(g.descriptions, path); len(g.descriptions) > 1 {
			g.conflict = fmt.Sprintf("%s and %s both describe it: remove one of them", filepath.Base(g.descriptions[0]), name)
		}
	}
	return all, nil
}

var descriptions = []string{".json", ".yaml", ".yml"}

// stemOf is the name without its suffixes, and the field that x.<field>.npy names.
func stemOf(name string, fields []string) (stem, field string) {
	stem = strings.TrimSuffix(name, filepath.Ext(name))
	if at := strings.LastIndexByte(stem, '.'); at > 0 && filepath.Ext(name) == ".npy" && slices.Contains(fields, stem[at+1:]) {
		return stem[:at], stem[at+1:]
	}
	return stem, ""
}

// fingerprint is what os.Stat says of all files: the same one means the same content, unless
// a program sets times back. changed is the latest change.
func (g group) fingerprint() (text string, changed time.Time, err error) {
	var parts []string
	for _, path := range g.paths() {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return "", changed, errChanged
		}
		if err != nil {
			return "", changed, err
		}
		parts = append(parts, fmt.Sprintf("%s %d %d", filepath.Base(path), info.Size(), info.ModTime().UnixNano()))
		if info.ModTime().After(changed) {
			changed = info.ModTime()
		}
	}
	return strings.Join(parts, "\n"), changed, nil
}
