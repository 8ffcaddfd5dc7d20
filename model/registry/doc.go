// Package registry keeps trained models: numbered versions with where they come from and
// how they were judged, aliases that name one version each, the history of the aliases, and
// the lock of retrainings.
//
// A registry is a directory:
//
//	registry.db                    everything but the weights (bbolt)
//	registry.lock                  empty: the lock of who writes registry.db (gate.go)
//	weights/SHA256.safetensors     sealed training states, as `checkpoints export` writes them
//
// Files of weights have their hash as their name: equal weights are stored once. A version
// is published in this order: its weights are durable, then one transaction adds the
// version. Prune goes the other way. So every version has its weights, whenever a process
// is killed; what may be left over is a file that no version names.
//
// A registry may be in a bucket, too (shared.go): then machines share it that have no directory
// in common, and registry.db in this user's cache is a copy.
//
// Processes share a registry. Each opens registry.db for the length of one operation, and
// waits for milliseconds where another has it open.
//
// # Format
//
// Numbers are 8 bytes, big-endian. Records are JSON objects with their checksum
// (boltfile.Seal).
//
//	meta                   "format" → "1"
//	models/NAME            "head"   → record: last number, highest fencing number
//	                       "lock"   → record: who holds the lock of retrainings
//	models/NAME/versions   number   → outline: what List gives of a version (outline.go)
//	models/NAME/details    number   → record: Version without what may change
//	models/NAME/configs    SHA-256  → configuration, JSON
//	models/NAME/keys       key      → number of the version with this key
//	models/NAME/aliases    alias    → record: version, entry of the history that set it
//	models/NAME/history    number   → record: Entry
//	models/NAME/promotions key      → number of the entry of the promotion with this key
//
// # Limits
//
// The file system must have locks that other processes see (flock), which NFS has from
// version 4. registry.db does not shrink: new records take the space of deleted ones.
package registry
