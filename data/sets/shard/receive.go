package shard

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ergoflow/ergoflow/internal/atomicfile"
	"github.com/ergoflow/ergoflow/internal/disk"
)

// maxHeader bounds what a data file has beside its values, in bytes.
const maxHeader = 1 << 20

// ParseManifest reads the content of a manifest file that came from elsewhere, under a name.
func ParseManifest(name string, content []byte) (Manifest, error) {
	m, err := parseManifest(name, content)
	if err == nil {
		err = m.checkBytes(name)
	}
	if err != nil {
		return Manifest{}, err
	}
	return m, nil
}

// checkBytes checks that the data, which have not come yet, may have the length that the manifest
// says.
func (m Manifest) checkBytes(name string) error {
	if most := m.Header.Bytes() + maxHeader; m.Bytes > most {
		return fmt.Errorf("%s: %w: %d bytes of data, at most %d have that shape", name, ErrCorrupt, m.Bytes, most)
	}
	return nil
}

// Copy reads a committed shard's manifest and opens its data, to copy both elsewhere: content is
// that of the manifest's file. It fails with ErrCorrupt where Receive would refuse them.
func (d *Dir) Copy(hash string, shard int) (m Manifest, content []byte, data *os.File, err error) {
	base, err := d.base(hash, shard)
	if err != nil {
		return m, nil, nil, err
	}
	if m, content, err = manifestAt(base, hash, shard); err != nil {
		return m, nil, nil, err
	}
	path := dataPath(base, m.Origin)
	if err := errors.Join(m.checkBytes(base+manifestSuffix), checkSize(path, m)); err != nil {
		return m, nil, nil, err
	}
	data, err = os.Open(path)
	return m, content, data, err
}

// Incoming is a shard that comes from elsewhere. What has come of its data stays when it is
// closed, and the next Receive goes on there.
type Incoming struct {
	manifest Manifest
	content  []byte // of the manifest
	base     string // path without suffix
	file     *os.File
	have     int64
}

// Receive begins or continues a shard with that manifest. One process receives a shard at a
// time. It fails with a *disk.FullError where there is no room.
func (d *Dir) Receive(manifest []byte) (*Incoming, error) {
	m, err := ParseManifest("manifest of a shard", manifest)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(d.root, m.Family+"-"+m.Dataset)
	if err := makeDir(dir, m.Dataset); err != nil {
		return nil, err
	}
	i := &Incoming{manifest: m, content: manifest, base: filepath.Join(dir, fileName(m.Shard))}
	if err := checkFiles(i.base); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, fmt.Sprintf(".%s.%.16s", fileName(m.Shard), m.SHA256)) // as removeStale knows them
	if i.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o644); err != nil {
		return nil, err
	}
	if err := i.resume(); err != nil {
		return nil, errors.Join(err, i.Close())
	}
	return i, nil
}

func (i *Incoming) resume() error {
	info, err := i.file.Stat()
	if err != nil {
		return err
	}
	if i.have = info.Size(); i.have > i.manifest.Bytes {
		return i.Restart()
	}
	if err := atomicfile.Reserve(i.file, filepath.Dir(i.base), i.manifest.Bytes); err != nil {
		return err
	}
	_, err = i.file.Seek(i.have, io.SeekStart)
	return err
}

// Have is how many bytes of the data have come, the first ones.
func (i *Incoming) Have() int64 { return i.have }

// Manifest describes the shard.
func (i *Incoming) Manifest() Manifest { return i.manifest }

// Write appends data. It fails with ErrCorrupt where there is more than the manifest says.
func (i *Incoming) Write(b []byte) (int, error) {
	if int64(len(b)) > i.manifest.Bytes-i.have {
		return 0, fmt.Errorf("shard %d: %w: more than %d bytes", i.manifest.Shard, ErrCorrupt, i.manifest.Bytes)
	}
	n, err := i.file.Write(b)
	i.have += int64(n)
	if disk.Full(err) {
		err = &disk.FullError{Dir: filepath.Dir(i.base), Bytes: i.manifest.Bytes - i.have, Err: err}
	}
	return n, err
}

// Restart drops what has come.
func (i *Incoming) Restart() error {
	i.have = 0
	if err := i.file.Truncate(0); err != nil {
		return err
	}
	_, err := i.file.Seek(0, io.SeekStart)
	return err
}

// Commit makes the shard visible, once all data have come. It reads them from the file, and
// fails with ErrCorrupt where their SHA-256 is not the manifest's: then nothing is visible.
// It ends with ctx.
func (i *Incoming) Commit(ctx context.Context) error {
	if i.have != i.manifest.Bytes {
		return fmt.Errorf("shard %d: %w: %d of %d bytes", i.manifest.Shard, ErrCorrupt, i.have, i.manifest.Bytes)
	}
	if _, err := i.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	got, err := hashOf(ctx, i.file)
	if err != nil {
		return err
	}
	if got != i.manifest.SHA256 {
		return fmt.Errorf("shard %d: %w: SHA-256 is %s, the manifest says %s", i.manifest.Shard, ErrCorrupt, got, i.manifest.SHA256)
	}
	if err := i.file.Sync(); err != nil {
		return err
	}
	// The manifest that is there may be of other bytes.
	if err := os.Remove(i.base + manifestSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(i.file.Name(), dataPath(i.base, i.manifest.Origin)); err != nil {
		return err
	}
	return atomicfile.Write(i.base+manifestSuffix, i.content)
}

// Close ends the reception.
func (i *Incoming) Close() error { return i.file.Close() }

// hashOf is the SHA-256 of what is left of a file, hexadecimal.
func hashOf(ctx context.Context, f *os.File) (string, error) {
	sum := sha256.New()
	var err error
	for err == nil {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		_, err = io.CopyN(sum, f, verifyBytes)
	}
	if !errors.Is(err, io.EOF) {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
