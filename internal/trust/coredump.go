package trust

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// NoCoreDumps keeps the memory of the process, which has keys, out of files that the system
// would write where it crashes.
func NoCoreDumps() error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("switch core dumps off: %w", err)
	}
	return nil
}
