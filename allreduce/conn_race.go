//go:build race

package allreduce

import (
	"runtime"
	"unsafe"
)

// The race detector does not see raw system calls. What a process does before it sends
// happens before what the receiver does afterwards, as in package syscall.

var ordered byte

func sending() { runtime.RaceReleaseMerge(unsafe.Pointer(&ordered)) }

func received() { runtime.RaceAcquire(unsafe.Pointer(&ordered)) }
