// Package retraining trains a model of a registry again when there is something new to learn,
// and promotes the result only if it is better.
//
// One retraining goes through these stages, and notes each in its journal before it begins the
// next:
//
//	lock ─► collect imports ─► compare inputs ─► train ─► evaluate ─► gate ─► add ─► promote ─► tell
//	                                 │
//	                                 └─► nothing to do
//
// A process that is killed leaves the journal. The next one with the same directory goes on
// where it was: training continues from its checkpoints, and a version is added and promoted
// once, since the registry knows retrainings by their identity.
//
// # Directory
//
//	journal.json         the retraining in progress, or the last one
//	runs/ID/             its cluster's directory: coordinator.db, checkpoints.db, logs
//	shards/              the shard store that all retrainings share
//	reports/ID/          report.html, report.json, figures
package retraining
