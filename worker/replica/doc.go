// Package replica is a worker's copy of a run: the shards, the compiled graphs
// and the training state on the device. It outlives generations and sessions,
// and it knows no other process. What a worker can do to it:
//
//	Open         map and verify the shards, compile the graphs, warm up       open.go, verify.go
//	Adopt        take settings that the run's hash leaves out                 settings.go
//	Load         replace the training state                                   state.go
//	State        copy the training state to the host                          state.go
//	Mark         generation and step of the training state                    state.go
//	Fingerprint  the mark with the hash of the parameters                     state.go
//	Batches      assemble the batches of the coming steps in the background   batches.go, microbatch.go
//	Compute      sum the gradient of one step over the ranks                  compute.go, reproducible.go
//	Local        take a step of this rank alone, where Compute sums several   round.go
//	Apply        update the training state by such a sum                      update.go
//	Subscribe    copy the training state and receive every later update       subscribe.go
//	Close        free the shards and the device                               replica.go
//
// # Invariants
//
// The training state is parameters, moments, losses, ledger and generation; with
// local steps it has the outer optimizer's velocity in place of moments. Only Load
// and Apply change it, and they change all of it at once. An update is
// applied only to the state that precedes it. A subscriber receives every update
// after its copy of the state, in order, or its channel is closed.
//
// # Concurrency
//
// One mutex guards the device and the training state. No caller sees it: every
// method may be called at any time from any goroutine, with three exceptions.
//   - One goroutine calls Local and Compute, and applies the sum before it calls one
//     again: the sum is the replica's own vector.
//   - One Batches runs at a time, since all share the conditioners, and none while Adopt does.
//   - Close comes after Load, Batches, Compute and Apply. Peers may still ask for the
//     state: they get ErrNoState.
//
// Compute releases the mutex while the ring sums. So a peer that asks for the
// state waits for the gradient at most, and never for the network.
package replica
