// Package allreduce sums a vector over the workers of a generation. It knows
// neither models nor the coordinator.
//
//	                ring.AllReduce(step, gradient)
//	                              │
//	schedule    which chunk goes when: pure functions of (rank, world, length)
//	ring        the loop over it: check, add or copy, pass on
//	link        outgoing and incoming stream: gRPC, or memory for tests
//	server      who may connect: handshake, generations, fencing
//
// Every rank sends to its successor, rank+1 mod W, and receives from its
// predecessor. Long vectors go round the ring twice (reduce-scatter, then
// all-gather), 2(W-1)/W times their size per link; vectors of at most 16 KiB go
// round once, whole, and are summed by everyone in rank order. Either way all
// ranks end with the same bits, for one world size. Sums are float32.
//
// # Generations
//
// A [Ring] is one rank's membership of one generation and never recovers: what
// goes wrong ends it on this rank at once and, as its streams break, on the
// others, with an [*Error] that names the neighbour. The next generation's Join
// fences whatever is left of it. Streams of a generation that this process has
// not joined yet wait for it, since members are told at different instants.
//
// # Wire format, version 1
//
// One gRPC bidirectional stream, /ergoflow.allreduce.v1.Ring/Link, content type
// application/grpc+ergoflow-ring, runs from each rank (client) to its successor
// (server). A message is a header of 27 bytes and a payload of at most 131,072.
// Numbers are little-endian.
//
//	 0  8  generation
//	 8  8  step, not negative
//	16  2  bucket: call of AllReduce within the step
//	18  2  segment; in an exchange, the rank whose vector it is
//	20  2  chunk of the segment
//	22  1  phase: 1 hello, 2 welcome, 3 reduce, 4 gather, 5 exchange, 6 goodbye
//	23  4  length of the payload in bytes
//	27     payload
//
// With gRPC's prefix of 5 bytes the payload starts at byte 32 of an HTTP/2
// frame, so that frames of 16 KiB do not split numbers; a receiver must not
// rely on it. Payloads of phases 3 to 5 are float32 or, where the handshake
// says so, bfloat16 (the upper 16 bits of a float32 rounded to nearest, ties to
// even).
//
// The client first sends a hello, the server answers a welcome. In both, step,
// bucket, segment and chunk are zero and the payload is:
//
//	 0  4  "EFAR"
//	 4  2  version: 1
//	 6  1  number format: 0 float32, 1 bfloat16
//	 7  1  zero
//	 8  4  rank of the sender
//	12  4  world size
//
// Then the client sends the messages of the schedule in its order, and the
// server nothing. Client half-close, a goodbye of the server (no payload, all
// fields zero but generation and phase), and the client's disconnection are the
// closing handshake. A server refuses by gRPC status: ABORTED a generation that
// is over, FAILED_PRECONDITION an identity or format that does not fit,
// INVALID_ARGUMENT what is no such message.
//
// # Limits
//
// A peer that is silent but connected is not noticed here: the context given to
// Join ends the wait. The handshake keeps mistakes apart, not enemies: it authenticates nobody.
// Segments have at most 65,536 chunks, which is 8 GiB of float32 per rank.
package allreduce
