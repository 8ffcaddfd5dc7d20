package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/ergoflow/ergoflow/internal/boltfile"
)

// Verified is what Verify read.
type Verified struct {
	Models   int      `json:"models"`
	Versions int      `json:"versions"`
	Weights  int      `json:"weights"`   // files
	Bytes    int64    `json:"bytes"`     // of these files
	LeftOver []string `json:"left_over"` // files that no version names; Prune removes them
}

// Verify reads the whole registry: the tree of registry.db and its records, what refers to
// what, and the hash of every file of weights. The error names all that is damaged.
func (r *Registry) Verify(ctx context.Context) (found Verified, err error) {
	weights := make(map[string]Version) // one version for each file
	var damage []error
	err = r.view(ctx, "verify", func(models *bbolt.Bucket) error {
		damage = append(damage, boltfile.Check(models.Tx()))
		for _, name := range modelNames(models) {
			s, err := find(models, name)
			if err != nil {
				damage = append(damage, err)
				continue
			}
			found.Models++
			found.Versions += s.verify(weights, &damage)
		}
		return nil
	})
	if err != nil {
		return found, err
	}
	used := make(map[string]bool)
	for _, sum := range slices.Sorted(maps.Keys(weights)) {
		if err := context.Cause(ctx); err != nil {
			return found, err
		}
		v := weights[sum]
		used[sum] = true
		err := r.checkWeights(ctx, v.Weights)
		if err != nil && r.pruned(ctx, v) {
			continue
		}
		if err != nil {
			damage = append(damage, fmt.Errorf("weights of %s: %w", v.Ref(), err))
			continue
		}
		found.Weights++
		found.Bytes += v.Weights.Bytes
	}
	left, err := r.leftOver(ctx, used)
	found.LeftOver = append([]string{}, left...)
	return found, r.name("verify", errors.Join(append(damage, err)...))
}

// pruned reports whether a version was removed meanwhile.
func (r *Registry) pruned(ctx context.Context, v Version) bool {
	_, err := r.Get(ctx, v.Ref())
	return errors.Is(err, ErrNotFound)
}

// verify checks what the parts of a model say of each other.
func (s shelf) verify(weights map[string]Version, damage *[]error) (versions int) {
	fail := func(text string, args ...any) {
		*damage = append(*damage, corrupt("model "+s.model+": "+text, args...))
	}
	h, err := s.head()
	if err != nil {
		*damage = append(*damage, err)
	}
	for _, n := range s.numbers() {
		versions++
		v, err := s.whole(n)
		switch {
		case err != nil:
			*damage = append(*damage, err)
			continue
		case v.Number != n || v.Model != s.model || n < 1 || n > h.Last:
			fail("version %d calls itself %s, and the last is %d", n, v.Ref(), h.Last)
		case v.Key != "" && !bytes.Equal(s.in(bucketKeys).Get([]byte(v.Key)), key(n)):
			fail("the key of version %d is another version's", n)
		}
		weights[v.Weights.name()] = v
	}
	s.each(bucketDetails, fail, func(k, _ []byte) bool { return s.has(number(k)) })
	s.each(bucketConfigs, fail, func(sum, config []byte) bool { return hashes(config, sum) })
	s.each(bucketKeys, fail, func(_, n []byte) bool { return s.has(number(n)) })
	s.each(bucketPromotions, fail, func(_, n []byte) bool { return s.in(bucketHistory).Get(n) != nil })
	s.each(bucketAliases, fail, func(_, value []byte) bool {
		var h holding
		if decode(value, &h) != nil || h.Version > 0 && !s.has(h.Version) {
			return false
		}
		e, err := s.entry(h.Entry)
		return err == nil && e.Version == h.Version
	})
	last := 0
	s.each(bucketHistory, fail, func(k, _ []byte) bool {
		last++
		_, err := s.entry(number(k))
		return err == nil && number(k) == last
	})
	if value := s.in(nil).Get(keyLock); value != nil {
		var l lock
		if err := decode(value, &l); err != nil {
			fail("its lock: %w", err)
		} else if l.Fence > h.Fence {
			fail("its lock has the fencing number %d, and the last is %d", l.Fence, h.Fence)
		}
	}
	return versions
}

// each names the entries of a bucket that are not sound.
func (s shelf) each(bucket []byte, fail func(string, ...any), sound func(key, value []byte) bool) {
	cursor := s.in(bucket).Cursor()
	for k, value := cursor.First(); k != nil; k, value = cursor.Next() {
		if !sound(k, value) {
			fail("entry %q of its %s refers to nothing, or is damaged", k, bucket)
		}
	}
}
