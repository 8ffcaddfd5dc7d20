// Package machine decides for the coordinator: which workers form a generation, which of
// them owns which shards, and where their state comes from. It is a pure state machine,
//
//	(state, now, event) → (state, effects, reason)
//
// without clock, goroutine, randomness or I/O: the same events at the same times have
// the same effects. Time comes with every event, and as Tick. Effects are data, to be
// executed in order; the ledger of Persist must be durable before any later effect is
// executed. The reason tells log, status and tests what was decided; it is empty where
// nothing was.
//
// A run passes through
//
//	Submit ─► scanning ─► generating ─► waiting ─► forming ─► training ─► done
//	                          │            ▲          ▲  │        │
//	                          ▼            └──────────┼──┴────────┤
//	                      generated     no worker     │   loss, complaint,
//	                      (until: generate) is left   └── joiner, drain
//
// and any of these may end in failed. A generation forms in this way:
//
//	coordinator            every member
//	  Form ────────────────►  stop stepping
//	       ◄──────────────── Report: has state, step, hash
//	  decide
//	  Assign ──────────────►  rank, members, shards, source of the state
//	       ◄──────────────── Ready: state in place, ring connected
//	  note the holders
//	  Go ──────────────────►  step
//	       ◄──────────────── Progress …
//	  Abort ───────────────►  stop, at once
//
// Any fault ends a generation at once. The next one forms of the workers that are
// there, as soon as one of them is a holder of the last one's state (holders.go). Two
// rules bound how often that happens. A joiner is admitted only into a generation that
// has made a step. Generations that end in complaints without a step between them form
// after growing delays, and finally fail the run.
//
// A generation has no two workers whose link is cut (links.go). Workers that are left out
// join when the link is mended.
package machine
