package storetest

import (
	"context"
	"time"

	"github.com/ergoflow/ergoflow/internal/upkeep"
)

const (
	poll     = 10 * time.Millisecond
	patience = time.Minute // a busy machine may need much of it
)

// Await tries again until it works. It is for servers of others: neither versitygw says when it
// listens, nor a cluster of NATS when all its servers know their leader, so that both are polled.
func Await(ctx context.Context, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return upkeep.Until(ctx, poll, func() (final bool, err error) { return false, try() }, func(error) {})
}
