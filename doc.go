// Package ergoflow is the vocabulary of the system: the nouns that coordinator
// and workers must both name, and nothing that does work. It imports only the
// standard library.
//
// ergoflow trains one network that maps the coefficients (b, σ) of a stochastic
// differential equation dX = b(X)dt + σ(X)dW to a flow from Gaussian noise to
// its invariant measure, data-parallel on an elastic group of workers:
//
//	                 ┌───────────────────────────────┐
//	ergoflow run ───►│ coordinator                   │
//	   submit        │  machine: who, which          │   bbolt: generation,
//	                 │  generation, which shards     ├──► runs, checkpoints
//	                 └──┬─────────────────────────┬──┘
//	      NATS jobs     │     gRPC sessions       │      memberlist gossip:
//	  "make shard k"    │  assign, ready, progress│      how they found
//	                 ┌──▼─────────┐       ┌───────▼────┐ each other
//	                 │ worker     │ ring  │ worker     │
//	                 │  rank 0    │◄─────►│  rank 1    │
//	                 └──┬─────────┘ gRPC  └───────┬────┘
//	                    └────── shard files ──────┘
//
// A function is one SDE with samples of its invariant measure; function i of an
// experiment depends on (seed, i) alone. A shard is a fixed range of functions.
// A generation is one membership of the training group; within it each worker
// has a rank. A step is one optimizer update of the whole group.
package ergoflow
