package allreduce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/allreduce/topology"
)

// Ring is one rank's membership of one generation, made by [Server.Join]. A
// failed ring stays failed. All ranks must make the same calls in the same
// order.
type Ring struct {
	id      Identity
	peers   []string
	opts    Options         // the topology is not ByWorld
	chooses bool            // the algorithm of a sum, not only by opts.Topology
	layout  topology.Layout // of the ranks on hosts
	payload int             // of a message, at most

	ctx    context.Context // ends with the ring; its cause says why
	cancel context.CancelCauseFunc

	all     party
	host    party     // Hosts: the ranks of our host
	column  party     // Hosts: those with our place on theirs
	sinks   []*sink   // of all parties, in the order of ranks from ours + 1 on, mod W
	sources []*source // likewise
	closing atomic.Bool
	waiting atomic.Bool // for others: a Join or an AllReduce is under way
	tracker tracker

	mu        sync.Mutex // held by AllReduce and Close
	closed    bool
	step      ergoflow.Step
	bucket    int
	residuals [][]float32 // Int8: what rounding kept back, by bucket
	floats    []float32   // copy of this rank's numbers, for exchange
	words     []int64     // likewise
}

// A sink is a rank that we send to.
type sink struct {
	rank        int
	out         outgoing      // set by connect
	ended       chan struct{} // closed when the stream is gone
	unreachable atomic.Bool   // there is no way to its host
	bytes       atomic.Uint64 // of numbers, sent
}

// A source is a rank that we receive from.
type source struct {
	rank    int
	in      incoming      // its stream, set before arrived is closed
	arrived chan struct{} // closed when its stream is there
	reading sync.Mutex    // held while in is read
	claimed atomic.Bool   // a stream has connected as this rank
	drained chan struct{} // closed when its stream is read to its end
	parted  chan struct{} // closed when its stream is gone
	bytes   atomic.Uint64 // of numbers, received
	silence silence
}

func newRing(ctx context.Context, id Identity, peers []string, opts Options) *Ring {
	r := &Ring{id: id, peers: peers, opts: opts, layout: topology.Of(peers), payload: chunkBytes, step: -1}
	r.opts.Topology = opts.Topology.in(r.layout)
	r.chooses = opts.Topology == ByWorld
	if r.layout.Hosts() == 1 { // no slow link to spare
		r.payload = localChunkBytes
	}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	if id.validate() != nil || len(peers) != id.World {
		return r
	}
	r.all = r.party(id.Rank, consecutive(id.World), r.opts.Topology.distances(id.World))
	if r.layout.Even() && (r.opts.Topology == Hosts || r.chooses && r.opts.Topology == Mesh) {
		r.host = r.party(slices.Index(r.layout.OfHost(id.Rank), id.Rank), r.layout.OfHost(id.Rank), Mesh.distances(id.World/r.layout.Hosts()))
		r.column = r.party(slices.Index(r.layout.Column(id.Rank), id.Rank), r.layout.Column(id.Rank), Doubling.distances(r.layout.Hosts()))
	}
	ahead := func(rank int) int { return (rank - id.Rank + id.World) % id.World }
	slices.SortFunc(r.sinks, func(a, b *sink) int { return cmp.Compare(ahead(a.rank), ahead(b.rank)) })
	slices.SortFunc(r.sources, func(a, b *source) int { return cmp.Compare(ahead(a.rank), ahead(b.rank)) })
	return r
}

// Dials are the ranks that a rank connects to when it joins.
func Dials(id Identity, peers []string, opts Options) []int {
	r := newRing(context.Background(), id, peers, opts)
	defer r.cancel(nil)
	ranks := make([]int, len(r.sinks))
	for i, to := range r.sinks {
		ranks[i] = to.rank
	}
	return ranks
}

// Identity is this rank's place in its generation.
func (r *Ring) Identity() Identity { return r.id }

// Wire is the number format of the ring's messages.
func (r *Ring) Wire() Wire { return r.opts.Wire }

