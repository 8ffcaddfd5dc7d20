// Package checkpoint stores the states of runs in one bbolt file.
//
// A checkpoint is a sequence of bytes, opaque here, cut into chunks of 128 KiB.
// Chunks are content-addressed: equal chunks are stored once and counted. A
// checkpoint is published by one transaction that brings its chunks, its list
// of chunks and its description; there is no moment at which half of it, or a
// "latest" without its bytes, can be seen. Old checkpoints are deleted by later
// transactions. Every chunk is verified whenever it is read, and the whole
// against its own hash.
//
// # Format
//
// Integers are big-endian; a number n names a checkpoint or chunk for ever.
//
//	meta         "format"       → "1"
//	checkpoints  n (8 bytes)    → Info as JSON
//	manifests    n (8 bytes)    → SHA-256 of each chunk in order, 32 bytes each
//	chunks       n (8 bytes)    → data, at most 128 KiB
//	index        SHA-256        → n of the chunk (8 bytes), references (8 bytes)
//
// Chunks are keyed by number and not by hash so that a new checkpoint appends
// to the tree: inserted at hashes, every chunk would rewrite its neighbours.
//
// # Limits
//
// bbolt's file does not shrink: space of deleted checkpoints is used for new
// ones. One process at a time may have the file open for writing, and then
// nobody else for reading: others ask the coordinator for a snapshot. A
// checkpoint is held in memory while it is saved or read.
package checkpoint

import (
	"errors"

	"github.com/ergoflow/ergoflow/coordinator/boltfile"
)

var (
	// ErrLocked: another process has the store open.
	ErrLocked = boltfile.ErrLocked
	// ErrNotFound: no checkpoint has this name.
	ErrNotFound = errors.New("no such checkpoint")
	// ErrAmbiguous: several checkpoints' names begin so.
	ErrAmbiguous = errors.New("several checkpoints match")
	// ErrCorrupt: the file is damaged; the error names what is.
	ErrCorrupt = boltfile.ErrCorrupt
	// ErrMismatch: the bytes are not what was announced.
	ErrMismatch = errors.New("checkpoint is not what was announced")
	// ErrSpace: the disk is full.
	ErrSpace = boltfile.ErrSpace
)
