package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/convert"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/flight"
)

// SaveFlight implements wire.ControlServer. It takes dumps of workers that have a session.
func (v *service) SaveFlight(stream wire.Control_SaveFlightServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	h := first.GetHeader()
	id := ergoflow.WorkerID(convert.Clip(h.GetWorker()))
	if err := v.admitDump(id); err != nil {
		return err
	}
	encoded, err := wire.ReadFlight(h, flight.MaxDump, stream.Recv)
	if errors.Is(err, wire.ErrFlight) {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	if err != nil {
		return err
	}
	about, err := flight.ReadHeader(encoded)
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	if about.Process.ID != id {
		return status.Errorf(codes.InvalidArgument, "the dump is of %q", about.Process.ID)
	}
	if h.GetNumber() != 0 { // who asked gets it, and no file
		v.loop.flights.arrived(h.GetNumber(), id, encoded)
	} else if _, err := v.loop.flight.Write(about, encoded); err != nil {
		return status.Error(codes.ResourceExhausted, err.Error())
	}
	return stream.SendAndClose(&wire.SaveFlightReply{})
}

// admitDump returns why a dump of this worker is not taken.
func (v *service) admitDump(id ergoflow.WorkerID) error {
	known := false
	open := v.loop.do(func() {
		for _, s := range v.loop.sessions {
			known = known || s.from == string(id) && !s.closed
		}
	})
	switch {
	case !open:
		return errEnding
	case !known:
		return status.Errorf(codes.FailedPrecondition, "%.128q has no session", id)
	case !v.loop.flights.limit.Allow():
		return status.Error(codes.ResourceExhausted, "too many dumps in a short time")
	}
	return nil
}

// Flights implements wire.ControlServer.
func (v *service) Flights(_ *wire.FlightsRequest, stream wire.Control_FlightsServer) error {
	const occasion = "explain"
	l := v.loop
	var number uint64
	var c *collection
	var workers []ergoflow.WorkerID
	var present []flight.Record
	if !l.do(func() {
		for _, s := range l.sessions {
			if !s.closed {
				workers = append(workers, ergoflow.WorkerID(s.from))
			}
		}
		number, c = l.flights.await(workers)
		present = l.presently()
		l.orderDumps(message.Dump{Number: number, Occasion: occasion})
	}) {
		return errEnding
	}
	ctx, cancel := context.WithTimeout(stream.Context(), answerTime)
	defer cancel()
	select {
	case <-c.done:
	case <-ctx.Done():
	}
	got, missing := l.flights.end(number)
	for id, encoded := range got {
		if err := wire.SendFlight(stream.Send, &wire.FlightHeader{Worker: string(id)}, encoded); err != nil {
			return err
		}
	}
	slices.Sort(missing)
	for _, id := range missing {
		present = append(present, flight.Record{Kind: flight.NoAnswer, Worker: id, Text: fmt.Sprintf("no dump within %v", answerTime)})
	}
	_, encoded, err := l.flight.Take(occasion, false, present...)
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return wire.SendFlight(stream.Send, &wire.FlightHeader{}, encoded)
}
