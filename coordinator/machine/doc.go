// Package machine decides: who is in, which generation, who owns which shards,
// where its state comes from. It is a pure state machine,
//
//	(state, now, event) → (state, effects, reason)
//
// without clock, goroutine, randomness or I/O: the same events at the same times
// give the same effects. Time arrives with every event and as Tick. Effects are
// data, to be executed in order; what Persist carries must be durable before
// any effect after it is executed. The reason is one sentence for log, status
// and tests; it is empty where nothing was decided.
//
// A run passes through
//
//	Submit ─► scanning ─► generating ─► waiting ─► forming ─► training ─► done
//	                          │            ▲          ▲  │        │
//	                          ▼            └──────────┼──┴────────┤
//	                      generated     nobody is     │   loss, complaint,
//	                      (until: generate)  left     └── joiner, drain
//
// and any of them may end in failed. One generation is formed so:
//
//	coordinator            every member
//	  Form ────────────────►  stop stepping
//	       ◄──────────────── Report: has state, step, hash
//	  decide
//	  Assign ──────────────►  rank, members, shards, source of the state
//	       ◄──────────────── Ready: state in place, ring connected
//	  note who holds the state
//	  Go ──────────────────►  step
//	       ◄──────────────── Progress …
//	  Abort ───────────────►  stop, at once
//
// Any fault ends a generation at once. The next one forms of the workers that are
// there, as soon as one of them is a holder of the last one's state (holders.go). Two
// rules bound how often that happens. A joiner is admitted only into a generation that
// has made a step. Generations that end in complaints without a step between them form
// after growing delays, and finally fail the run.
package machine
