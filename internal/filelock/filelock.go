// Package filelock waits for locks of files that other processes hold.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// poll is how often Wait tries. flock itself would wait without an end that a context can set.
const poll = 2 * time.Millisecond

// Wait locks an open file, how being syscall.LOCK_EX or LOCK_SH. Closing the file releases the
// lock, as does the end of the process. It tries at least once, and fails with the cause of ctx.
func Wait(ctx context.Context, f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		select {
		case <-time.After(poll):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
