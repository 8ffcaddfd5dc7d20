package backend

import (
	"os"
	"runtime"
	"strconv"
)

// SetThreads limits the processor threads of this process: Go's and, where it
// is called before a backend is opened, those of XLA on the CPU, which sizes
// its pools by the environment variable PJRT_NPROC. Workers that share a machine
// share its cores so.
func SetThreads(n int) {
	runtime.GOMAXPROCS(n)
	os.Setenv("PJRT_NPROC", strconv.Itoa(n))
}

// Threads is the limit that XLA on the CPU has, zero for none.
func Threads() int {
	n, _ := strconv.Atoi(os.Getenv("PJRT_NPROC"))
	return n
}
