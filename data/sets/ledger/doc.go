// Package ledger records which data a training state has learned from, and proves from the
// record that all data were used exactly once.
//
// An epoch uses every (function, block of its samples) once (data/sets/batch). The code that
// assembles a batch hashes the number of each function and the indices of its samples at the
// place where it reads them; see [Hasher]. These words, summed by shard, go round the ring
// with the gradient of the same data, and enter the state with the same update ([Record],
// [Ledger.Append]). So a state and its ledger cannot disagree: an interrupted step is in
// neither, and a step that was computed again is in both once.
//
//	gathered samples ──► word ──► record of the step ──► ring ──► ledger ──► checkpoint
//	                                     │                          │
//	                              with the gradient           with the update
//
// The ledger has one word for every step, the sum over all functions of the batch. For every
// stretch of steps by the same workers it has the worker that used each shard, and the sum of
// each shard's words. [Ledger.Verify] computes all of them again from the plan of the
// batches, and finds the functions and blocks behind a word that differs.
//
// # Limits
//
// Words are 64 bits of SHA-256 and are summed modulo 2^64: a mistake stays undetected with
// probability 2^-64. That does not protect against an attacker. The ledger covers the host's
// memory, not the computation on the device.
package ledger
