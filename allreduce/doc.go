// Package allreduce sums a vector over the workers of a generation. It knows
// neither models nor the coordinator.
//
//	                ring.AllReduce(step, gradient)
//	                              │
//	schedule    who sends what when: pure functions of (rank, world, length)
//	mesh        the loops over it where all ranks are connected,
//	circle      and where each is with its two neighbours
//	vector      numbers and how they travel: float32, bfloat16, int8, int64
//	link        stream to a rank and from one: gRPC, or memory for tests
//	shared      memory for the numbers, between ranks of one machine
//	server      who may connect: handshake, generations, fencing
//
// Up to [MeshWorld] ranks are connected all with all: short vectors are
// exchanged whole, of longer ones every rank sums a segment and hands it out.
// More ranks form a ring, rank to rank+1 mod W, which long vectors go round
// twice (reduce-scatter, then all-gather). Either moves 2(W-1)/W times the
// vector's size per rank. All ranks end with the same bits, for one world size
// and wire. Sums are float32, or 64-bit integers.
//
// # Generations
//
// A [Ring] is one rank's membership of one generation and never recovers: what
// goes wrong ends it on this rank at once and, as its streams break, on the
// others, with an [*Error] that names the neighbour. The next generation's Join
// fences whatever is left of it. Streams of a generation that this process has
// not joined yet wait for it, since members are told at different instants.
//
// # Wire format, version 5
//
// gRPC bidirectional streams, /ergoflow.allreduce.v1.Ring/Link, content type
// application/grpc+ergoflow-ring, run from each rank (client) to those that it
// sends to (servers). A message is a header of 27 bytes and a payload of at most
// 262,112 where all ranks' addresses are of one host, else of 130,848. Numbers are
// little-endian.
//
//	 0  8  generation
//	 8  8  step, not negative
//	16  2  bucket: call of AllReduce within the step
//	18  2  segment; in an exchange, the rank whose vector it is
//	20  2  chunk of the segment
//	22  1  phase: 1 hello, 2 welcome, 3 reduce, 4 gather, 5 exchange, 6 goodbye
//	23  1  number format: 0 float32, 1 bfloat16, 2 int8, 3 int64; else zero.
//	       Its highest bit: the payload is in shared memory
//	24  3  length of the payload in bytes
//	27     payload, or the number of its slot in shared memory, one byte
//
// With gRPC's prefix of 5 bytes the payload starts at byte 32 of an HTTP/2
// frame, so that frames of 16 KiB do not split numbers; a receiver must not
// rely on it. bfloat16 is the upper 16 bits of a float32 rounded to nearest,
// ties to even; int8 is described in int8.go.
//
// The client first sends a hello, the server answers a welcome. In both, step,
// bucket, segment, chunk and number format are zero and the payload is:
//
//	 0  4  "EFAR"
//	 4  2  version: 5
//	 6  1  number format of long vectors of float32: 0, 1 or 2 as above
//	 7  1  topology: 1 mesh, 2 ring
//	 8  4  rank of the sender
//	12  4  world size
//	16  1  length p of the plan's name, at most 64
//	17  1  length b of the build's name, at most 64
//	18 16  token of the generation
//	34  p  plan, printable ASCII
//	    b  build, printable ASCII
//
// Then the client sends the messages of the schedule in its order, and the
// server nothing. Client half-close, a goodbye of the server (no payload, all
// fields zero but generation and phase), and the client's disconnection are the
// closing handshake. A server refuses by gRPC status: ABORTED a generation that
// is over, FAILED_PRECONDITION an identity, plan, build or format that does not
// fit, INVALID_ARGUMENT what is no such message.
//
// On Linux a rank also listens on the abstract Unix socket
// "ergoflow-ring-5/" + its data address, which ranks of its user on its machine dial
// first. There the connection begins with one byte: 0, or 1 with the descriptor
// (SCM_RIGHTS) of a memfd of 4,198,400 bytes, sealed against shrinking, growing and
// further seals, that the client has made. It has one page for flags, 64 bytes for
// each of 16 slots, and then the slots, 262,144 bytes each. A flag is a uint32 in the
// machine's order: the client sets it to 1 when it has put a payload into the slot, and
// the server to 0 when it has added it. All else is as over TCP.
//
// # Limits
//
// A peer that is silent but connected is not noticed here: the context given to
// Join ends the wait. The token keeps out who only reaches the ports. Nothing is
// encrypted and the token is sent as it is: who reads what members send, or listens at
// a member's address, can pass for one until the next generation. A stream of a
// generation that is still to be joined is not checked before it is: 128 of them may
// wait, and strangers who send so many of the next one may keep its members out until
// the one after it. Segments have at most 65,536 chunks, which is 8 GiB per rank. What
// an int8 wire keeps back of a gradient belongs to the ring and ends with it: a new
// generation starts without.
package allreduce
