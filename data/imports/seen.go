package imports

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"

	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/internal/atomicfile"
)

// seen remembers which files were imported as what, so that a watched directory in which
// nothing changed is not read again. It is a cache: without it, files are read and found to be
// known.
type seen struct {
	path    string
	files   map[string]entry // by the path of the main file
	changed bool
}

type entry struct {
	Fingerprint string `json:"fingerprint"`
	Family      string `json:"family"`
	Hash        string `json:"hash"`
}

const maxSeen = 64 << 20 // bytes

func readSeen(store *shard.Dir, name string) *seen {
	s := &seen{path: filepath.Join(directory(store, name), "seen.json"), files: map[string]entry{}}
	f, err := os.Open(s.path)
	if err != nil {
		return s
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxSeen))
	if err != nil || json.Unmarshal(raw, &s.files) != nil || s.files == nil {
		s.files = map[string]entry{}
	}
	return s
}

func key(g group) string {
	if path, err := filepath.Abs(g.main); err == nil {
		return path
	}
	return g.main
}

// hash is that of the import that a group of files was; empty if it is not known.
func (s *seen) hash(g group, fingerprint, family string) string {
	if e := s.files[key(g)]; e.Fingerprint == fingerprint && e.Family == family {
		return e.Hash
	}
	return ""
}

func (s *seen) note(g group, fingerprint, family, hash string) {
	s.files[key(g)] = entry{fingerprint, family, hash}
	s.changed = true
}

// write keeps the cache, without the files that are no longer there.
func (s *seen) write() error {
	if !s.changed {
		return nil
	}
	maps.DeleteFunc(s.files, func(path string, _ entry) bool {
		_, err := os.Stat(path)
		return err != nil
	})
	raw, err := json.Marshal(s.files)
	if err != nil {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	return atomicfile.Write(s.path, raw)
}