// AllReduce replaces v by the sum of all ranks' v. Every rank ends with the
// same bits. Vectors must have the same length on all ranks. Repeated calls with
// one step are its buckets, in order, and steps must not decrease. Short vectors,
// of 16 KiB at most, travel as float32 on any wire.
//
// It fails at once, with an [*Error] that names the peer, when the Join context
// ends, or when a neighbour's stream breaks or brings what the schedule does not
// allow; and within two seconds when nothing comes from a neighbour any more, not even
// signs of life ([ErrSilent]). Then the ring has failed, v holds neither its old values
// nor the sum, and nothing reads it any more.
func (r *Ring) AllReduce(step ergoflow.Step, v []float32) error {
	x := floats{v: v, wire: r.opts.Wire, own: &r.floats}
	if isShort(len(v), x.format()) {
		x.wire = Float32
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.begin(step); err != nil {
		return err
	}
	if x.wire == Int8 {
		x.residual = r.residual(len(v))
	}
	return r.reduce(x)
}

// AllReduceInt64 is AllReduce for 64-bit integers. Sums wrap around, and do not
// depend on the number or order of the ranks.
func (r *Ring) AllReduceInt64(step ergoflow.Step, v []int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.begin(step); err != nil {
		return err
	}
	return r.reduce(words{v: v, own: &r.words})
}

// residual is the rounding error of this bucket so far, to be fed back.
func (r *Ring) residual(n int) []float32 {
	if missing := r.bucket + 1 - len(r.residuals); missing > 0 {
		r.residuals = append(r.residuals, make([][]float32, missing)...)
	}
	if len(r.residuals[r.bucket]) != n {
		r.residuals[r.bucket] = make([]float32, n)
	}
	return r.residuals[r.bucket]
}

// begin checks that the ring is alive and counts buckets.
func (r *Ring) begin(step ergoflow.Step) error {
	if r.closed {
		return r.describe("reduce", -1, ErrClosed)
	}
	if err := context.Cause(r.ctx); err != nil {
		return r.wrap("reduce", -1, err)
	}
	switch {
	case step < 0 || step < r.step:
		return r.wrap("reduce", -1, fmt.Errorf("step %d after step %d", step, r.step))
	case step == r.step && r.bucket == 1<<16-1:
		return r.wrap("reduce", -1, fmt.Errorf("more than %d buckets in step %d", 1<<16, step))
	case step == r.step:
		r.bucket++
	default:
		r.step, r.bucket = step, 0
	}
	return nil
}

func (r *Ring) reduce(x vector) error {
	if r.id.World == 1 {
		return nil
	}
	s := layOut(r.kind(x.length(), x.format()), r.id.Rank, r.id.World, x.length(), x.format(), r.payload)
	if s.chunks > maxChunks {
		return r.wrap("reduce", -1, fmt.Errorf("vector of %d numbers is too long", x.length()))
	}
	r.waiting.Store(true)
	defer r.waiting.Store(false)
	err := r.take(r.all, s, x)
	if err == nil {
		err = r.flush()
	}
	if err != nil {
		r.cancel(err)
		r.release() // after it the transport no longer refers to x
	}
	return err
}

// kind is how a vector of n numbers in that format is summed.
func (r *Ring) kind(n int, f format) kind {
	switch r.opts.Topology {
	case Circle:
		return circling
	case Hosts:
		return byHost
	case Doubling:
		if r.chooses {
			return overHosts(r.layout, f.bytes(n))
		}
		return doubling
	}
	switch {
	case r.column.size > 0 && (!isShort(n, f) || r.layout.Choose(f.bytes(n), topology.Exchange, topology.ByHost) == topology.ByHost):
		return byHost
	case r.id.World == 2 || isShort(n, f): // with two ranks an exchange moves no more than direct
		return exchanging
	case r.chooses && r.layout.Hosts() > 1 && isLong(n, f):
		return circling
	}
	return direct
}

// overHosts is the cheaper of doubling and a ring.
func overHosts(l topology.Layout, bytes int) kind {
	if l.Choose(bytes, topology.Doubling, topology.Ring) == topology.Ring {
		return circling
	}
	return doubling
}

// take runs this rank's part of a schedule.
func (r *Ring) take(p party, s schedule, x vector) error {
	switch s.kind {
	case direct:
		return r.direct(p, s, x)
	case circling:
		return r.circle(p, s, x)
	case doubling:
		return r.double(p, s, x)
	case byHost:
		return r.byHost(x)
	}
	return r.exchange(p, s, x)
}

// release waits until a cancelled ring has no outgoing stream left.
func (r *Ring) release() {
	for _, to := range r.sinks {
		<-to.ended
	}
}

// flush waits until no queued message refers to the vector any more.
func (r *Ring) flush() error {
	for _, to := range r.sinks {
		if err := r.settle(to, 0); err != nil {
			return err
		}
	}
	return nil
}

// settle waits until at most pending messages to a sink refer to the vector.
func (r *Ring) settle(to *sink, pending int) error {
	if err := to.out.settle(pending); err != nil {
		return r.wrap("send", to.rank, err)
	}
	return nil
}

func (r *Ring) header(m move, f format) header {
	return header{
		generation: r.id.Generation, step: r.step, bucket: uint16(r.bucket),
		segment: uint16(m.segment), chunk: uint16(m.chunk), phase: m.phase,
		format: f, length: uint32(f.bytes(m.hi - m.lo)),
	}
}

// send queues message m of the vector x.
func (r *Ring) send(to *sink, m move, x vector, how mode) error {
	h := r.header(m, x.format())
	err := to.out.send(h, func(scratch func() []byte) []byte { return x.encode(how, m.lo, m.hi, scratch) })
	if err != nil {
		return r.wrap("send", to.rank, err)
	}
	to.bytes.Add(uint64(h.length))
	r.tracker.noteSent(to.rank, h)
	return nil
}

// read reads a source's next message that is no sign of life. A faulty message also ends
// the stream; the reader, which knows the fault, ends the ring before serve sees the
// stream end.
func (r *Ring) read(from *source, f *frame) error {
	from.reading.Lock()
	defer from.reading.Unlock()
	err := from.in.receive(f)
	for err == nil && f.header == signOfLife(r.id.Generation) {
		f.free()
		err = from.in.receive(f)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		r.cancel(r.blame("receive", from.rank, err))
	}
	return err
}

// receive reads message m and adds it to x, or copies it there.
func (r *Ring) receive(from *source, m move, x vector, add bool) error {
	want := r.header(m, x.format())
	r.tracker.noteWait(from.rank, want)
	var f frame
	if err := r.read(from, &f); err != nil {
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("%w: it closed the ring", ErrPeerLost)
		}
		return r.wrap("receive", from.rank, err)
	}
	r.tracker.noteReceived()
	defer f.free()
	if f.header != want {
		kind := ErrProtocol
		if f.header.generation != want.generation {
			kind = ErrFenced
		}
		return r.wrap("receive", from.rank, fmt.Errorf("%w: got %v, want %v", kind, f.header, want))
	}
	x.decode(m.lo, m.hi, &f, add)
	from.bytes.Add(uint64(f.header.length))
	return nil
}
