package store

import (
	"context"
	"fmt"
)

// Open opens the store of a location of S3. It makes no request: Probe does.
func Open(_ context.Context, l Location) (Store, error) {
	if l.Scheme == S3 {
		return openS3(l)
	}
	return nil, fmt.Errorf("%s: %w", l.Public(), ErrLocation)
}
