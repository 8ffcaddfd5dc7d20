package allreduce

import (
	"context"

	"github.com/ergoflow/ergoflow"
)

// outgoing is the stream to a rank. One goroutine sends messages, and another sends
// signs of life.
type outgoing interface {
	// send queues a message. encode returns its payload, in scratch or in memory of
	// its own. The payload must not change before settle or close reports that the
	// transport is done with it.
	send(h header, encode func(scratch func() []byte) []byte) error
	// alive sends a sign of life, unless a message is being sent or finish was called.
	alive(header) error
	// settle waits until the transport refers to no payloads but those of the newest
	// pending messages.
	settle(pending int) error
	// finish says that no more messages follow.
	finish() error
	// wait blocks until the receiver says goodbye, nil, or the stream breaks.
	wait() error
	// close disconnects at once and drops what is queued.
	close()
}

// incoming is the stream from a rank. It ends when the accept that it was given to
// returns.
type incoming interface {
	// welcome completes the handshake.
	welcome(hello) error
	// receive reads the next message into f, which the caller frees; io.EOF
	// after the sender's finish.
	receive(f *frame) error
	// arrivals counts what has arrived from the sender, read or not, in any unit; ok is
	// false if the transport does not count.
	arrivals() (count uint64, ok bool)
	// segments counts what has come on the wire, also what was sent again and brings nothing
	// new; 0 where the transport does not count.
	segments() uint64
	// sender is the identity in the sender's certificate. It is empty on links without
	// certificates: local sockets, plain text, in-process.
	sender() string
	// goodbye tells the sender that this rank has read everything up to its finish.
	goodbye(ergoflow.Generation) error
}

// dialer opens the stream to a rank and completes the handshake as far as
// reading its greeting. The stream lives no longer than ctx. Where there are certificates,
// it sends nothing to a process that has not the rank's identity in the greeting's options.
type dialer interface {
	dial(ctx context.Context, address string, rank int, greeting hello) (outgoing, hello, error)
}
