// Package queue decides for the coordinator which runs begin, and when: it holds the queue
// of runs and the schedules. It is a pure state machine like package machine,
//
//	(state, now, event) → (state, effects, reason)
//
// without clock, goroutine, randomness or I/O. A Persist comes before all other effects
// and must be durable before they are executed. An effect may be lost when the process
// ends: Start gives the effects of everything that has begun once more, and to repeat one
// has no further effect.
//
// A run passes through
//
//	Submit, a schedule ─► waiting ─► running ─► ended: done, failed, cancelled, replaced
//	         │                │  ▲      │  ▲
//	         │                │  └──────┘  │ its process was killed
//	         │                │  stopping ─┘ (a retraining that is cancelled or replaced)
//	         └────────────────┴─► ended: skipped, cancelled
//
// Trainings and generations of data use the workers. A retraining is a process that
// submits a training itself, so it uses none; Config.Retrainings bounds the retrainings.
//
// A run uses all workers, unless it has a most (ergoflow.WorkerBounds) or its data have fewer
// parts. It begins beside others where these leave workers over: as many as its least, and one
// at least. Where it does not begin, no run behind it does, so that a run which needs many
// workers gets its turn. Package fleet says which worker is for which run.
//
// # Order
//
// The run with the smallest place begins first, of equal ones the one that was submitted
// first. A run's place is its number less 100 for each level of its priority. So one level
// passes up to 100 runs that were submitted before, and no run waits for ever: only
// finitely many can come before it.
//
// # Schedules
//
// What is due follows from the ledger and the clock, not from a timer. A scheduled time
// is handled once (schedule.State.Decided). If the clock is set back, times that were handled
// before they came are handled again, but none is started again: a run's identity is
// (schedule, scheduled time). What is not started is a run that has ended, skipped, with
// its reason. Several skipped times in a row are one such run (Run.Times).
//
// # Invariants
//
//  1. No run is lost: every accepted run ends, and is listed until it is pruned.
//
//  2. No run is begun again after it has ended.
//
//  3. No scheduled time is started twice.
//
//  4. Every scheduled time that is over is started or listed as skipped, unless its
//     schedule is paused: then it is listed when the schedule is resumed.
//
//  5. Two runs of a schedule are never under way together.
//
//  6. No run begins before a waiting one of a smaller place that could begin.
//
//  7. A run that uses workers begins beside others only where they leave it its least, and
//     at most Config.Retrainings are retrainings.
//
//  8. Where another coordinator takes over: no two processes of one run or schedule run at one
//     time, on any host, and no more than Config.Retrainings.
//
//  9. Clients of several coordinators get the answers of one machine that handles one request
//     at a time, and a request that is sent again adds no second run.
//
// The test simulation checks them under restarts at any point, lost and repeated effects,
// a clock that jumps, and coordinators that take over while the last one goes on. Rules 8 and 9
// need that a coordinator executes effects and answers only once what the step persists is
// committed, or, where it persists nothing, once it has verified after the event that it leads;
// that it launches no process before the lease of the last leader is over; and that it verifies
// that it leads before it launches one.
package queue
