package conduct

import (
	"context"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow/coordinator/wire"
)

// Suspend cancels a run of a cluster that is there, and returns its newest checkpoint; nil if
// it has none.
func Suspend(ctx context.Context, at Endpoint, run string) ([]byte, error) {
	c, err := Dial(at)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	list, err := c.Runs(ctx, 0)
	if err != nil {
		return nil, err
	}
	for _, r := range list {
		if r.Run != run {
			continue
		}
		if err := c.ChangeRun(ctx, &wire.ChangeRunRequest{Id: uint64(r.ID), Action: wire.ChangeRunRequest_ACTION_CANCEL}); err != nil {
			return nil, err
		}
	}
	encoded, err := c.load(ctx, run)
	if grpcstatus.Code(err) == codes.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, rpcError("load checkpoint", err)
	}
	return encoded, nil
}
