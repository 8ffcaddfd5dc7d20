package consensus

import (
	"io"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// logger hands what raft says to a log, for those who debug it. It says several times a second
// that a member does not answer. What people need to know of elections and members, the
// coordinators tell themselves.
func logger(to *slog.Logger) hclog.Logger {
	l := hclog.NewInterceptLogger(&hclog.LoggerOptions{Name: "raft", Level: hclog.Info, Output: io.Discard})
	l.RegisterSink(sink{to})
	return l
}

type sink struct{ to *slog.Logger }

// Accept implements hclog.SinkAdapter.
func (s sink) Accept(_ string, _ hclog.Level, message string, args ...any) {
	s.to.Debug("consensus: "+message, args...)
}
