// Package upkeep does small work again and again beside the main one: looks at files, renews
// certificates.
package upkeep

import (
	"context"
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

// Log is a report that logs what does not work, and that it works again.
func Log(log *slog.Logger, what string) func(error) {
	return func(err error) {
		if err == nil {
			log.Info(what + ": it works again")
			return
		}
		log.Error(what+": it does not work; trying again", "error", err)
	}
}
