package backend

import (
	"os"
	"runtime"
	"strconv"
)

// SetThreads limits the threads of this process, so that workers on one machine share
// its cores. It limits Go's and, if called before Open, those of XLA on the CPU, which
// reads the size of its pools from the environment variable PJRT_NPROC.
func SetThreads(n int) {
	runtime.GOMAXPROCS(n)
	os.Setenv("PJRT_NPROC", strconv.Itoa(n))
}

// Threads is the limit of XLA on the CPU, zero for none.
func Threads() int {
	n, _ := strconv.Atoi(os.Getenv("PJRT_NPROC"))
	return n
}
