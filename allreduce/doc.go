// Package allreduce sums a vector over the workers of a generation. It knows
// neither models nor the coordinator.
//
//	                ring.AllReduce(step, gradient)
//	                              │
//	schedule    which rank sends what when: pure functions of (rank, world, length)
//	topology    which schedule costs least on the ranks' hosts
//	mesh        the loops over the schedule where all ranks are connected
//	circle      the loop where each rank is connected with its two neighbours
//	doubling    the loop where each rank is connected with those 1, 2, 4 … places away
//	hosts       the loops for several ranks on each of several hosts
//	vector      numbers and their format on the wire: float32, bfloat16, int8, int64
//	link        stream to a rank and from one: gRPC, or in-process for tests
//	shared      memory that ranks of one machine share, for the numbers
//	tls         who may connect: certificates, and the kernel on local sockets
//	records     messages to TLS, in as few records as they fit
//	silence     signs of life, and the end of a ring without them
//	progress    how far a ring is, for people who ask why it stands still
//	server      which streams are accepted: handshake, generations, fencing
//
// Up to [MeshWorld] ranks are all connected with each other. They exchange short
// vectors whole; of a longer vector every rank sums one segment and sends the sum
// to the others. Vectors of 1 MiB and more of ranks on several hosts go round a ring, rank to
// rank+1 mod W, twice (reduce-scatter, then all-gather). More ranks sum by halving and doubling
// or in a ring, and several ranks on each of several hosts within hosts first
// (docs/decisions/topology.md). Every way but the exchange moves 2(W-1)/W times the vector's
// size per rank, or less between hosts. All ranks end with the same bits, for one world size,
// one place of ranks on hosts, and one wire. Sums are float32, or 64-bit integers.
//
// # Generations
//
// A [Ring] is one rank's membership of one generation and never recovers. An error
// ends it on this rank at once and, as its streams break, on the others, with an
// [*Error] that names the neighbour. So does silence: every rank sends signs of life on
// its links, also while it computes, and a rank that joins or sums ends the ring when a
// link has brought no byte for nearly two seconds (silence.go). The next generation's
// Join fences what is left of it. A stream of a generation that this process has not
// joined yet waits, because members hear of a generation at different instants.
//
// # Wire format, version 7
//
// gRPC bidirectional streams, /ergoflow.allreduce.v1.Ring/Link, content type
// application/grpc+ergoflow-ring, run from each rank (client) to the ranks that it
// sends to (servers). A message is a header of 27 bytes and a payload of at most
// 262,112 bytes if all ranks have one host, else 130,848. Numbers are little-endian.
//
//	 0  8  generation
//	 8  8  step, not negative
//	16  2  bucket: call of AllReduce within the step
//	18  2  segment, the first of several; in an exchange, the place whose vector it is
//	20  2  chunk of the segment
//	22  1  phase: 1 hello, 2 welcome, 3 reduce, 4 gather, 5 exchange, 6 goodbye,
//	       7 sign of life
//	23  1  number format: 0 float32, 1 bfloat16, 2 int8, 3 int64; else zero.
//	       Its highest bit: the payload is in shared memory
//	24  3  length of the payload in bytes
//	27     payload, or the number of its slot in shared memory, one byte
//
// With gRPC's prefix of 5 bytes the payload starts at byte 32 of an HTTP/2
// frame, so frames of 16 KiB do not split numbers; a receiver must not rely on
// that. bfloat16 is the upper 16 bits of a float32 rounded to nearest,
// ties to even; int8 is described in int8.go.
//
// The client first sends a hello, the server answers a welcome. In both, step,
// bucket, segment, chunk and number format are zero and the payload is:
//
//	 0  4  "EFAR"
//	 4  2  version: 7
//	 6  1  number format of long vectors of float32: 0, 1 or 2 as above
//	 7  1  topology: 1 mesh, 2 ring, 3 doubling, 4 hosts
//	 8  4  rank of the sender
//	12  4  world size
//	16  1  length p of the plan's name, at most 64
//	17  1  length b of the numerics' name, at most 64
//	18 16  token of the generation
//	34  p  plan, printable ASCII
//	    b  numerics, printable ASCII
//
// Then the client sends the messages of the schedule in its order, and between them four
// signs of life a second (no payload, all fields zero but generation and phase). The
// server sends nothing. The closing handshake is: client half-close, a goodbye of the
// server (no payload, all fields zero but generation and phase), and the client's
// disconnection. A server refuses by gRPC status: ABORTED for a generation that is
// over, FAILED_PRECONDITION for an identity, plan, numerics or format that does not fit,
// INVALID_ARGUMENT for a malformed message.
//
// Between processes with certificates, TCP connections are TLS 1.3 with the protocol h2, and
// both sides show a certificate of their cluster: the server that of a worker, the client
// that of a worker or coordinator, and both that of the member that the coordinator named for
// the rank ([Options].Identities). The client sends its greeting, with the token, to no other.
// docs/decisions/tls.md has the rest.
//
// On Linux a rank also listens on the abstract Unix socket
// "ergoflow-ring-7/" + its data address. Ranks of the same user on the same machine
// dial it first. There the connection begins with one byte: 0, or 1 with the
// descriptor (SCM_RIGHTS) of a memfd of 4,198,400 bytes that the client has made,
// sealed against shrinking, growing and further seals. The memfd has one page for
// flags, 64 bytes for each of 16 slots, and then the slots, 262,144 bytes each. A flag
// is a uint32 in the machine's byte order: the client sets it to 1 when it has put a
// payload into the slot, the server sets it to 0 when it has added the payload. The
// rest is as over TCP.
//
// # Limits
//
//   - A link is silent when it brings no byte. One that still brings a few is slow: the ring
//     waits for it. The context given to Join ends the wait.
//   - Signs of life wait in the receiver's window until it sums again. A rank that does not
//     sum for 18 hours has no room for more, and its next sum fails.
//   - Without certificates nothing is encrypted, and the token is sent in clear. It keeps
//     out processes that only reach the ports. A process that reads the members' traffic, or
//     listens at a member's address, can pass for a member until the next generation.
//   - Local sockets are never encrypted and need no certificate. The kernel tells that the
//     other end belongs to the same user. In containers that share a network but no user
//     namespace, that is every process with the same number of a user.
//   - Streams of a generation that is not joined yet are checked only at the join. At
//     most 128 of them wait. A process outside the cluster that opens that many streams
//     of the next generation can keep its members out until the generation after it.
//   - Segments have at most 65,536 chunks, which is 8 GiB per rank.
//   - The rounding errors that an int8 wire feeds back belong to the ring. A new
//     generation starts with none.
package allreduce
