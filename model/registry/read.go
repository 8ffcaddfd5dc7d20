package registry

import (
	"context"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"
)

// List returns the versions of a model, or of all models for an empty name, by name and
// number, without the fields that Version says it leaves out.
func (r *Registry) List(ctx context.Context, model string) (all []Version, err error) {
	err = r.view(ctx, "", func(models *bbolt.Bucket) error {
		names := []string{model}
		if model == "" {
			names = modelNames(models)
		}
		for _, name := range names {
			s, err := find(models, name)
			if err != nil {
				return err
			}
			if all, err = s.list(all); err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}

func (s shelf) list(all []Version) ([]Version, error) {
	named, err := s.aliases()
	if err != nil {
		return nil, err
	}
	all = slices.Grow(all, len(s.numbers())) // versions are large to move
	records := s.in(bucketVersions).Cursor()
	for k, value := records.First(); k != nil; k, value = records.Next() {
		v, err := readOutline(value)
		if err != nil {
			return nil, fmt.Errorf("version %s@%d: %w", s.model, number(k), err)
		}
		v.Model, v.Number = s.model, number(k)
		v.Aliases = append([]string{}, named[v.Number]...)
		all = append(all, v)
	}
	return all, nil
}

// shown reads a version as Get returns it.
func (s shelf) shown(number int) (Version, error) {
	v, err := s.whole(number)
	if err != nil {
		return v, err
	}
	named, err := s.aliases()
	v.Aliases = append([]string{}, named[number]...)
	return v, err
}

// Get returns the version that a reference names: NAME@NUMBER, NAME@ALIAS, or NAME for
// NAME@champion.
func (r *Registry) Get(ctx context.Context, ref string) (v Version, err error) {
	model, alias, number, err := split(ref)
	if err != nil {
		return v, r.name("", err)
	}
	err = r.view(ctx, "", on(model, func(s shelf) error {
		if number, err = s.resolve(alias, number); err != nil {
			return err
		}
		v, err = s.shown(number)
		return err
	}))
	return v, err
}

// Resolve returns the model and the number that a reference names, as for Get.
func (r *Registry) Resolve(ctx context.Context, ref string) (model string, number int, err error) {
	v, err := r.Get(ctx, ref)
	return v.Model, v.Number, err
}

// Load returns a version's weights, a sealed training state. It verifies their hash.
func (r *Registry) Load(ctx context.Context, v Version) ([]byte, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	content, err := r.readWeights(ctx, v.Weights)
	return content, r.name("load "+v.Ref(), err)
}

// History returns what an alias named over time, or all aliases for an empty name, the
// oldest entry first.
func (r *Registry) History(ctx context.Context, model, alias string) (entries []Entry, err error) {
	err = r.view(ctx, "", on(model, func(s shelf) error {
		return s.in(bucketHistory).ForEach(func(k, _ []byte) error { // in the order of numbers
			e, err := s.entry(number(k))
			if err == nil && (alias == "" || e.Alias == alias) {
				entries = append(entries, e)
			}
			return err
		})
	}))
	return entries, err
}
