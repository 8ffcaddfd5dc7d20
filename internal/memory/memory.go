// Package memory says how much memory this process may use.
package memory

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/dustin/go-humanize"
)

// Limit is the most memory that this process may use, together with the others that the
// limit is for.
type Limit struct {
	Bytes  uint64
	Source string // for people: what sets it
}

const machineSource = "the machine's memory"

// String is as in "512 MiB, the limit of the cgroup".
func (l Limit) String() string { return humanize.IBytes(l.Bytes) + ", " + l.Source }

// Find returns the least of the machine's memory and the limits of this process's cgroup and
// those above it, of either version. Swap is not counted.
func Find() (Limit, error) { return find(memlimit.FromSystem, memlimit.FromCgroup) }

func find(machine, cgroup memlimit.Provider) (Limit, error) {
	var l Limit
	var err error
	if l.Bytes, err = machine(); err != nil {
		return l, fmt.Errorf("find the machine's memory: %w", err)
	}
	l.Source = machineSource
	limit, err := cgroup()
	switch {
	case errors.Is(err, memlimit.ErrNoLimit), errors.Is(err, memlimit.ErrNoCgroup), errors.Is(err, memlimit.ErrCgroupsNotSupported):
	case err != nil:
		return l, fmt.Errorf("find the memory limit of the cgroup: %w", err)
	case limit < l.Bytes:
		l = Limit{limit, "the limit of the cgroup"}
	}
	return l, nil
}

// FitHeap has Go collect garbage before its heap reaches nine tenths of the cgroup's limit. It
// changes nothing where GOMEMLIMIT is set, or where there is no limit. XLA's memory is not part
// of Go's heap.
func FitHeap(log *slog.Logger) {
	if _, err := memlimit.Set(memlimit.WithMin(leastHeap)); err != nil {
		log.Debug("cannot fit Go's heap to the cgroup's memory", "error", err) // no cgroup is to be seen
	}
}

// leastHeap is a heap below which Go would do little but collect garbage.
const leastHeap = 64 << 20

// CollectEarly has Go collect garbage when there is half as much as is live, for a process whose
// collections are cheap because little is live. It changes nothing where GOGC is set.
func CollectEarly() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}

// ErrShort means that something needs more memory than the limit.
var ErrShort = errors.New("too little memory")

// Check returns ErrShort where what needs more bytes than the limit. A limit that cannot be
// found is none.
func Check(what string, bytes uint64) error {
	l, err := Find()
	if err != nil {
		l.Bytes = math.MaxUint64
	}
	return l.check(what, bytes)
}

func (l Limit) check(what string, bytes uint64) error {
	if bytes <= l.Bytes {
		return nil
	}
	return fmt.Errorf("%w: %s needs about %s, and may use %s", ErrShort, what, humanize.IBytes(bytes), l)
}
