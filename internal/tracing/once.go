package tracing

import (
	"log/slog"
	"sync"
)

// once logs each text once: a collector that is away fails every few seconds.
type once struct {
	log  *slog.Logger
	mu   sync.Mutex
	last string
}

func newOnce(log *slog.Logger) *once { return &once{log: log} }

// Handle implements otel.ErrorHandler.
func (o *once) Handle(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil && err.Error() != o.last {
		o.last = err.Error()
		o.log.Warn("spans are lost: the collector of traces does not take them", "error", err)
	}
}
