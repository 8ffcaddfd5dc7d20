// Package peer is what workers ask of each other, beside the gradients that
// package allreduce moves. One gRPC service answers five calls, and this package
// has both sides of each:
//
//	State    send the training state, for a worker of a generation that forms   state.go
//	Follow   send the training state and every later update, for a worker that
//	         joins and is not admitted yet                                      follow.go
//	Reach    connect to the caller's data port, for the same worker, and to
//	         find out whether a link works both ways                            reach.go
//	Shard    send a shard's data out of the worker's cache                      shard.go
//	Burst    send bytes, by which the caller measures the link                  burst.go
//
// The received bytes of states go to package replica, which refuses what does not fit; those of
// shards to package depot, which compares their hash.
// Lengths are checked before anything is allocated.
package peer
