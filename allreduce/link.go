package allreduce

import (
	"context"

	"github.com/ergoflow/ergoflow"
)

// outgoing is the stream to the successor.
type outgoing interface {
	// send queues a message of the numbers v, which must not change until flush
	// returns nil or close returns.
	send(h header, v []float32) error
	// flush waits until no queued message refers to its numbers any more.
	flush() error
	// finish says that no more messages follow.
	finish() error
	// wait blocks until the successor says goodbye, nil, or the stream breaks.
	wait() error
	// close disconnects at once, whatever is queued.
	close()
}

// incoming is the stream from the predecessor. It ends when the accept that
// was given it returns.
type incoming interface {
	// welcome completes the handshake.
	welcome(hello) error
	// receive reads the next message into f, which the caller frees; io.EOF
	// after the predecessor's finish.
	receive(f *frame) error
	// goodbye tells the predecessor that everything up to its finish is read.
	goodbye(ergoflow.Generation) error
}

// dialer opens the stream to a successor and completes the handshake as far as
// reading its greeting. The stream lives no longer than ctx.
type dialer interface {
	dial(ctx context.Context, address string, greeting hello) (outgoing, hello, error)
}
