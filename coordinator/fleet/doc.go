// Package fleet decides for the coordinator which worker is for which run. Each run that is
// under way has a machine of its own (package machine), and each worker's session belongs to
// one machine for as long as it lasts. Like these the fleet is pure:
//
//	(state, now, event) → (state, effects, reason)
//
// Package queue decides which runs begin. The fleet gives them workers:
//
//   - A run gets no more workers than its most (ergoflow.WorkerBounds.Max).
//   - A worker that opens a session goes back to the run whose state it has. Any other goes to
//     the run with the fewest that can use one more, first to one that has fewer than its least.
//   - Workers that no run can use stay with a machine whose run has ended, or that has none,
//     until the next run begins.
//   - A worker moves from one run to another where that one has at least two more, or the other
//     fewer than its least. So the numbers become as equal as the bounds allow, and no worker
//     moves to and fro.
//
// To move, a worker leaves its run in order, forgets its state, and opens a new session.
//
// Numbers of generations grow over all machines, and no two generations have one number.
//
// # Invariants
//
//  1. Each session belongs to one machine, and no worker has two.
//  2. No run has more workers than its most, but for those that are about to leave.
//  3. A run with fewer workers than it can use, while others have none to do, gets them.
//  4. Once no worker comes or goes, none moves.
//
// The simulation in worker/simulation checks them, with several runs at once, beside those of
// each run.
package fleet
