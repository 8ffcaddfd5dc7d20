package flight

import (
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/ergoflow/ergoflow/internal/memory"
)

// What counts as want of memory.
const (
	fullMemory  = 0.9 // of the limit
	emptied     = 0.8 // of the limit: below it the memory counts as free again
	memoryEvery = time.Second
)

// A gauge remembers how much memory was used.
type gauge struct {
	read   time.Time // the last time
	known  bool
	full   bool
	killed uint64
}

// next returns what is remarkable in the memory that is used now.
func (g *gauge) next(u memory.Usage) (found []Record) {
	used, limit := humanize.IBytes(u.Bytes), u.Limit.String()
	if g.known && u.Killed > g.killed {
		found = append(found, Record{Kind: Memory, Value: float64(u.Bytes), Limit: float64(u.Limit.Bytes),
			Text: fmt.Sprintf("%s for want of memory; %s are used of %s", KernelEnded, used, limit)})
	}
	switch share := float64(u.Bytes) / float64(max(u.Limit.Bytes, 1)); {
	case share >= fullMemory && !g.full:
		g.full = true
		found = append(found, Record{Kind: Memory, Value: float64(u.Bytes), Limit: float64(u.Limit.Bytes), Text: fmt.Sprintf("%s are used of %s", used, limit)})
	case share < emptied:
		g.full = false
	}
	g.known, g.killed = true, u.Killed
	return found
}

// look reads the memory if that is due.
func (g *gauge) look(now time.Time) []Record {
	if now.Sub(g.read) < memoryEvery {
		return nil
	}
	g.read = now
	u, err := memory.Used()
	if err != nil {
		return nil // it cannot be known here
	}
	return g.next(u)
}
