package coordinator

import (
	"fmt"

	"github.com/ergoflow/ergoflow/coordinator/journal"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/finitejson"
)

// sentEvents is the number of events in one message of Events, at most.
const sentEvents = 512

// Events implements wire.ControlServer. A caller that does not read holds no events back: it
// gets those that the journal still keeps when it reads again.
func (v *service) Events(r *wire.EventsRequest, stream wire.Control_EventsServer) error {
	p := journal.Position{Start: r.GetStart(), Number: r.GetAfter()}
	for {
		events, more := v.loop.events.After(p)
		for len(events) > 0 {
			part := events[:min(len(events), sentEvents)]
			b, _, err := finitejson.Marshal(part, "")
			if err != nil {
				return fmt.Errorf("encode events: %w", err)
			}
			if err := stream.Send(&wire.EventsReply{Json: b}); err != nil {
				return err
			}
			last := part[len(part)-1]
			p, events = journal.Position{Start: last.Start, Number: last.Number}, events[len(part):]
		}
		if !r.GetFollow() {
			return nil
		}
		select {
		case <-more:
		case <-stream.Context().Done():
			return stream.Context().Err()
		case <-v.loop.ended:
			return errEnding
		}
	}
}
