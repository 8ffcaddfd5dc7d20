// Package ledger keeps the account of what a training state has learned from,
// and proves from it that everything was used exactly once.
//
// An epoch uses every (function, block of its samples) once (data/sets/batch). Who
// assembles a batch hashes what it takes, the number of the function and the
// indices of the samples, where it takes it; see [Hasher]. The words of a step,
// summed by shard, go round the ring with the gradient that was made of them and
// become part of the state by the same update ([Record], [Ledger.Append]). So a
// state and its account cannot disagree: a step that was interrupted is in
// neither, one that was computed again is in both once.
//
//	gathered samples ──► word ──► record of the step ──► ring ──► ledger ──► checkpoint
//	                                     │                          │
//	                              with the gradient           with the update
//
// The ledger has one word for every step, the sum over all functions of the
// batch, and for every stretch of steps that the same workers made, who used
// which shard and the sum of each shard's words. [Ledger.Verify] computes all of
// them again from the plan of the batches, and finds the functions and blocks
// behind a word that differs.
//
// # Limits
//
// Words are 64 bits of SHA-256 and are added up modulo 2^64: mistakes have a
// chance of 2^-64 not to be seen, which says nothing about enemies. The account
// ends at the host's memory: that the device multiplied what it was given is not
// in it.
package ledger
