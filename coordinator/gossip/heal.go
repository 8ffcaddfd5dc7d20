package gossip

import (
	"context"
	"log/slog"
	"slices"
	"time"
)

// healInterval is how often a member without a coordinator looks for one.
const healInterval = time.Second

// heal joins again while no coordinator is in sight. A coordinator that
// restarts comes back with an empty list of members, and a member that was cut
// off has been forgotten: memberlist by itself mends neither. The seeds are
// asked, and wherever a coordinator was last seen.
func (g *Gossip) heal(ctx context.Context, seeds []string) {
	ticker := time.NewTicker(healInterval)
	defer ticker.Stop()
	targets := slices.Clone(seeds)
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if c, ok := g.coordinator(); ok {
			targets = append(slices.Clone(seeds), c.Address)
			continue
		}
		if len(targets) == 0 {
			continue
		}
		if _, err := g.list.Join(targets); err != nil {
			slog.Debug("gossip: no coordinator in sight", "asked", targets, "error", flat(err))
		}
	}
}
