// Package jobs is the queue of generation jobs, on NATS JetStream. A job is
// "make shard k of this data set"; doing it twice is harmless.
//
// Two streams, kept in files, or in memory where the server ends with the
// coordinator:
//
//	ERGOFLOW_JOBS     work queue   ergoflow.jobs.<run>.<shard>
//	ERGOFLOW_RESULTS  last of each ergoflow.done.<run>.<shard>
//	                               ergoflow.failed.<run>.<shard>
//	                               ergoflow.dead.<run>.<shard>
//
// The messages are [Job] and [Result] as JSON. A job is in the queue at most
// once, since it is published on the condition that its subject is empty. It
// stays there until a worker acknowledges it, and may then be published again.
//
// Workers of a run share one durable consumer and pull one job at a time. A
// worker tells the server every second that it is alive; a job of which nothing
// is heard for five seconds goes to somebody else. A job that failed is tried
// again a little later, and after its fifth delivery becomes a dead letter: its
// last error is published on ergoflow.dead and it leaves the queue. So does at
// once a job that failed for good ([Permanent]), and a job that five workers took
// and none came back from; a worker that stops alive hands its job back, which then
// counts as new.
//
// Every result is published before its job is acknowledged. The queue is no
// record of what exists: the shard store is. A coordinator that starts
// subscribes to the results, looks into the store, and publishes what is
// missing.
package jobs
