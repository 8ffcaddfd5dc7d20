package data

import (
	"context"
	"errors"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/sets/shard"
)

// functions are stored: in another data set's shard, or by a user.
type functions interface {
	Fields() []family.Field
	Field(k, i int) []float32
	Samples(i int) []float32
	Close() error
}

// row is a function that need not be made, since it is stored.
type row struct {
	of functions // nil: it has to be made
	i  int       // its place there
}

// fields are the function's stored fields.
func (r row) fields() [][]float32 {
	all := make([][]float32, len(r.of.Fields()))
	for k := range all {
		all[k] = r.of.Field(k, r.i)
	}
	return all
}

// samples fills dst with the stored samples of dimension dim; of more, with those at even
// distances, which come from all chains.
func (r row) samples(dst []float32, dim int) {
	from := r.of.Samples(r.i)
	n, all := len(dst)/dim, len(from)/dim
	for i := range n {
		copy(dst[i*dim:][:dim], from[i*all/n*dim:])
	}
}

// stored are the functions of a shard that need not be made, by their place in it.
type stored struct {
	rows     []row
	open     []functions
	found    int
	imported int // the first ones
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
	for _, open := range s.open {
		err = errors.Join(err, open.Close())
	}
	return err
}

// reuse finds the functions of the shard that h describes in other data sets of the store,
// those that were changed last first. It verifies the shards that it takes them from, and
// passes over damaged ones. linked: one of them was the same shard, and is now this one too.
func (s *stored) reuse(ctx context.Context, d Dataset, f family.Family, h shard.Header, recipe string, store *shard.Dir) (linked bool, err error) {
	if s.found == h.Count {
		return false, nil
	}
	for manifests := range store.Newest(h.Family) {
		for _, m := range manifests {
			if err := ctx.Err(); err != nil {
				return false, err
			}
			if m.Dataset == h.Dataset || !s.wants(h, m) || d.recipeOf(m, f) != recipe {
				continue
			}
			if store.Verify(ctx, m.Dataset, m.Shard) != nil {
				continue // `shards verify` names it
			}
			m.Recipe = recipe
			if m.First == h.First && m.Count == h.Count && m.Imported == 0 && s.imported == 0 && store.Link(h, m) == nil {
				return true, nil
			}
			if open, err := store.Open(m.Dataset, m.Shard); err == nil {
				s.take(h, open)
			}
		}
		if s.found == h.Count {
			break
		}
	}
	return false, ctx.Err()
}

// wants reports whether a shard has functions that are still missing.
func (s *stored) wants(h shard.Header, m shard.Manifest) bool {
	return m.Purpose == h.Purpose && m.Samples == h.Samples && m.Dim == h.Dim && len(s.missing(h, m)) > 0
}

// missing are the numbers of a shard's generated functions that are still missing.
func (s *stored) missing(h shard.Header, m shard.Manifest) (numbers []int) {
	for number := max(h.First, m.First+m.Imported); number < min(h.First+h.Count, m.First+m.Count); number++ {
		if s.rows[number-h.First].of == nil {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// take notes the functions of an open shard that are still missing.
func (s *stored) take(h shard.Header, of *shard.Shard) {
	s.open = append(s.open, of)
	m := of.Manifest()
	for _, number := range s.missing(h, m) {
		s.rows[number-h.First] = row{of, number - m.First}
		s.found++
	}
}
