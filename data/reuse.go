package data

import (
	"context"
	"errors"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/sets/shard"
)

// row is a function that need not be made, since a shard has it.
type row struct {
	of *shard.Shard // nil: it has to be made
	i  int          // its place in that shard
}

// fields are the function's stored fields.
func (r row) fields() [][]float32 {
	all := make([][]float32, len(r.of.Fields()))
	for k := range all {
		all[k] = r.of.Field(k, r.i)
	}
	return all
}

func (r row) samples() []float32 { return r.of.Samples(r.i) }

// stored are the functions of a shard that need not be made, by their place in it.
type stored struct {
	rows   []row
	shards []*shard.Shard // open
	found  int
}

// run returns how many functions from place i on have to be made, or how many need not: at
// least one, at most most.
func (s *stored) run(i, most int) (n int, known bool) {
	known = s.rows[i].of != nil
	for n = 1; n < most && (s.rows[i+n].of != nil) == known; n++ {
	}
	return n, known
}

// Close ends the mappings.
func (s *stored) Close() error {
	var err error
	for _, open := range s.shards {
		err = errors.Join(err, open.Close())
	}
	return err
}

// reuse finds the functions of the shard that h describes in other data sets of the store,
// those that were changed last first. It verifies the shards that it takes them from, and
// passes over damaged ones. linked: one of them was the same shard, and is now this one too.
func reuse(ctx context.Context, d Dataset, f family.Family, h shard.Header, recipe string, store *shard.Dir) (s *stored, linked bool, err error) {
	s = &stored{rows: make([]row, h.Count)}
	for manifests := range store.Newest(h.Family) {
		for _, m := range manifests {
			if err := ctx.Err(); err != nil {
				return s, false, err
			}
			if m.Dataset == h.Dataset || !s.wants(h, m) || d.recipeOf(m, f) != recipe {
				continue
			}
			if store.Verify(ctx, m.Dataset, m.Shard) != nil {
				continue // `shards verify` names it
			}
			m.Recipe = recipe
			if m.First == h.First && m.Count == h.Count && store.Link(h, m) == nil {
				return s, true, nil
			}
			if open, err := store.Open(m.Dataset, m.Shard); err == nil {
				s.take(h, open)
			}
		}
		if s.found == h.Count {
			break
		}
	}
	return s, false, ctx.Err()
}

// wants reports whether a shard has functions that are still missing.
func (s *stored) wants(h shard.Header, m shard.Manifest) bool {
	if m.Purpose != h.Purpose || m.Samples != h.Samples || m.Dim != h.Dim {
		return false
	}
	for number := max(h.First, m.First); number < min(h.First+h.Count, m.First+m.Count); number++ {
		if s.rows[number-h.First].of == nil {
			return true
		}
	}
	return false
}

// take notes the functions of an open shard that are still missing.
func (s *stored) take(h shard.Header, of *shard.Shard) {
	s.shards = append(s.shards, of)
	m := of.Manifest()
	for number := max(h.First, m.First); number < min(h.First+h.Count, m.First+m.Count); number++ {
		if at := number - h.First; s.rows[at].of == nil {
			s.rows[at] = row{of, number - m.First}
			s.found++
		}
	}
}
