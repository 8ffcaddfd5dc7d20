// Package coordinator conducts runs: it knows the workers, the present generation and
// which worker owns which shards, and stores the checkpoints.
//
// Two pure state machines decide: package queue which run begins, and package machine how
// the workers conduct it. This package is the adapter around them. One goroutine, the
// loop, owns both, hands them events and executes their effects in order:
//
//	gRPC sessions ─┐                       ┌─► coordinator.db   (Persist: fsync first)
//	RPCs ──────────┼─► loop ─► machine ────┼─► sessions         (Send, Close)
//	job results ───┤    ▲                  └─► NATS, store      (Publish, Scan)
//	ticks ─────────┘    └── events ◄───────────── their outcomes
//
// The queue's effects begin and withdraw runs of the machine, and start processes of
// `ergoflow retrain`. What the machine says of its run becomes an event of the queue.
//
// Of several coordinators one leads. Then the ledger is one of package consensus: Persist returns
// when a majority has it. A coordinator that is elected begins as one that is started again, and
// one that is deposed ends its loop and follows (several.go).
//
// The loop never waits for a network: messages go into a queue per session, and a
// session whose queue is full is closed. It waits for the ledger alone.
//
// # Files
//
// Under Config.Dir:
//
//	coordinator.db     ledger: last generation, plan, stage; runs, schedules; addresses (bbolt)
//	raft.db, snapshots/ of the consensus, where there are several coordinators
//	flight/            dumps of the flight recorders of all processes
//	logs/run-N.log     output of the process of the retraining N
//	coordinator.json   pid and addresses while the coordinator runs
//	checkpoints.db     see checkpoint
//	nats/              of the job queue, which needs nothing in it after a restart
//	shards/            the shard store, unless Config.Store says otherwise
//	objects/           with a store in the embedded NATS server: its stream
//
// The coordinator.db has three buckets, whose values are JSON with a checksum.
// "coordinator" has the keys "ledger" (machine.Ledger), "addresses" (Addresses) and "next"
// (the number of the next run). "runs" has a queue.Run for each number, 8 bytes, big
// endian; "schedules" a queue.Schedule for each name. So an event writes what it changes,
// and not the whole queue.
package coordinator
