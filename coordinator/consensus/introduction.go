package consensus

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ergoflow/ergoflow/coordinator/wire"
)

// askTimeout bounds the wait for a coordinator's answer to the question who it is.
const askTimeout = time.Second

// Introduction is what a coordinator says of itself, or why it does not.
type Introduction struct {
	Coordinator *wire.Coordinator
	Err         error
}

// Introductions asks addresses who they are, all at once, and waits a second at most. The answers
// have the order of the addresses.
func (n *Node) Introductions(ctx context.Context, addresses ...string) []Introduction {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answers := make([]Introduction, len(addresses))
	var group sync.WaitGroup
	for i, address := range addresses {
		group.Go(func() { answers[i].Coordinator, answers[i].Err = n.introduction(ctx, address) })
	}
	group.Wait()
	return answers
}

func (n *Node) introduction(ctx context.Context, address string) (*wire.Coordinator, error) {
	conn, err := n.config.Dial(address)
	if err != nil {
		return nil, fmt.Errorf("coordinator %s: %w", address, err)
	}
	defer conn.Close()
	c, err := wire.NewCoordinatorsClient(conn).Introduce(ctx, &wire.CoordinatorRequest{})
	if err != nil {
		return nil, fmt.Errorf("coordinator %s: %w", address, err)
	}
	return c, nil
}
