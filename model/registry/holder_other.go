//go:build !linux

package registry

import "time"

// machine identifies nothing here: locks of dead holders are taken over by their silence.
func machine() (id, boot, space string) { return "", "", "" }

func process(int) (started uint64, running bool) { return 0, true }

var start = time.Now()

// sinceBoot is this process's monotonic clock: other processes cannot be asked for theirs.
func sinceBoot() time.Duration { return time.Since(start) }
