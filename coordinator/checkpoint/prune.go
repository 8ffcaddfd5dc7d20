package checkpoint

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"go.etcd.io/bbolt"
)

// Delete removes a checkpoint, named as for Get.
func (s *Store) Delete(id string) error {
	return s.guard("delete", func() error {
		return s.db.Update(func(tx *bbolt.Tx) error {
			c, err := find(tx, id)
			if err != nil {
				return err
			}
			return remove(tx, c)
		})
	})
}

func remove(tx *bbolt.Tx, c stored) error {
	manifest := tx.Bucket(bucketManifests).Get(c.key)
	for len(manifest) >= 32 {
		// Cloned: puts and deletes may move the bytes that the slice refers to.
		if err := dropChunk(tx, slices.Clone(manifest[:32])); err != nil {
			return err
		}
		manifest = manifest[32:]
	}
	return errors.Join(tx.Bucket(bucketManifests).Delete(c.key), tx.Bucket(bucketCheckpoints).Delete(c.key))
}

// Prune keeps of every run the first keep checkpoints (at least one), as Run orders them,
// and the best ones by loss. It deletes the others and returns them.
func (s *Store) Prune(keep, best int) (deleted []Info, err error) {
	err = s.guard("prune", func() error {
		return s.db.Update(func(tx *bbolt.Tx) error {
			deleted = nil
			all, _ := list(tx) // checkpoints without a readable description stay
			retained := retain(all, max(keep, 1), best)
			for _, c := range all {
				if retained[string(c.key)] {
					continue
				}
				if err := remove(tx, c); err != nil {
					return err
				}
				deleted = append(deleted, c.info)
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return deleted, nil
}

// retain returns the keys of what Prune keeps.
func retain(all []stored, keep, best int) map[string]bool {
	runs := make(map[string][]stored)
	for _, c := range all {
		runs[c.info.Run] = append(runs[c.info.Run], c)
	}
	retained := make(map[string]bool)
	for _, run := range runs {
		slices.SortStableFunc(run, func(a, b stored) int {
			return cmp.Or(b.info.Mark().Compare(a.info.Mark()), slices.Compare(b.key, a.key))
		})
		for _, c := range run[:min(keep, len(run))] {
			retained[string(c.key)] = true
		}
		run = slices.DeleteFunc(run, func(c stored) bool { return math.IsNaN(float64(c.info.Loss)) })
		slices.SortStableFunc(run, func(a, b stored) int { return cmp.Compare(a.info.Loss, b.info.Loss) })
		for _, c := range run[:min(best, len(run))] {
			retained[string(c.key)] = true
		}
	}
	return retained
}
