package store

import (
	"context"
	"errors"
	"fmt"
	"io"
)

const transfers = 4 // of one object, where they break off

// Read reads the first size bytes of an object into memory. A transfer that breaks off is
// repeated. The caller bounds size.
func Read(ctx context.Context, s Store, key string, size int64) ([]byte, error) {
	var broke error
	for range transfers {
		r, err := s.Get(ctx, key, 0, size)
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(io.LimitReader(r, size))
		if err = errors.Join(err, r.Close()); err == nil {
			return content, nil
		}
		if ctx.Err() != nil {
			return nil, err
		}
		broke = err
	}
	return nil, fmt.Errorf("%s in %s: the transfer broke off %d times: %w", key, s, transfers, broke)
}
