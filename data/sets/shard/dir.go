package shard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ergoflow/ergoflow/internal/gitlfs"
	"github.com/ergoflow/ergoflow/internal/safetensors"
)

// Dir is a store of shards in a directory, which several processes may share.
type Dir struct{ root string }

// NewDir uses the directory root, which the first writer creates.
func NewDir(root string) *Dir { return &Dir{root} }

// Root is the store's directory.
func (d *Dir) Root() string { return d.root }

const (
	dataSuffix     = ".safetensors"
	manifestSuffix = ".json"
)

func fileName(shard int) string { return fmt.Sprintf("shard-%05d", shard) }

// dataPath is the data file of a shard with that path without suffixes. Files of another
// origin have names of their own: a writer that makes the shard at the same time never puts
// its data under their manifest.
func dataPath(base string, origin *Origin) string {
	if origin == nil {
		return base + dataSuffix
	}
	return fmt.Sprintf("%s.of-%.12s-%05d%s", base, origin.Dataset, origin.Shard, dataSuffix)
}

// base is the path of a shard without its suffixes. It fails with ErrNotFound
// if the store has nothing of the data set, and with ErrLink if the directory is a link
// to another's.
func (d *Dir) base(hash string, shard int) (string, error) {
	if err := checkHash(hash); err != nil {
		return "", err
	}
	sets, err := d.sets()
	if err != nil {
		return "", err
	}
	for _, s := range sets {
		if s.hash == hash {
			return filepath.Join(s.path, fileName(shard)), checkDir(s.path, hash)
		}
	}
	return "", fmt.Errorf("data set %s in %s: %w", hash, d.root, ErrNotFound)
}

// Manifest reads a committed shard's manifest; ErrNotFound if there is none.
func (d *Dir) Manifest(hash string, shard int) (Manifest, error) {
	base, err := d.base(hash, shard)
	if err != nil {
		return Manifest{}, err
	}
	m, _, err := manifestAt(base, hash, shard)
	return m, err
}

// manifestAt reads the manifest of a shard with that path without suffixes, and its content.
func manifestAt(base, hash string, shard int) (m Manifest, content []byte, err error) {
	m, content, err = readManifest(base + manifestSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return Manifest{}, nil, fmt.Errorf("%s: %w", base+manifestSuffix, ErrNotFound)
	}
	if err != nil {
		return Manifest{}, nil, err
	}
	if m.Dataset != hash || m.Shard != shard {
		return Manifest{}, nil, fmt.Errorf("%s: %w: it is of shard %d of %s", base+manifestSuffix, ErrCorrupt, m.Shard, m.Dataset)
	}
	return m, content, nil
}

// Has reports whether a shard is committed and can be opened, so that it need not be made. A
// damaged header or length counts as missing, so that the shard is made again. Only Verify
// finds damaged data.
func (d *Dir) Has(hash string, shard int) bool {
	s, err := d.Open(hash, shard)
	if err != nil {
		return false
	}
	return s.Close() == nil
}

func checkSize(path string, m Manifest) error {
	stat, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w: there is a manifest but no data", path, ErrCorrupt)
	}
	if err != nil {
		return err
	}
	if stat.Size() != m.Bytes {
		if pointer := checkPointer(path); pointer != nil {
			return fmt.Errorf("%s: %w: %w", path, ErrCorrupt, pointer)
		}
		return fmt.Errorf("%s: %w: %d bytes, the manifest says %d", path, ErrCorrupt, stat.Size(), m.Bytes)
	}
	return nil
}

// checkPointer is gitlfs.ErrPointer where Git LFS keeps the file's content.
func checkPointer(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil // the caller's own error says more
	}
	defer f.Close()
	head := make([]byte, gitlfs.Head)
	n, _ := io.ReadFull(f, head)
	return gitlfs.Check(head[:n])
}

// Open maps a committed shard after checking lengths, header and manifest
// against one another; ErrNotFound if it is not there, ErrCorrupt if they
// differ. It does not read the data: see [Dir.Verify].
func (d *Dir) Open(hash string, shard int) (*Shard, error) {
	base, err := d.base(hash, shard)
	if err != nil {
		return nil, err
	}
	m, _, err := manifestAt(base, hash, shard)
	if err != nil {
		return nil, err
	}
	path := dataPath(base, m.Origin)
	if err := checkSize(path, m); err != nil {
		return nil, err
	}
	file, err := safetensors.Open(path)
	if errors.Is(err, safetensors.ErrFormat) {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if err != nil {
		return nil, err
	}
	s, err := newShard(file, m)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w: %w", path, ErrCorrupt, err), file.Close())
	}
	return s, nil
}

// verifyBytes are read between checks of the context.
const verifyBytes = 4 << 20

// Verify checks what Open checks, and compares the SHA-256 of the data with the manifest;
// ErrCorrupt if they differ. It ends with ctx.
func (d *Dir) Verify(ctx context.Context, hash string, shard int) error {
	s, err := d.Open(hash, shard)
	if err != nil {
		return err
	}
	m := s.Manifest()
	if err := s.Close(); err != nil {
		return err
	}
	base, err := d.base(hash, shard)
	if err != nil {
		return err
	}
	f, err := os.Open(dataPath(base, m.Origin))
	if err != nil {
		return err
	}
	defer f.Close()
	got, err := hashOf(ctx, f)
	if err != nil {
		return err
	}
	if got != m.SHA256 {
		return fmt.Errorf("%s: %w: SHA-256 is %s, the manifest says %s", f.Name(), ErrCorrupt, got, m.SHA256)
	}
	return nil
}

// List returns the manifests of all committed shards of all data sets, ordered by family,
// data set and number. It returns all manifests that it can read; the error joins one for
// each of the others, and for each directory that is not one of a data set (links.go).
func (d *Dir) List() ([]Manifest, error) {
	sets, err := d.sets()
	if err != nil {
		return nil, err
	}
	all := []Manifest{}
	var bad []error
	for _, s := range sets {
		if err := checkDir(s.path, s.hash); err != nil {
			bad = append(bad, err)
			continue
		}
		manifests, err := manifestsIn(s.path, s.hash)
		if err != nil {
			bad = append(bad, err)
		}
		all = append(all, manifests...)
	}
	return all, errors.Join(bad...)
}

func manifestsIn(dir, hash string) ([]Manifest, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []Manifest
	var bad []error
	for _, e := range entries {
		number, ok := strings.CutPrefix(strings.TrimSuffix(e.Name(), manifestSuffix), "shard-")
		k, err := strconv.Atoi(number)
		if !ok || err != nil || e.Name() != fileName(k)+manifestSuffix {
			continue
		}
		m, _, err := manifestAt(filepath.Join(dir, fileName(k)), hash, k)
		if errors.Is(err, ErrNotFound) { // replaced since ReadDir
			continue
		}
		if err != nil {
			bad = append(bad, err)
			continue
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b Manifest) int { return cmp.Compare(a.Shard, b.Shard) })
	return all, errors.Join(bad...)
}
