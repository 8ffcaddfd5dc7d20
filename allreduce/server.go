package allreduce

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/ergoflow/ergoflow"
)

// maxWaiting bounds the streams that wait for a generation not joined yet.
const maxWaiting = 2 * maxMesh

// maxMesh bounds the ranks of a mesh.
const maxMesh = 64

// Server holds one process's place in the ring, generation after generation. It
// accepts its neighbours' streams and dials them. All methods are safe for concurrent
// use.
type Server struct {
	security
	plain   plaintext // beside TLS
	dialer  dialer
	refused func(from string, err error)

	mu      sync.Mutex
	newest  ergoflow.Generation // joined or being joined
	current *Ring               // of the newest generation, nil before the first
	changed chan struct{}       // closed and replaced when newest grows
	waiting []*waiter
}

// A waiter is a stream of a generation that has not been joined yet.
type waiter struct {
	generation ergoflow.Generation
	evicted    chan struct{}
}

func newServer(d dialer) *Server {
	return &Server{dialer: d, refused: func(string, error) {}, changed: make(chan struct{})}
}

// OnRefusal sets f, which the server calls for every connection and stream that it refuses,
// with the sender's host and the reason. Call it before the server serves; f must not block.
func (s *Server) OnRefusal(f func(from string, err error)) { s.refused = f }

// Join takes the place id among peers, the data addresses by rank, and returns
// when all neighbours are connected and agree on generation, world size, ranks
// and options. ctx bounds the whole life of the ring: when it ends, so do Join
// and every AllReduce.
//
// Joining fences: rings of earlier generations end with [ErrFenced], their
// streams are refused, and a generation cannot be joined twice. With a world of
// one there is no network.
func (s *Server) Join(ctx context.Context, id Identity, peers []string, opts Options) (*Ring, error) {
	r := newRing(ctx, id, peers, opts)
	if err := errors.Join(id.validate(), opts.validate()); err != nil {
		r.cancel(err)
		return nil, r.wrap("join", -1, err)
	}
	if len(peers) != id.World {
		err := fmt.Errorf("%d peer addresses for a world of %d", len(peers), id.World)
		r.cancel(err)
		return nil, r.wrap("join", -1, err)
	}
	if opts.Identities != nil && len(opts.Identities) != id.World {
		err := fmt.Errorf("%d identities for a world of %d", len(opts.Identities), id.World)
		r.cancel(err)
		return nil, r.wrap("join", -1, err)
	}
	if id.World > maxMesh && opts.Topology == Mesh {
		err := fmt.Errorf("a mesh of %d ranks: at most %d", id.World, maxMesh)
		r.cancel(err)
		return nil, r.wrap("join", -1, err)
	}
	if opts.Topology == Hosts && (!r.layout.Even() || id.World/r.layout.Hosts() > maxMesh) {
		err := fmt.Errorf("%d ranks on %d hosts are not the same number, of 2 to %d, on each of several hosts", id.World, r.layout.Hosts(), maxMesh)
		r.cancel(err)
		return nil, r.wrap("join", -1, err)
	}
	if err := s.enter(r); err != nil {
		r.cancel(err)
		return nil, r.wrap("join", -1, err)
	}
	if err := r.connect(s.dialer); err != nil {
		return nil, err
	}
	return r, nil
}

// Newest is the latest generation that this process has joined or begun to join; zero
// before the first. Earlier ones cannot be joined any more.
func (s *Server) Newest() ergoflow.Generation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newest
}

// enter makes r the current ring and fences the one before.
func (s *Server) enter(r *Ring) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.id.Generation <= s.newest {
		return fmt.Errorf("%w: generation %d has been joined already, the newest is %d", ErrFenced, r.id.Generation, s.newest)
	}
	if s.current != nil {
		s.current.cancel(fmt.Errorf("%w: generation %d has been joined", ErrFenced, r.id.Generation))
	}
	s.newest, s.current = r.id.Generation, r
	close(s.changed)
	s.changed = make(chan struct{})
	return nil
}

// accept serves a neighbour's stream, whose greeting is h, until it ends:
// nil when it has been read to its end and the ring closed. A stream of a
// generation that this process has not joined waits for it, because the members
// of a generation do not hear of it at the same instant.
func (s *Server) accept(ctx context.Context, h hello, in incoming) error {
	r, err := s.await(ctx, h.id.Generation)
	if err != nil {
		return err
	}
	return r.serve(ctx, h, in)
}

// await returns the ring of generation g once it is joined.
func (s *Server) await(ctx context.Context, g ergoflow.Generation) (*Ring, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g > s.newest {
		me := &waiter{g, make(chan struct{})}
		s.waiting = append(s.waiting, me)
		defer func() { s.waiting = slices.DeleteFunc(s.waiting, func(w *waiter) bool { return w == me }) }()
		if len(s.waiting) > maxWaiting {
			s.evict()
		}
		for g > s.newest {
			changed := s.changed
			s.mu.Unlock()
			var err error
			select {
			case <-changed:
			case <-me.evicted:
				err = fmt.Errorf("%w: %d streams wait already, of nearer generations", ErrRefused, maxWaiting)
			case <-ctx.Done():
				err = context.Cause(ctx)
			}
			s.mu.Lock()
			if err != nil {
				return nil, err
			}
		}
	}
	if g < s.newest {
		return nil, fmt.Errorf("%w: generation %d is over, the newest is %d", ErrFenced, g, s.newest)
	}
	return s.current, nil
}

// evict ends the wait of the stream with the furthest generation; of several, the last.
// So streams of invented generations cannot keep out members of the next one.
func (s *Server) evict() {
	furthest := 0
	for i, w := range s.waiting {
		if w.generation >= s.waiting[furthest].generation {
			furthest = i
		}
	}
	close(s.waiting[furthest].evicted)
	s.waiting = slices.Delete(s.waiting, furthest, furthest+1)
}
