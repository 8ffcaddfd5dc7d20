package coordinator

import (
	"context"
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
	if err := v.admitDump(h, id); err != nil {
		return err
	}
	encoded := make([]byte, 0, h.GetSize())
	for int64(len(encoded)) < h.GetSize() {
		part, err := stream.Recv()
		if err != nil {
			return err
		}
		if len(part.GetData()) == 0 || int64(len(encoded)+len(part.GetData())) > h.GetSize() {
			return status.Errorf(codes.InvalidArgument, "the dump has not the %d bytes that its header announces", h.GetSize())
		}
		encoded = append(encoded, part.GetData()...)
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

// admitDump returns why a dump with this header is not taken.
func (v *service) admitDump(h *wire.FlightHeader, id ergoflow.WorkerID) error {
	known := false
	open := v.loop.do(func() {
		for _, s := range v.loop.sessions {
			known = known || s.from == string(id) && !s.closed
		}
	})
	switch {
	case !open:
		return errEnding
	case h == nil:
		return status.Error(codes.InvalidArgument, "a dump begins with its header")
	case h.GetSize() <= 0 || h.GetSize() > flight.MaxDump:
		return status.Errorf(codes.InvalidArgument, "a dump of %d bytes, not 1 to %d", h.GetSize(), flight.MaxDump)
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
		if err := sendDump(stream, id, encoded); err != nil {
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
	return sendDump(stream, "", encoded)
}

func sendDump(stream wire.Control_FlightsServer, id ergoflow.WorkerID, encoded []byte) error {
	err := stream.Send(&wire.FlightPart{Part: &wire.FlightPart_Header{Header: &wire.FlightHeader{Worker: string(id), Size: int64(len(encoded))}}})
	for part := range slices.Chunk(encoded, partSize) {
		if err != nil {
			return err
		}
		err = stream.Send(&wire.FlightPart{Part: &wire.FlightPart_Data{Data: part}})
	}
	return err
}
