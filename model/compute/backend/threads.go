package backend

import (
	"os"
	"runtime"
	"strconv"
)

// poolVariable is where XLA on the CPU reads the size of its pools of threads.
const poolVariable = "PJRT_NPROC"

// SetThreads limits the threads of this process, so that workers on one machine share
// its cores. It limits Go's and, if called before Open, those of XLA on the CPU.
func SetThreads(n int) {
	runtime.GOMAXPROCS(n)
	os.Setenv(poolVariable, strconv.Itoa(n))
}

// Threads is the limit of XLA on the CPU, zero for none.
func Threads() int {
	n, _ := strconv.Atoi(os.Getenv(poolVariable))
	return n
}

// fitThreads gives XLA on the CPU the limit that Go has taken from the cgroup's share of
// processor time. XLA itself sees the processors alone, and in a container would have more
// threads than may run.
func fitThreads() {
	if n := runtime.GOMAXPROCS(0); Threads() == 0 && n < runtime.NumCPU() {
		os.Setenv(poolVariable, strconv.Itoa(n))
	}
}
