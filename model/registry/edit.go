package registry

import (
	"context"
	"fmt"
	"maps"
)

// Pin keeps Prune from removing a version, or lets it again.
func (r *Registry) Pin(ctx context.Context, model string, number int, pinned bool) error {
	return r.edit(ctx, "pin", model, number, func(v *Version) error {
		v.Pinned = pinned
		return nil
	})
}

// Tag sets a version's tags; an empty value removes one.
func (r *Registry) Tag(ctx context.Context, model string, number int, tags map[string]string) error {
	return r.edit(ctx, "tag", model, number, func(v *Version) error {
		if v.Tags == nil {
			v.Tags = make(map[string]string)
		}
		for key, value := range tags {
			if err := checkTag(key, value); err != nil {
				return err
			}
		}
		maps.Copy(v.Tags, tags)
		maps.DeleteFunc(v.Tags, func(_, value string) bool { return value == "" })
		if len(v.Tags) > maxTags {
			return fmt.Errorf("%w: %d tags, more than %d", ErrInvalid, len(v.Tags), maxTags)
		}
		return nil
	})
}

// maxTags bounds the tags of a version.
const maxTags = 64

// edit changes what a person may change of a version.
func (r *Registry) edit(ctx context.Context, operation, model string, number int, change func(*Version) error) error {
	return r.update(ctx, fmt.Sprintf("%s %s@%d", operation, model, number), on(model, func(s shelf) error {
		v, err := s.version(number)
		if err != nil {
			return err
		}
		if err := change(&v); err != nil {
			return err
		}
		return s.in(bucketVersions).Put(key(number), v.outline())
	}))
}
