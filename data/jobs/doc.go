// Package jobs is the queue of generation jobs, on NATS JetStream. A job is
// "make shard k of this data set"; doing it twice is harmless.
//
// There are two streams. They are in files, or in memory if the server ends with the
// coordinator:
//
//	ERGOFLOW_JOBS     work queue   ergoflow.jobs.<run>.<shard>
//	ERGOFLOW_RESULTS  last of each ergoflow.done.<run>.<shard>
//	                               ergoflow.failed.<run>.<shard>
//	                               ergoflow.dead.<run>.<shard>
//	                               ergoflow.returned.<run>.<shard>
//
// The messages are [Job] and [Result] as JSON, and {"run":…,"shard":…,"sequence":…} for a job
// that is given back. A job is in the queue at most
// once: publishing requires that its subject is empty. It stays there until a
// worker acknowledges it, and may then be published again.
//
// The workers of a run share one durable consumer, which the coordinator makes, and pull one
// job at a time. A
// worker tells the server every second that it is alive. After five seconds of
// silence the server gives the job to another worker. The server delivers a job that
// failed again a little later. After its fifth delivery a job becomes a dead letter:
// the worker publishes its last error on ergoflow.dead and removes it from the queue.
// A job with a [Permanent] error becomes a dead letter at once, and so does a job that
// five workers took without coming back. A worker that stops in order gives its job
// back: it names the job's message, which the coordinator publishes again as a new one. It
// gives a server that does not answer one second.
//
// A worker publishes a result before it acknowledges the job. The record of what
// exists is the shard store, not the queue. A coordinator that starts subscribes to
// the results, lists the store, and publishes the jobs for missing shards. It does so again where
// the queue has fewer jobs than shards are missing: a server can lose what it has acknowledged.
//
// In a cluster with certificates the embedded server serves coordinators and workers alone,
// over TLS. A worker can take jobs, acknowledge them, publish results and give jobs back, and
// nothing else: guard.go. docs/decisions/nats-access.md has the reasons, and what to set up
// where the server is not the embedded one.
package jobs
