// Package worker is one rank of the training group, from its first gossip
// packet to its last step.
//
// A worker finds the coordinator through gossip and holds one session with it.
// What the coordinator's orders mean, and what is answered, is in protocol, a
// pure state machine; this package does what it says:
//
//	Generate   pull "make shard k" jobs from the queue           generate.go
//	Prepare    map and verify the shards, compile the graphs     replica.go
//	Describe   step and hash of the state that is held           replica.go
//	Join       take the state, connect the ring                  rank.go
//	Compute    gradient, all-reduce                              rank.go
//	Apply      update                                            rank.go
//	Save       upload a checkpoint                               checkpoint.go
//
// Three things live for different times. The worker lives as long as its
// process. Its replica (mapped shards, compiled graphs, training state) lives
// as long as the run, across sessions, so that a coordinator that restarts
// finds it where it was. A rank lives for one generation and ends with its
// context.
package worker
