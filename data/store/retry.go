package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	attempts   = 8
	firstPause = 100 * time.Millisecond
	longest    = 5 * time.Second
)

// retry calls do until it succeeds, up to attempts times, while its error passes. Pauses double
// and are random, so that clients of a store that comes back do not come at the same time. Where
// ctx ends it, the error is also that of the attempt before: it says why there were several.
func retry(ctx context.Context, passes func(error) bool, do func() error) error {
	pause := firstPause
	var before error
	for i := 1; ; i++ {
		err := do()
		if err != nil && ctx.Err() != nil && before != nil {
			return fmt.Errorf("%w: %w", context.Cause(ctx), before)
		}
		if err == nil || i == attempts || ctx.Err() != nil || !passes(err) {
			return err
		}
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
		before, pause = err, min(2*pause, longest)
	}
}

// unreadable is an error of the content of a put: another attempt would meet it, too.
type unreadable struct{ error }

func (u unreadable) Unwrap() error { return u.error }
