package dashboard

import (
	"context"
	"time"
)

// The registry is a file that other processes lock, maybe on a network's disk: it is read seldom,
// and never by those who wait for the state.
const (
	registryInterval = 10 * time.Second
	registryPatience = 5 * time.Second
)

// keepReading reads the registry until ctx ends: when a page is opened, after a change, and now
// and then while somebody watches.
func (h *hub) keepReading(ctx context.Context) {
	if h.source.Models == nil {
		return
	}
	ticker := time.NewTicker(registryInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.reading:
		case <-ticker.C:
			if !h.watched() {
				continue
			}
		}
		h.read(ctx)
	}
}

func (h *hub) read(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, registryPatience)
	defer cancel()
	models, err := h.source.Models.List(ctx)
	r := Registry{Known: true, Models: append([]Model{}, models...)}
	if err != nil {
		r.Problem = err.Error()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.registry = r
}

// readSoon has the registry read at once.
func (h *hub) readSoon() {
	select {
	case h.reading <- struct{}{}:
	default: // it will be
	}
}

func (h *hub) watched() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.watchers > 0
}
