package conduct

import (
	"context"
	"fmt"
	"time"

	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/finitejson"
	"github.com/ergoflow/ergoflow/internal/trust"
)

// CreateToken makes a token, and returns it with the address to join at.
func (c *Client) CreateToken(ctx context.Context, role trust.Role, life time.Duration, uses uint32) (token, join string, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	reply, err := c.Control.CreateToken(ctx, &wire.CreateTokenRequest{Role: string(role), Seconds: int64(life / time.Second), Uses: uses})
	if err != nil {
		return "", "", rpcError("make a token", err)
	}
	return reply.GetToken(), reply.GetJoin(), nil
}

// Tokens lists the tokens of the cluster.
func (c *Client) Tokens(ctx context.Context) (list []coordinator.Token, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	reply, err := c.Control.Tokens(ctx, &wire.TokensRequest{})
	if err != nil {
		return nil, rpcError("list tokens", err)
	}
	if err := finitejson.Unmarshal(reply.GetJson(), &list); err != nil {
		return nil, fmt.Errorf("read the list of tokens: %w", err)
	}
	return list, nil
}

// RevokeToken ends a token before its time.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	if _, err := c.Control.RevokeToken(ctx, &wire.RevokeTokenRequest{Id: id}); err != nil {
		return rpcError("revoke the token", err)
	}
	return nil
}

// RotateGossip begins to replace the gossip's key, or only asks how far that is. It returns the
// pass, and the workers that have not confirmed it.
func (c *Client) RotateGossip(ctx context.Context, begin bool) (pass string, missing []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	reply, err := c.Control.RotateGossip(ctx, &wire.RotateGossipRequest{Begin: begin})
	if err != nil {
		return "", nil, rpcError("rotate the gossip's key", err)
	}
	return reply.GetPass(), reply.GetMissing(), nil
}
