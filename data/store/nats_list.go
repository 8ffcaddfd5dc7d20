package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

// What follows is for the coordinator: workers may neither list nor purge.

// subjects are those of the stream that fit a filter.
func (s *stream) subjects(ctx context.Context, filter string) (all []string, err error) {
	err = s.ask(ctx, "the list of objects", func(ctx context.Context) error {
		stream, err := s.js.Stream(ctx, s.name)
		if err != nil {
			return s.denied(err, s.api+"STREAM.INFO."+s.name)
		}
		info, err := stream.Info(ctx, jetstream.WithSubjectFilter(filter))
		if err != nil {
			return err
		}
		if len(info.State.Subjects) > maxList {
			return fmt.Errorf("more than %d objects", maxList)
		}
		all = nil
		for subject := range info.State.Subjects {
			all = append(all, subject)
		}
		return nil
	})
	return all, err
}

func (s *stream) List(ctx context.Context, prefix string) ([]Object, error) {
	if err := checkPrefix(prefix); err != nil {
		return nil, err
	}
	filter := s.prefix + ".key.>"
	if i := strings.LastIndexByte(prefix, '/'); i >= 0 {
		filter = s.keySubject(prefix[:i]) + ".>"
	}
	subjects, err := s.subjects(ctx, filter)
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, subject := range subjects {
		if key, ok := s.keyOf(subject); ok && strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	all := make([]Object, len(keys))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(requests)
	for i, key := range keys {
		group.Go(func() error {
			d, err := s.record(ctx, key)
			if err == nil {
				all[i] = Object{key, d.Bytes, d.made}
			}
			if errors.Is(err, ErrNotFound) { // deleted since
				return nil
			}
			return err
		})
	}
	err = group.Wait()
	return slices.DeleteFunc(all, func(o Object) bool { return o.Key == "" }), err
}

// purge removes the messages of subjects.
func (s *stream) purge(ctx context.Context, subjects string) error {
	return s.ask(ctx, subjects, func(ctx context.Context) error {
		stream, err := s.js.Stream(ctx, s.name)
		if err != nil {
			return err
		}
		return s.denied(stream.Purge(ctx, jetstream.WithPurgeSubject(subjects)), s.api+"STREAM.PURGE."+s.name)
	})
}

// Delete removes the record first, so that no reader begins an object without its chunks.
func (s *stream) Delete(ctx context.Context, key string) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	d, err := s.record(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if purge := s.purge(ctx, s.keySubject(key)); purge != nil {
		return purge
	}
	if err != nil {
		return nil //nolint:nilerr // a damaged record names no chunks: Sweep removes them
	}
	return s.purge(ctx, s.prefix+".chunk."+d.ID+".*")
}

// Sweep removes chunks that no record names, of whatever key: the stream has nothing else. It
// looks at the chunks first: what commits meanwhile is in the records.
func (s *stream) Sweep(ctx context.Context, _ string, before time.Time) (puts int, err error) {
	chunks, err := s.subjects(ctx, s.prefix+".chunk.*.*")
	if err != nil {
		return 0, err
	}
	first := make(map[string]string) // a chunk of each put
	for _, subject := range chunks {
		id, _, _ := strings.Cut(strings.TrimPrefix(subject, s.prefix+".chunk."), ".")
		first[id] = cmp.Or(first[id], subject)
	}
	keys, err := s.subjects(ctx, s.prefix+".key.>")
	if err != nil {
		return 0, err
	}
	for _, subject := range keys {
		key, ok := s.keyOf(subject)
		if !ok {
			continue
		}
		d, err := s.record(ctx, key)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return 0, err // its chunks are not known
		}
		delete(first, d.ID)
	}
	for id, subject := range first {
		_, made, err := s.last(ctx, subject)
		if errors.Is(err, ErrNotFound) || err == nil && !made.Before(before) {
			continue
		}
		if err == nil {
			err = s.purge(ctx, s.prefix+".chunk."+id+".*")
		}
		if err != nil {
			return puts, err
		}
		puts++
	}
	return puts, nil
}
