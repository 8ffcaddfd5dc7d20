// Package worker is one rank of the training group, from its first gossip packet
// to its last step.
//
// A worker finds the coordinator through gossip and holds one session with it.
// Package protocol, a pure state machine, decides what the coordinator's orders
// mean and what the worker answers. This package executes what it decides:
//
//	Generate   pull "make shard k" jobs from the queue           generate.go
//	Prepare    open the replica, follow a member                 prepare.go
//	Describe   report step and hash of the training state        state.go
//	Join       take the state, connect the ring                  rank.go, state.go
//	Compute    gradient, all-reduce                              rank.go
//	Apply      update                                            rank.go
//	Save       take a checkpoint, upload it                      checkpoint.go, upload.go
//	Drop       close the replica                                 prepare.go
//	Dump       send what the flight recorder holds               flight.go
//	CheckLink  find out whether another worker is reached        session.go
//
// Three things live for different times. The worker lives as long as its process
// (worker.go, connect.go, watch.go). Its replica of a run (package replica) lives
// as long as the run, across sessions (session.go), so that a coordinator that
// restarts finds the training state where it was. A rank lives for one generation
// and ends with its context.
//
// Package peer answers other workers, and asks them.
package worker
