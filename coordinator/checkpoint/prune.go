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
			infos := make([]Info, len(all))
			for i, c := range all {
				infos[i] = c.info
			}
			for _, i := range Superfluous(infos, keep, best) {
				if err := remove(tx, all[i]); err != nil {
					return err
				}
				deleted = append(deleted, infos[i])
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return deleted, nil
}

// Superfluous returns the indices of those checkpoints that Prune would delete, in order, of a
// list in the order in which they were saved.
func Superfluous(all []Info, keep, best int) (indices []int) {
	runs := make(map[string][]int)
	for i, info := range all {
		runs[info.Run] = append(runs[info.Run], i)
	}
	retained := make([]bool, len(all))
	for _, run := range runs {
		slices.SortFunc(run, func(a, b int) int { return cmp.Or(all[b].Mark().Compare(all[a].Mark()), cmp.Compare(b, a)) })
		for _, i := range run[:min(max(keep, 1), len(run))] {
			retained[i] = true
		}
		run = slices.DeleteFunc(run, func(i int) bool { return math.IsNaN(float64(all[i].Loss)) })
		slices.SortStableFunc(run, func(a, b int) int { return cmp.Compare(all[a].Loss, all[b].Loss) })
		for _, i := range run[:min(best, len(run))] {
			retained[i] = true
		}
	}
	for i, kept := range retained {
		if !kept {
			indices = append(indices, i)
		}
	}
	return indices
}
