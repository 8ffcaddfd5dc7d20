package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// Add adds a version with its training state, and returns it with its number. A version
// with the same key that the model has already is returned instead, and nothing is stored.
// After an error, or when the process is killed, there is no version.
func (r *Registry) Add(ctx context.Context, v Version, encoded []byte) (Version, error) {
	const operation = "add"
	if err := v.complete(encoded); err != nil {
		return Version{}, r.name(operation, err)
	}
	sealed, err := state.Seal(encoded)
	if err != nil {
		return Version{}, r.name(operation, err)
	}
	return r.add(ctx, operation, v, sealed)
}

func (r *Registry) add(ctx context.Context, operation string, v Version, sealed []byte) (added Version, err error) {
	if err := r.make(); err != nil {
		return Version{}, r.name(operation, err)
	}
	if v.Key != "" && (r.shared != nil || Exists(r.dir)) {
		if err := r.view(ctx, operation, func(models *bbolt.Bucket) error {
			added, err = present(models, v)
			return err
		}); err != nil && !errors.Is(err, ErrNoRegistry) || added.Number > 0 {
			return added, err
		}
	}
	if v.Weights, err = r.storeWeights(ctx, sealed); err != nil {
		return Version{}, r.name(operation, err)
	}
	err = r.change(ctx, operation, func(models *bbolt.Bucket) (err error) {
		if added, err = present(models, v); err != nil || added.Number > 0 {
			return err
		}
		if !r.hasWeights(ctx, v.Weights) { // Prune, which no version kept from it, removed them
			if v.Weights, err = r.storeWeights(ctx, sealed); err != nil {
				return err
			}
		}
		added, err = publish(models, v)
		return err
	}, nil)
	if err != nil {
		return Version{}, err
	}
	return added, nil
}

// complete fills in what the caller left empty and refuses what cannot be stored.
func (v *Version) complete(encoded []byte) error {
	if v.Config == nil {
		config, err := state.Config(encoded)
		if err != nil {
			return err
		}
		v.Config = config
	}
	var config bytes.Buffer
	if err := json.Compact(&config, v.Config); err != nil {
		return fmt.Errorf("%w: the configuration: %w", ErrInvalid, err)
	}
	v.Config = config.Bytes()
	if v.Metrics == nil {
		v.Metrics = make(map[string]Metric)
	}
	if v.Build == "" {
		v.Build = ergoflow.Build()
	}
	if v.Created.IsZero() {
		v.Created = time.Now()
	}
	v.Created = v.Created.UTC().Truncate(time.Millisecond)
	if err := v.validate(); err != nil {
		return err
	}
	text, err := json.Marshal(v)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	case len(text) > maxDetails:
		return fmt.Errorf("%w: %w: %d bytes, more than %d", ErrInvalid, errDetails, len(text), maxDetails)
	}
	return nil
}

// present returns the version of the same key, or the zero Version.
func present(models *bbolt.Bucket, v Version) (Version, error) {
	if v.Key == "" || models.Bucket([]byte(v.Model)) == nil {
		return Version{}, nil
	}
	s, err := find(models, v.Model)
	if err != nil {
		return Version{}, err
	}
	n := s.in(bucketKeys).Get([]byte(v.Key))
	if n == nil {
		return Version{}, nil
	}
	return s.shown(number(n))
}

// publish stores a version under the next number.
func publish(models *bbolt.Bucket, v Version) (Version, error) {
	s, err := obtain(models, v.Model)
	if err != nil {
		return Version{}, err
	}
	h, err := s.head()
	if err != nil {
		return Version{}, err
	}
	h.Last++
	v.Number, v.Aliases, v.Pinned = h.Last, nil, false
	if err := s.put(nil, keyHead, h); err != nil {
		return Version{}, err
	}
	if v.Key != "" {
		if err := s.in(bucketKeys).Put([]byte(v.Key), key(v.Number)); err != nil {
			return Version{}, err
		}
	}
	if err := s.putVersion(v); err != nil {
		return Version{}, err
	}
	return s.shown(v.Number)
}
