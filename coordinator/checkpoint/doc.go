// Package checkpoint stores the states of runs in one bbolt file.
//
// A checkpoint is a sequence of bytes, opaque here, cut into chunks of 128 KiB. Chunks
// are content-addressed: equal chunks are stored once, with a count of references. One
// transaction publishes a checkpoint with its chunks, its list of chunks and its
// description: readers never see half of it, or a "latest" without its bytes. Later
// transactions delete old checkpoints. Every read verifies each chunk, and the whole
// checkpoint against its own hash.
//
// # Format
//
// Integers are big-endian. A number n names a checkpoint or chunk and is not reused.
//
//	meta         "format"       → "1"
//	checkpoints  n (8 bytes)    → Info as JSON, with its checksum (boltfile.Seal)
//	manifests    n (8 bytes)    → SHA-256 of each chunk in order, 32 bytes each
//	chunks       n (8 bytes)    → data, at most 128 KiB
//	index        SHA-256        → n of the chunk (8 bytes), references (8 bytes)
//
// Chunks are keyed by number, so that a new checkpoint appends to the tree. Keyed by
// hash, every chunk would rewrite its neighbours.
//
// # Limits
//
// bbolt's file does not shrink: new checkpoints use the space of deleted ones. Only one
// process may have the file open for writing, and then no other for reading: others ask
// the coordinator for a snapshot. A checkpoint is in memory while it is saved or read.
package checkpoint

import (
	"errors"

	"github.com/ergoflow/ergoflow/internal/boltfile"
)

var (
	// ErrLocked: another process has the store open.
	ErrLocked = boltfile.ErrLocked
	// ErrNotFound: no checkpoint has this name.
	ErrNotFound = errors.New("no such checkpoint")
	// ErrAmbiguous: the names of several checkpoints have this prefix.
	ErrAmbiguous = errors.New("several checkpoints match")
	// ErrCorrupt: the file is damaged; the error names the damaged part.
	ErrCorrupt = boltfile.ErrCorrupt
	// ErrMismatch: the bytes differ from the description.
	ErrMismatch = errors.New("the checkpoint differs from its description")
	// ErrSpace: the disk is full.
	ErrSpace = boltfile.ErrSpace
)
