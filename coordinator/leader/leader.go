// Package leader calls the coordinator that leads, of a cluster with one or several, from the
// address of any of them.
package leader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
	dial func(address string) (*grpc.ClientConn, error)

	mu     sync.Mutex
	target string   // where the next call begins
	known  []string // addresses of all coordinators, as far as one has said
	told   bool     // whether one has said, since the last failure
	conns  map[string]*grpc.ClientConn
}

// Dial prepares calls from the address of one coordinator. The first call connects.
func Dial(address string, transport credentials.TransportCredentials, opts ...grpc.DialOption) (*Conn, error) {
	c := &Conn{target: address, known: []string{address}, conns: make(map[string]*grpc.ClientConn),
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

// turnFrom has later calls begin at another coordinator than one that fails. It reports whether
// one is known.
func (c *Conn) turnFrom(address string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.target == address { // otherwise another call has turned
		c.told = false
		c.target = c.known[(slices.Index(c.known, address)+1)%len(c.known)]
	}
	return c.target != address
}

// present is where the next call begins. The first time, and after a failure, it asks for the
// addresses of all coordinators.
func (c *Conn) present(ctx context.Context) string {
	c.mu.Lock()
	target, told := c.target, c.told
	c.mu.Unlock()
	if !told {
		if leader, _ := c.ask(ctx, target); leader != "" {
			c.turn(leader)
			return leader
		}
	}
	return target
}

// ask asks a coordinator who leads, and learns the addresses of all. Those of earlier versions do
// not answer.
func (c *Conn) ask(ctx context.Context, address string) (leader string, ok bool) {
	conn, err := c.at(address)
	if err != nil {
		return "", false
	}
	ctx, cancel := context.WithTimeout(ctx, turnAfter)
	defer cancel()
	reply, err := wire.NewCoordinatorsClient(conn).List(ctx, &wire.ListCoordinatorsRequest{Brief: true})
	var said struct {
		Leader  string                     `json:"leader"`
		Members []struct{ Address string } `json:"members"`
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || json.Unmarshal(reply.GetJson(), &said) != nil {
		c.told = status.Code(err) == codes.Unimplemented
		return "", false
	}
	c.told = len(said.Members) > 0
	if len(said.Members) == 1 {
		return address, true // whatever address it knows itself by
	}
	for _, m := range said.Members {
		if !slices.Contains(c.known, m.Address) {
			c.known = append(c.known, m.Address)
		}
	}
	return said.Leader, true
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
// ends. A call whose outcome is unknown it repeats only where that does nothing twice.
func (c *Conn) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	for hops := 0; ; hops++ {
		target := c.present(ctx)
		conn, err := c.at(target)
		if err != nil {
			return err
		}
		again := repeatable(method, args)
		err = c.invoke(ctx, conn, again, method, args, reply, opts...)
		named, notLeading := wire.Leader(err)
		switch {
		case notLeading && named != "" && named != target:
			c.turn(named)
		case notLeading:
			hops = maxHops
		case unanswered(err) && c.turnFrom(target) && again && ctx.Err() == nil:
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

// turnAfter is how long a coordinator may take to answer before another is asked, if one is known: it
// may be stopped, or its host be cut off.
const turnAfter = 2 * time.Second

func (c *Conn) invoke(ctx context.Context, conn *grpc.ClientConn, again bool, method string, args, reply any, opts ...grpc.CallOption) error {
	c.mu.Lock()
	several := len(c.known) > 1
	c.mu.Unlock()
	if again && several {
		limited, cancel := context.WithTimeout(ctx, turnAfter)
		defer cancel()
		ctx = limited
	}
	return conn.Invoke(ctx, method, args, reply, opts...)
}

// unanswered reports whether a coordinator has not answered.
func unanswered(err error) bool {
	code := status.Code(err)
	return code == codes.Unavailable || code == codes.DeadlineExceeded
}

// repeatable reports whether a call that was made twice does what one does: it reads, or names its
// request, or sets what may be set again.
func repeatable(method string, args any) bool {
	switch r := args.(type) {
	case *wire.SubmitRequest:
		return r.GetRequest() != ""
	case *wire.ChangeScheduleRequest:
		return r.GetAction() == wire.ChangeScheduleRequest_ACTION_RUN && r.GetRequest() != ""
	case *wire.AddScheduleRequest:
		return true
	}
	switch method {
	case wire.Control_Status_FullMethodName, wire.Control_Runs_FullMethodName, wire.Control_Schedules_FullMethodName,
		wire.Control_Tokens_FullMethodName, wire.Control_Authorities_FullMethodName:
		return true
	}
	return false
}

// NewStream implements grpc.ClientConnInterface. It first asks who leads, since a stream cannot
// turn.
func (c *Conn) NewStream(ctx context.Context, d *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	conn, err := c.at(c.find(ctx))
	if err != nil {
		return nil, err
	}
	return conn.NewStream(ctx, d, method, opts...)
}

// find is the address of the coordinator that leads. Where none says so, it is the last that was
// asked.
func (c *Conn) find(ctx context.Context) string {
	for {
		c.mu.Lock()
		target := c.target
		c.mu.Unlock()
		leader, answered := c.ask(ctx, target)
		switch {
		case leader != "":
			c.turn(leader)
			return leader
		case !answered && !c.turnFrom(target):
			return target
		}
		select {
		case <-time.After(electionPause):
		case <-ctx.Done():
			return target
		}
	}
}
