//go:build linux && cgo

package backend

// XLA allocates the temporary memory of a graph at every execution. With glibc's
// defaults, malloc maps and unmaps these blocks every time and the kernel clears every
// page again: 36 % of a training step on two cores. In one arena that never shrinks,
// the pages are faulted in once.
//
// This is a constructor because a later call of mallopt, from Go's main, is not
// reliable: other threads may have their arenas by then. Variables that the user has
// set for malloc take precedence.

/*
#include <malloc.h>
#include <stdlib.h>
#include <limits.h>

#ifdef __GLIBC__
__attribute__((constructor)) static void ergoflow_tune_malloc(void) {
	if (!getenv("MALLOC_MMAP_MAX_")) mallopt(M_MMAP_MAX, 0);
	if (!getenv("MALLOC_TRIM_THRESHOLD_")) mallopt(M_TRIM_THRESHOLD, INT_MAX);
	if (!getenv("MALLOC_ARENA_MAX")) mallopt(M_ARENA_MAX, 1);
}
#endif
*/
import "C"
