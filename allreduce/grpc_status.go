package allreduce

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// toStatus and fromStatus carry the sentinel errors through gRPC.
func toStatus(err error) error {
	if err == nil {
		return nil
	}
	code := codes.Unavailable
	switch {
	case errors.Is(err, ErrFenced):
		code = codes.Aborted
	case errors.Is(err, ErrRefused):
		code = codes.FailedPrecondition
	case errors.Is(err, ErrProtocol):
		code = codes.InvalidArgument
	}
	return status.Error(code, err.Error())
}

func fromStatus(err error) error {
	st, ok := status.FromError(err)
	if err == nil || !ok {
		return err // io.EOF and our own
	}
	kind := ErrPeerLost
	switch st.Code() {
	case codes.Aborted:
		kind = ErrFenced
	case codes.FailedPrecondition:
		kind = ErrRefused
	case codes.InvalidArgument, codes.Internal, codes.ResourceExhausted:
		kind = ErrProtocol
	}
	return fmt.Errorf("%w: %s", kind, st.Message())
}
