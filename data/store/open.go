package store

import (
	"context"
	"fmt"

	"github.com/ergoflow/ergoflow/data/jobs"
)

// Options of Open.
type Options struct {
	// Access is to the server of NATS. Its domain does not count: a location has its own.
	Access jobs.Access
	// Create makes the stream of NATS where it is missing. A bucket of S3 is made by its owner.
	Create bool
	// Wait waits for a server of NATS that is away. Without it Open fails.
	Wait bool
}

// Open opens the store of a location of NATS, which has a server, or of S3. For S3 it makes no
// request: Probe does.
func Open(ctx context.Context, l Location, o Options) (Store, error) {
	switch l.Scheme {
	case S3:
		return openS3(l)
	case NATS:
		return openNATS(ctx, l, o)
	}
	return nil, fmt.Errorf("%s: %w", l.Public(), ErrLocation)
}
