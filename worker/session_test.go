package worker

import (
	"log/slog"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/flight"
)

// A reason may hold any bytes, for example those of an unknown sender. A message
// that cannot be encoded would end the session.
func TestReasonsAreText(t *testing.T) {
	s := &session{
		w:     &worker{log: slog.New(slog.DiscardHandler), flight: flight.NewKeeper(flight.Worker, "", slog.New(slog.DiscardHandler))},
		out:   make(chan *wire.WorkerMessage, 1),
		ended: make(chan error, 1),
	}
	const reason = "not \xff text"
	for _, m := range []message.FromWorker{
		message.Failed{Reason: reason}, message.Complaint{Reason: reason}, message.Refusal{Reason: reason},
	} {
		s.send(m)
		sent := <-s.out
		if b, err := proto.Marshal(sent); err != nil || !strings.Contains(string(b), "not \ufffd text") {
			t.Errorf("%v: encoded as %q, %v", sent, b, err)
		}
	}
}
