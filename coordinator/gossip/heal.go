package gossip

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// Meet joins the gossip of a member at an address, of which this one may not know.
func (g *Gossip) Meet(address string) error {
	if _, err := g.list.Join([]string{address}); err != nil {
		return fmt.Errorf("gossip: meet %s: %s", address, flat(err))
	}
	return nil
}

// healInterval is how often a member without a coordinator looks for one.
const healInterval = time.Second

// heal joins again while no member is a coordinator, or none that answers. A restarted coordinator
// has an empty list of members, and a member that was cut off has been removed from all lists:
// memberlist by itself repairs neither. heal asks what seek finds, the seeds and the address of
// the last coordinator.
func (g *Gossip) heal(ctx context.Context, seeds []string, seek func(context.Context) []string) {
	ticker := time.NewTicker(healInterval)
	defer ticker.Stop()
	targets := slices.Clone(seeds)
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		missing := false
		select {
		case <-g.missing:
			missing = true
		default:
		}
		if c, ok := g.coordinator(""); ok {
			targets = append(slices.Clone(seeds), c.Address)
			if !missing {
				continue
			}
		}
		asked := targets
		if seek != nil {
			asked = slices.Concat(seek(ctx), targets)
		}
		if len(asked) == 0 {
			continue
		}
		if _, err := g.list.Join(asked); err != nil {
			slog.Debug("gossip: no coordinator found", "asked", asked, "error", flat(err))
		}
	}
}
