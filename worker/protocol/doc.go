// Package protocol is the worker's side of the cluster: what it says to the
// coordinator, what work it begins and ends, and when a step may be applied. It
// is a pure state machine,
//
//	(state, now, event) → effects
//
// without clock, goroutine, randomness or I/O, as the coordinator's machine is.
// Package worker runs it over gRPC and a device, package simulation over a
// network, clock and disk that are made up.
//
// A [Session] lives as long as one connection to the coordinator. Beside it runs
// at most one piece of work, since work uses the device: making shards,
// preparing for a run, describing the state, or being a rank. An order that
// needs the device first cancels what is under way, and begins when that has
// ended; meanwhile pings are answered. A rank goes so:
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
// A step is applied when the ring has ended here and the generation has not:
// what was cancelled is not applied any more, whatever its ring brings.
package protocol
