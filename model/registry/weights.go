package registry

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
	"regexp"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/internal/atomicfile"
	"github.com/ergoflow/ergoflow/internal/disk"
)

// maxWeights bounds a file of weights: a state and its seal.
const maxWeights = ergoflow.MaxState + 1<<20

const weightsSuffix = ".safetensors"

// weightsName matches the names of files of weights.
var weightsName = regexp.MustCompile(`^[0-9a-f]{64}\.safetensors$`)

func (r *Registry) weightsDir() string { return filepath.Join(r.dir, "weights") }

func (r *Registry) weightsPath(w Weights) string {
	return filepath.Join(r.weightsDir(), w.SHA256+weightsSuffix)
}

// place names where weights are to people.
func (r *Registry) place(w Weights) string {
	if r.shared != nil {
		return w.key()
	}
	return r.weightsPath(w)
}

// check refuses a description that no file of weights has.
func (w Weights) check() error {
	if !weightsName.MatchString(w.SHA256+weightsSuffix) || w.Bytes < 1 || w.Bytes > maxWeights || w.Object != "" && !objectName.MatchString(w.Object) {
		return corrupt("weights %.64q of %d bytes", w.SHA256, w.Bytes)
	}
	return nil
}

// describe is the description of a file of weights.
func describe(content []byte) Weights {
	sum := sha256.Sum256(content)
	return Weights{SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(content))}
}

// storeWeights makes content durable under its hash. A file that is there already and whole
// stays. In a bucket they are an object of their own.
func (r *Registry) storeWeights(ctx context.Context, content []byte) (Weights, error) {
	if r.shared != nil {
		return r.shared.put(ctx, content)
	}
	w := describe(content)
	if err := r.checkFile(w); err == nil {
		return w, atomicfile.SyncDir(r.weightsDir()) // another process may have been killed before it did
	}
	err := atomicfile.Write(r.weightsPath(w), content)
	if disk.Full(err) {
		err = &disk.FullError{Dir: r.weightsDir(), Bytes: w.Bytes, Err: err}
	}
	return w, err
}

// readWeights reads weights and verifies them.
func (r *Registry) readWeights(ctx context.Context, w Weights) ([]byte, error) {
	if err := w.check(); err != nil {
		return nil, err
	}
	if r.shared != nil {
		return r.readShared(ctx, w)
	}
	return r.readFile(w)
}

// readFile reads a file of weights and verifies it.
func (r *Registry) readFile(w Weights) ([]byte, error) {
	content, err := readBounded(r.weightsPath(w), w.Bytes)
	if err != nil {
		return nil, err
	}
	if got := describe(content); got != w {
		return nil, corrupt("%s has %d bytes and SHA-256 %.12s…, not %d bytes", r.weightsPath(w), got.Bytes, got.SHA256, w.Bytes)
	}
	return content, nil
}

// checkWeights verifies weights, of a bucket those that are there.
func (r *Registry) checkWeights(ctx context.Context, w Weights) error {
	if err := w.check(); err != nil {
		return err
	}
	if r.shared != nil {
		_, err := r.shared.read(ctx, w)
		return err
	}
	return r.checkFile(w)
}

// checkFile is readFile in little memory.
func (r *Registry) checkFile(w Weights) error {
	if err := w.check(); err != nil {
		return err
	}
	f, err := os.Open(r.weightsPath(w))
	if err != nil {
		return missing(err)
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(f, w.Bytes+1))
	if err != nil {
		return err
	}
	if n != w.Bytes || hex.EncodeToString(sum.Sum(nil)) != w.SHA256 {
		return corrupt("%s is not what its name says", r.weightsPath(w))
	}
	return nil
}

// hasWeights reports whether the weights are there, without reading them.
func (r *Registry) hasWeights(ctx context.Context, w Weights) bool {
	if r.shared != nil {
		return r.shared.has(ctx, w)
	}
	info, err := os.Stat(r.weightsPath(w))
	return err == nil && info.Mode().IsRegular() && info.Size() == w.Bytes
}

// staleAfter is the age at which a temporary file is one of a process that was killed: no
// copy takes that long.
const staleAfter = 24 * time.Hour

// leftOver lists files that no version in use needs: weights, and what killed processes left.
func (r *Registry) leftOver(ctx context.Context, used map[string]bool) (names []string, err error) {
	if r.shared != nil {
		all, err := r.shared.weights(ctx)
		for name := range all {
			if !used[name] {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return names, err
	}
	entries, err := os.ReadDir(r.weightsDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name := e.Name()
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue // removed meanwhile, or not ours
		}
		temporary := name[0] == '.' && time.Since(info.ModTime()) > staleAfter
		if temporary || weightsName.MatchString(name) && !used[name[:64]] {
			names = append(names, name)
		}
	}
	return names, nil
}

// readBounded reads a file of at most so many bytes.
func readBounded(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, missing(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, corrupt("%s is no file of at most %d bytes", path, most)
	}
	return io.ReadAll(io.LimitReader(f, most+1))
}

// missing calls a file that is not there damage.
func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return err
}

func corrupt(text string, args ...any) error {
	return fmt.Errorf("%w: "+text, append([]any{ErrCorrupt}, args...)...)
}
