package allreduce

// Which rank sends what when, as pure functions of (rank, world, vector length). These
// numbers alone determine every message, so a receiver knows every header beforehand.
// There are three schedules here, one in doubling.go, and one in hosts.go that consists of
// others; docs/decisions/allreduce.md and topology.md say when each is used and why.
//
// All of them cut the vector into segments (exchange: one) and every segment
// into the same number of chunks, one message each.
//
// Exchange, where all ranks are connected and vectors are short. Every rank sends its
// whole vector to every rank, and all add them up in rank order. One hop.
//
// Direct, where all ranks are connected. Rank r sums segment r: it receives the other
// ranks' parts of it, adds them, and sends the sum to all. Two hops.
//
// Ring, between neighbours. In stage k = 0 … 2(W-1)-1 rank r sends segment
// (r-k) mod W to its successor and receives segment (r-k-1) mod W from its
// predecessor. In the first W-1 stages (reduce-scatter) it adds what it receives,
// so that after them it holds the finished segment (r+1) mod W; in the others
// (all-gather) it overwrites.
//
// Direct and ring move 2(W-1)/W of the vector's size per rank, the least possible, and
// add up segment s in the same order: ranks s, s+1, … mod W. Each sum is computed once
// and copied, so all ranks end with the same bits.

const (
	// chunkBytes is the largest payload of one message between ranks on several hosts.
	// Longer ones leave a slow link idle between the two hops. With all headers it
	// fills exactly two TCP segments over loopback.
	chunkBytes = 130_848
	// localChunkBytes is the largest on one host: with all headers 16 HTTP/2 frames.
	localChunkBytes = 16*frameBytes - grpcPrefixBytes - headerBytes
	// doublingBytes is the largest in a sum by doubling between hosts: with all headers two
	// HTTP/2 frames. A rank that is ahead of others sends them messages of a later round,
	// which take the link's time from those of an earlier one that others wait for.
	doublingBytes = 2*frameBytes - grpcPrefixBytes - headerBytes
	// maxDepth is how many messages of a kind (parts, sums) a rank sends ahead of
	// what it has received. Twice that many must fit into the stream's flow-control
	// window: then some link always has room, and sends from the receive loop cannot
	// deadlock.
	maxDepth = 4
	// exchangeBytes is the size in memory of the largest vector that is exchanged.
	exchangeBytes = 16 << 10
	// circleBytes is the smallest vector that goes round a ring although all ranks are
	// connected, if they are on several hosts.
	circleBytes = 1 << 20
	// maxChunks is the range of the header's chunk field.
	maxChunks = 1 << 16
)

type phase uint8

const (
	phaseHello    phase = 1 // handshake, client to server
	phaseWelcome  phase = 2 // handshake, server to client
	phaseReduce   phase = 3 // part, or partial sum, of a segment
	phaseGather   phase = 4 // finished sum of a segment
	phaseExchange phase = 5 // one rank's whole vector
	phaseGoodbye  phase = 6 // closing handshake, server to client
	phaseAlive    phase = 7 // sign of life, client to server
)

type schedule struct {
	kind        kind
	place, size int // ours among those that sum together, and how many these are
	length      int // numbers of the vector
	unit        int // of cuts
	most        int // numbers of a message
	chunks      int // per segment; not for doubling
}

type kind uint8

const (
	exchanging kind = iota
	direct
	circling
	doubling
	byHost
)

// layOut cuts a vector of n numbers in that format, with payloads of at most so many bytes.
func layOut(k kind, place, size, n int, f format, payload int) schedule {
	if k == doubling && payload < localChunkBytes {
		payload = doublingBytes
	}
	s := schedule{kind: k, place: place, size: size, length: n, unit: f.unit(), most: f.most(payload)}
	parts := size
	if k == exchanging {
		parts = 1
	}
	units := (n + s.unit - 1) / s.unit
	s.chunks = max(((units+parts-1)/parts*s.unit+s.most-1)/s.most, 1)
	return s
}

// isShort reports whether latency bounds a vector's time. It counts the size in memory,
// so that the wire does not change the schedule.
func isShort(n int, f format) bool { return inMemory(n, f) <= exchangeBytes }

// isLong reports whether the link bounds a vector's time, and its format does not round
// the partial sums of a ring.
func isLong(n int, f format) bool {
	return (f == format(Float32) || f == formatInt64) && inMemory(n, f) >= circleBytes
}

// inMemory is how many bytes n numbers have in memory.
func inMemory(n int, f format) int {
	if f == formatInt64 {
		return 8 * n
	}
	return 4 * n
}

// depth is how many messages of a kind may be sent before the first is received.
func (s schedule) depth() int { return min(maxDepth, s.chunks) }

// move is one message of the schedule.
type move struct {
	phase   phase
	segment int // in an exchange: the place whose vector it is
	chunk   int
	lo, hi  int // the numbers that it carries
}

// move returns the message with a chunk of a segment.
func (s schedule) move(p phase, segment, chunk int) move {
	lo, hi := 0, s.length
	if s.kind != exchanging {
		lo, hi = cut(s.length, s.size, segment, s.unit)
	}
	from, to := cut(hi-lo, s.chunks, chunk, s.unit)
	return move{p, segment, chunk, lo + from, lo + to}
}

// cut is part i of n numbers in equal parts of whole units, sizes differing by one unit at
// most; the last unit may be shorter.
func cut(n, parts, i, unit int) (lo, hi int) {
	units := (n + unit - 1) / unit
	return min(units*i/parts*unit, n), min(units*(i+1)/parts*unit, n)
}

// The ring. With M chunks per segment, message i ≥ M passes on what message i-M
// brought. With depth ≤ M messages in flight, a rank may therefore send message j+depth
// as soon as it has received message j. The ring needs no other synchronisation.

// messages is the number of messages that each rank sends round the ring, and receives.
func (s schedule) messages() int { return 2 * (s.size - 1) * s.chunks }

// sent is the i-th message to the successor, and how it is encoded.
func (s schedule) sent(i int) (move, mode) {
	m := s.lap(s.place, i)
	switch {
	case m.phase == phaseReduce:
		return m, contribute
	case i/s.chunks == s.size-1:
		return m, publish
	}
	return m, passOn
}

// received is the i-th message from the predecessor: its i-th sent.
func (s schedule) received(i int) move { return s.lap(s.place+s.size-1, i) }

func (s schedule) lap(sender, i int) move {
	stage := i / s.chunks
	phase := phaseReduce
	if stage >= s.size-1 {
		phase = phaseGather
	}
	return s.move(phase, (sender+2*s.size-stage)%s.size, i%s.chunks)
}
