package worker

import (
	"fmt"
	"log/slog"
	"time"
)

// logTransfer says how fast a state came. Over the wrong of two networks a recovery
// takes minutes, and nothing else shows why.
func logTransfer(log *slog.Logger, what, from string, bytes int, began time.Time) {
	took := time.Since(began)
	log.Info(what+" came", "from", from, "bytes", bytes, "took", took.Round(time.Millisecond),
		"rate", fmt.Sprintf("%.3g MB/s", float64(bytes)/1e6/max(took.Seconds(), 1e-6)))
}
