// Package coordinator conducts runs: it knows the workers, the present generation and
// which worker owns which shards, and stores the checkpoints.
//
// A pure state machine decides: package machine. This package is the adapter around it.
// One goroutine, the loop, owns the machine, hands it events and executes its effects in
// order:
//
//	gRPC sessions ─┐                       ┌─► coordinator.db   (Persist: fsync first)
//	RPCs ──────────┼─► loop ─► machine ────┼─► sessions         (Send, Close)
//	job results ───┤    ▲                  └─► NATS, store      (Publish, Scan)
//	ticks ─────────┘    └── events ◄───────────── their outcomes
//
// The loop never waits for a network: messages go into a queue per session, and a
// session whose queue is full is closed. It waits for the ledger alone.
//
// # Files
//
// Under Config.Dir:
//
//	coordinator.db     ledger: last generation, plan, stage; addresses (bbolt)
//	coordinator.json   pid and addresses while the coordinator runs
//	checkpoints.db     see checkpoint
//	nats/              of the job queue, which needs nothing in it after a restart
//	shards/            the shard store, unless Config.Store says otherwise
//
// The coordinator.db has one bucket, "coordinator", with the keys "ledger"
// (machine.Ledger as JSON) and "addresses" (Addresses as JSON).
package coordinator
