package conduct

import (
	"context"
	"fmt"

	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/finitejson"
)

// ListCoordinators lists the coordinators of the cluster, as the one that is asked knows them.
func (c *Client) ListCoordinators(ctx context.Context) (list coordinator.Coordinators, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	reply, err := c.Coordinators.List(ctx, &wire.ListCoordinatorsRequest{})
	if err != nil {
		return list, rpcError("list the coordinators", err)
	}
	if err := finitejson.Unmarshal(reply.GetJson(), &list); err != nil {
		return list, fmt.Errorf("read the list of coordinators: %w", err)
	}
	return list, nil
}

// AddCoordinator adds the coordinator that waits at an address.
func (c *Client) AddCoordinator(ctx context.Context, address string) error {
	return c.changeCoordinators(ctx, "add the coordinator "+address, &wire.ChangeCoordinatorsRequest{Add: address})
}

// RemoveCoordinator removes one by its address or ID.
func (c *Client) RemoveCoordinator(ctx context.Context, name string) error {
	return c.changeCoordinators(ctx, "remove the coordinator "+name, &wire.ChangeCoordinatorsRequest{Remove: name})
}

func (c *Client) changeCoordinators(ctx context.Context, what string, r *wire.ChangeCoordinatorsRequest) error {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	if _, err := c.Coordinators.Change(ctx, r); err != nil {
		return rpcError(what, err)
	}
	return nil
}
