// Package worker is one rank of the training group, from its first gossip
// packet to its last step.
//
// A worker finds the coordinator through gossip and holds one session with it;
// the coordinator says what to do, the worker does it:
//
//	Generate   pull "make shard k" jobs from the queue           generate.go
//	Prepare    map the shards, compile the graphs                replica.go
//	Form       stop stepping, report (step, parameter hash)      session.go
//	Assign     take rank, shards and state; connect the ring     rank.go
//	Go         step: gradient, all-reduce, update, report        rank.go
//	Abort      the generation has ended: stop at once            session.go
//
// Three things live for different times. The worker lives as long as its
// process. Its replica (mapped shards, compiled graphs, training state) lives
// as long as the run, across sessions, so that a coordinator that restarts
// finds it where it was. A rank lives for one generation and ends with its
// context.
package worker
