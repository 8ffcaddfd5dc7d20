// Package disk says what a full disk lacks, and waits until it has room again.
package disk

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Full reports whether an error is that of a full disk, or of a user's quota.
func Full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// A FullError is a write that a full disk refused.
type FullError struct {
	Dir   string // in the file system that is full
	Bytes int64  // that must be free there
	Err   error
}

func (e *FullError) Error() string {
	return fmt.Sprintf("it needs %s in %s: %v", Size(e.Bytes), e.Dir, e.Err)
}

func (e *FullError) Unwrap() error { return e.Err }

// Waits is what a process that waits for room says that it does.
const Waits = "waits for room on the disk"

// Size is a number of bytes for people.
func Size(bytes int64) string { return fmt.Sprintf("%.3g MiB", float64(bytes)/(1<<20)) }

const (
	look     = time.Second     // between two looks at the file system
	pause    = 5 * time.Second // before another attempt where there seems to be room: a quota may be used up
	patience = 5 * time.Minute // after which another attempt is due in any case
)

// Await returns when a file system may have room for bytes in dir: another attempt is due.
// It fails when ctx ends.
func Await(ctx context.Context, dir string, bytes int64) error {
	wait := look
	if has(dir, bytes) {
		wait = pause
	}
	for begin := time.Now(); ; {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if has(dir, bytes) || time.Since(begin) > patience {
			return nil
		}
	}
}

// has reports whether a file system has that many bytes for this user. One that cannot be
// asked may have them.
func has(dir string, bytes int64) bool {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return true
	}
	return float64(bytes) <= float64(st.Bavail)*float64(st.Bsize) // systems have different types of these
}
