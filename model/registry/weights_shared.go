package registry

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/internal/atomicfile"
)

// Weights in a bucket are objects of one version each, also where two versions have the same
// bytes. So who removes a version removes what nobody else needs. Files beside registry.db are
// copies of them, by hash.

// objectName matches what tells objects with the same bytes apart.
var objectName = regexp.MustCompile(`^[A-Z0-9]{1,64}$`)

// name tells the weights of a version from those that others have: their hash, in a bucket with
// the object.
func (w Weights) name() string {
	if w.Object == "" {
		return w.SHA256
	}
	return w.SHA256 + "." + w.Object
}

func (w Weights) key() string { return weightsRoot + w.name() }

// put puts weights under an object of their own.
func (s *shared) put(ctx context.Context, content []byte) (Weights, error) {
	w := describe(content)
	w.Object = rand.Text()
	return w, s.objects.Put(ctx, w.key(), bytes.NewReader(content), w.Bytes)
}

// has reports whether the bucket has weights, by their length.
func (s *shared) has(ctx context.Context, w Weights) bool {
	o, err := s.objects.Stat(ctx, w.key())
	return err == nil && o.Bytes == w.Bytes
}

// read reads weights from the bucket, and verifies them.
func (s *shared) read(ctx context.Context, w Weights) ([]byte, error) {
	content, err := store.Read(ctx, s.objects, w.key(), w.Bytes)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrRange) {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if err != nil {
		return nil, err
	}
	if got := describe(content); got.SHA256 != w.SHA256 || got.Bytes != w.Bytes {
		return nil, corrupt("%s in %s has %d bytes and SHA-256 %.12s…, not %d bytes", w.key(), s.objects, got.Bytes, got.SHA256, w.Bytes)
	}
	return content, nil
}

// readShared reads weights from their copy on this machine, or else from the bucket, and keeps a
// copy.
func (r *Registry) readShared(ctx context.Context, w Weights) ([]byte, error) {
	local := w
	local.Object = ""
	if content, err := r.readFile(local); err == nil {
		return content, nil
	}
	content, err := r.shared.read(ctx, w)
	if err != nil {
		return nil, err
	}
	if err := r.make(); err == nil {
		_ = atomicfile.Write(r.weightsPath(w), content) // without the copy it is read from the bucket again
	}
	return content, nil
}

// weights lists the objects of weights in the bucket, by name.
func (s *shared) weights(ctx context.Context) (all map[string]store.Object, err error) {
	list, err := s.objects.List(ctx, weightsRoot)
	if err != nil {
		return nil, err
	}
	all = make(map[string]store.Object)
	for _, o := range list {
		all[o.Key[len(weightsRoot):]] = o
	}
	return all, nil
}

// cleanShared removes the objects of versions that were removed, and those of a day ago that no
// version names: somebody put them who was interrupted.
func (r *Registry) cleanShared(ctx context.Context, used map[string]bool, removed *Pruned, dryRun bool) error {
	all, err := r.shared.weights(ctx)
	if err != nil {
		return err
	}
	freed := make(map[string]bool)
	for _, v := range removed.Versions {
		freed[v.Weights.name()] = true
	}
	for name, o := range all {
		if used[name] || !freed[name] && time.Since(o.Made) < staleAfter {
			continue
		}
		if !dryRun {
			if err := r.shared.objects.Delete(ctx, o.Key); err != nil {
				return err
			}
		}
		removed.Files = append(removed.Files, name)
		removed.Bytes += o.Bytes
	}
	return nil
}
