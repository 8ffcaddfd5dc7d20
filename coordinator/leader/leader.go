// Package leader calls the coordinator that leads, of a cluster with one or several, from the
// address of any of them.
package leader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/trust/secure"
)

// electionPause is between two questions while no coordinator leads.
const electionPause = 100 * time.Millisecond

// maxHops bounds how often in a row one coordinator may name another.
const maxHops = 3

// Conn is a grpc.ClientConnInterface whose calls reach the coordinator that leads. Its methods may
// be called concurrently.
type Conn struct {
	first string // the address that was given
	dial  func(address string) (*grpc.ClientConn, error)

	mu     sync.Mutex
	target string
	conns  map[string]*grpc.ClientConn
}

// Dial prepares calls from the address of one coordinator. The first call connects.
func Dial(address string, transport credentials.TransportCredentials, opts ...grpc.DialOption) (*Conn, error) {
	c := &Conn{first: address, target: address, conns: make(map[string]*grpc.ClientConn),
		dial: func(a string) (*grpc.ClientConn, error) { return secure.Client(a, transport, opts...) }}
	_, err := c.at(address)
	return c, err
}

// at is the connection to an address.
func (c *Conn) at(address string) (*grpc.ClientConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if conn := c.conns[address]; conn != nil {
		return conn, nil
	}
	conn, err := c.dial(address)
	if err != nil {
		return nil, fmt.Errorf("coordinator %s: %w", address, err)
	}
	c.conns[address] = conn
	return conn, nil
}

// turn has later calls begin at an address.
func (c *Conn) turn(address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.target = address
}

func (c *Conn) present() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.target
}

// Close ends the connections.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, conn := range c.conns {
		errs = append(errs, conn.Close())
	}
	return errors.Join(errs...)
}

// Invoke implements grpc.ClientConnInterface. While no coordinator leads it asks again until ctx
// ends. A call whose outcome is unknown it does not repeat.
func (c *Conn) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	for hops := 0; ; hops++ {
		target := c.present()
		conn, err := c.at(target)
		if err != nil {
			return err
		}
		err = conn.Invoke(ctx, method, args, reply, opts...)
		named, notLeading := wire.Leader(err)
		switch {
		case notLeading && named != "" && named != target:
			c.turn(named)
		case notLeading:
			hops = maxHops
		case target != c.first && status.Code(err) == codes.Unavailable && ctx.Err() == nil:
			c.turn(c.first) // which knows who leads now
			if !reads[method] {
				return err
			}
		default:
			return err
		}
		if hops < maxHops {
			continue
		}
		hops = 0
		select {
		case <-time.After(electionPause):
		case <-ctx.Done():
			return err
		}
	}
}

// reads are the methods that change nothing: repeating them is harmless.
var reads = map[string]bool{
	wire.Control_Status_FullMethodName: true, wire.Control_Runs_FullMethodName: true, wire.Control_Schedules_FullMethodName: true,
	wire.Control_Tokens_FullMethodName: true, wire.Control_Authorities_FullMethodName: true,
}

// NewStream implements grpc.ClientConnInterface. It first asks who leads.
func (c *Conn) NewStream(ctx context.Context, d *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	if leader := c.find(ctx); leader != "" {
		c.turn(leader)
	}
	conn, err := c.at(c.present())
	if err != nil {
		return nil, err
	}
	return conn.NewStream(ctx, d, method, opts...)
}

// find asks the coordinators that are known who leads; empty: they do not say, as those of earlier
// versions.
func (c *Conn) find(ctx context.Context) string {
	for {
		answered := false
		for _, address := range []string{c.present(), c.first} {
			conn, err := c.at(address)
			if err != nil {
				continue
			}
			reply, err := wire.NewCoordinatorsClient(conn).List(ctx, &wire.ListCoordinatorsRequest{})
			var said struct {
				Leader string `json:"leader"`
			}
			if err != nil || json.Unmarshal(reply.GetJson(), &said) != nil {
				continue
			}
			if said.Leader != "" {
				return said.Leader
			}
			answered = true
		}
		if !answered {
			return ""
		}
		select {
		case <-time.After(electionPause):
		case <-ctx.Done():
			return ""
		}
	}
}
