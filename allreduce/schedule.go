package allreduce

// The ring schedule, as pure functions of (rank, world, vector length).
//
// The vector is cut into one segment per rank, every segment into the same
// number of chunks. In stage k = 0 … 2(W-1)-1 rank r sends segment (r-k) mod W
// to its successor and receives segment (r-k-1) mod W from its predecessor. In
// the first W-1 stages (reduce-scatter) it adds what it receives, so that after
// them it holds the finished segment (r+1) mod W; in the others (all-gather) it
// overwrites. Each segment is summed by one rank after the other in ring order
// and then copied: all ranks end with the same bits.
//
// Messages go stage by stage, chunk by chunk. With M chunks per segment,
// message i ≥ M passes on what message i-M brought; with depth ≤ M messages in
// flight, message j+depth may therefore be sent as soon as message j is
// received, and the ring needs no other synchronisation.
//
// A short vector is latency-bound. It is not cut: in W-1 stages every rank
// passes every rank's own vector on (exchange), and all add them up in rank
// order, which again leaves the same bits everywhere.

const (
	// chunkBytes is the largest payload of one message.
	chunkBytes = 128 << 10
	// maxDepth is how many messages a rank sends ahead of what it has received.
	// maxDepth·chunkBytes must stay below the stream's flow-control window: then
	// not every link of the ring can be full, and sends from the receive loop
	// cannot deadlock.
	maxDepth = 8
	// exchangeBytes is the largest vector (as float32) sent whole.
	exchangeBytes = 16 << 10
	// maxChunks is what the header's chunk field can count.
	maxChunks = 1 << 16
)

type phase uint8

const (
	phaseHello    phase = 1 // handshake, predecessor to successor
	phaseWelcome  phase = 2 // handshake, successor to predecessor
	phaseReduce   phase = 3 // partial sum of a segment
	phaseGather   phase = 4 // finished sum of a segment
	phaseExchange phase = 5 // one rank's whole vector
	phaseGoodbye  phase = 6 // closing handshake, successor to predecessor
)

type schedule struct {
	rank, world int
	length      int // elements of the vector
	chunks      int // per segment
	exchange    bool
}

// newSchedule lays out a vector of n elements that take size bytes on the wire.
func newSchedule(rank, world, n, size int) schedule {
	s := schedule{rank: rank, world: world, length: n, chunks: 1}
	if 4*n <= exchangeBytes {
		s.exchange = true
		return s
	}
	segment := (n + world - 1) / world
	chunk := chunkBytes / size
	s.chunks = (segment + chunk - 1) / chunk
	return s
}

// messages counts what each rank sends, which is what it receives.
func (s schedule) messages() int {
	if s.exchange {
		return s.world - 1
	}
	return 2 * (s.world - 1) * s.chunks
}

// depth is how many messages may be sent before the first is received.
func (s schedule) depth() int { return min(maxDepth, s.chunks) }

// move is one message of the schedule.
type move struct {
	phase   phase
	segment int // in an exchange: the rank whose vector it is
	chunk   int
}

// sent is the i-th message to the successor.
func (s schedule) sent(i int) move { return s.move(s.rank, i) }

// received is the i-th message from the predecessor: its i-th sent.
func (s schedule) received(i int) move { return s.move(s.rank+s.world-1, i) }

func (s schedule) move(sender, i int) move {
	stage := i / s.chunks
	m := move{
		phase:   phaseReduce,
		segment: (sender + 2*s.world - stage) % s.world,
		chunk:   i % s.chunks,
	}
	switch {
	case s.exchange:
		m.phase = phaseExchange
	case stage >= s.world-1:
		m.phase = phaseGather
	}
	return m
}

// last reports whether m, received, completes a segment's sum.
func (s schedule) last(i int) bool {
	return !s.exchange && i/s.chunks == s.world-2
}

// span is the range of elements [lo, hi) that m carries.
func (s schedule) span(m move) (lo, hi int) {
	if s.exchange {
		return 0, s.length
	}
	lo, hi = cut(s.length, s.world, m.segment)
	from, to := cut(hi-lo, s.chunks, m.chunk)
	return lo + from, lo + to
}

// cut is part i of n elements in equal parts, sizes differing by one at most.
func cut(n, parts, i int) (lo, hi int) {
	return n * i / parts, n * (i + 1) / parts
}
