package consensus

import (
	"context"
	"io"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// logger hands what raft says to a log. What raft warns of are elections and members that do not
// answer; the coordinators tell of these themselves. So only its errors are warnings here.
func logger(to *slog.Logger) hclog.Logger {
	l := hclog.NewInterceptLogger(&hclog.LoggerOptions{Name: "raft", Level: hclog.Info, Output: io.Discard})
	l.RegisterSink(sink{to})
	return l
}

type sink struct{ to *slog.Logger }

// Accept implements hclog.SinkAdapter.
func (s sink) Accept(_ string, level hclog.Level, message string, args ...any) {
	at := slog.LevelDebug
	if level >= hclog.Error {
		at = slog.LevelWarn
	}
	s.to.Log(context.Background(), at, "consensus: "+message, args...)
}
