// Package filelock takes locks of files that other processes may hold.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Try locks an open file, how being syscall.LOCK_EX or LOCK_SH, unless another holds a lock
// against that. Closing the file releases the lock, as does the end of the process.
func Try(f *os.File, how int) (taken bool, err error) {
	for {
		switch err = syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB); {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
	}
}

// poll is how often Wait tries. flock itself would wait without an end that a context can set.
const poll = 2 * time.Millisecond

// Wait locks a file as Try does, and tries until it can. It tries at least once, and fails with the cause of ctx.
func Wait(ctx context.Context, f *os.File, how int) error {
	for {
		if taken, err := Try(f, how); taken || err != nil {
			return err
		}
		select {
		case <-time.After(poll):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
