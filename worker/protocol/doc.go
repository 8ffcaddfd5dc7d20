// Package protocol decides for a worker: what it sends to the coordinator, which work it
// begins and ends, and when it may apply a step. It is a pure state machine,
//
//	(state, now, event) → effects
//
// without clock, goroutine, randomness or I/O, as the coordinator's machine is. Both
// speak in the messages of package message. Package worker runs it with gRPC and a
// device, package simulation with a simulated network, clock and disk.
//
// A [Session] lasts as long as one connection to the coordinator. At most one piece of
// work runs beside it, since work uses the device: making shards, preparing for a run,
// describing the state, or being a rank. An order that needs the device cancels the
// present work, and begins when that has ended. Meanwhile the session answers pings. A
// rank passes through:
//
//	coordinator        session             the work
//	  Assign ────────►   Join ───────────►  take the state, connect the ring
//	         ◄─────── Ready ◄──────────────  Joined
//	  Go ────────────►   Compute ────────►  gradient, sum over the ring
//	                     Apply   ◄───────►  Summed: the ring ended here
//	         ◄──── Progress ◄──────────────  Applied
//	                     Compute ────────►  …
//	  Abort ─────────►   Cancel ─────────►
//	                             ◄─────────  Ended
//
// A rank applies a step when its ring has ended and its generation has not. Once its
// work is cancelled it applies no step, even if the ring still ends.
package protocol
