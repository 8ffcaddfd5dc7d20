// Package upkeep does work again and again: small work beside the main one, such as the renewal of
// certificates, and work that waits for another machine until it succeeds.
package upkeep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Every calls do once in each interval until ctx ends. It reports an error when it comes, not
// again while it stays the same, and nil when it is over.
func Every(ctx context.Context, interval time.Duration, do func(context.Context) error, report func(error)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	last := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := do(ctx)
		if ctx.Err() != nil {
			return
		}
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != last {
			report(err)
		}
		last = text
	}
}

// Until calls do until it succeeds, its error is final, or ctx ends, with a pause between two
// calls. It reports an error that is not final when it comes, not again while it stays the same.
// It fails with do's last error, and where ctx has ended also with the cause of that.
func Until(ctx context.Context, pause time.Duration, do func() (final bool, err error), report func(error)) error {
	last := ""
	for {
		final, err := do()
		if err == nil || final {
			return err
		}
		if ctx.Err() == nil {
			if text := err.Error(); text != last {
				report(err)
				last = text
			}
			select {
			case <-time.After(pause):
				continue
			case <-ctx.Done():
			}
		}
		if cause := context.Cause(ctx); !errors.Is(err, cause) {
			return fmt.Errorf("%w: %w", cause, err)
		}
		return err
	}
}

// Log is a report of Every that logs what does not work, and that it works again.
func Log(log *slog.Logger, what string) func(error) {
	return func(err error) {
		if err == nil {
			log.Info(what + ": it works again")
			return
		}
		log.Error(what+": it does not work; trying again", "error", err)
	}
}
