package hosts

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/ergoflow/ergoflow/internal/tap"
)

// A Cable carries the frames between a host and the switch through this process, which can
// lose, delay, reorder and repeat them: what tc's netem does where the kernel has it.
type Cable struct {
	ends [2]*os.File // TAP devices: on the switch, and on the host

	mu     sync.Mutex
	rng    *rand.Rand
	faults Faults
	closed bool
	frames sync.WaitGroup // that are delayed
	counts Counts
	record io.Writer // gets every frame; may be nil
}

// Faults are what a cable does to each frame, in both directions, independently.
type Faults struct {
	Loss   float64       // probability
	Repeat float64       // probability of a second copy
	Delay  time.Duration // of every frame
	Jitter time.Duration // more, uniform between 0 and this: frames overtake each other
}

// Counts are of the frames of a cable since it was made.
type Counts struct{ Carried, Lost, Repeated int }

const frameSize = 1 << 16

// Poor adds a host whose cable has faults when they are Set. The name is at most 13 bytes long.
func (n *Network) Poor(name string, seed uint64) (*Host, *Cable) {
	n.t.Helper()
	h := n.add(name)
	c := &Cable{rng: rand.New(rand.NewPCG(seed, uint64(n.hosts)))}
	var err error
	if c.ends[0], err = tap.Open(name+"-c", ""); err == nil {
		c.ends[1], err = tap.Open("eth0", name)
	}
	if err != nil {
		n.t.Fatal(err)
	}
	n.connect(h, name+"-c")
	var carrying sync.WaitGroup
	for from := range c.ends {
		carrying.Go(func() { c.carry(c.ends[from], c.ends[1-from]) })
	}
	n.t.Cleanup(func() {
		c.mu.Lock()
		c.closed = true
		c.mu.Unlock()
		c.frames.Wait()
		for _, end := range c.ends {
			end.Close()
		}
		carrying.Wait()
	})
	return h, c
}

// Record has every frame that comes from now on written to w, one after the other.
func (c *Cable) Record(w io.Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.record = w
}

// Set changes what the cable does from now on.
func (c *Cable) Set(f Faults) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = f
}

// Counts are those so far.
func (c *Cable) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts
}

// carry carries frames until the cable is closed.
func (c *Cable) carry(from, to *os.File) {
	buffer := make([]byte, frameSize)
	for {
		n, err := from.Read(buffer)
		if errors.Is(err, os.ErrClosed) {
			return
		}
		if err != nil {
			continue // the device is down
		}
		for _, delay := range c.fate(buffer[:n]) {
			if delay == 0 {
				_, _ = to.Write(buffer[:n]) // a device that is down loses it
				continue
			}
			frame := append([]byte(nil), buffer[:n]...)
			time.AfterFunc(delay, func() {
				defer c.frames.Done()
				_, _ = to.Write(frame)
			})
		}
	}
}

// fate records a frame, and has the delay of each copy of it. Those that are not zero are
// counted in frames.
func (c *Cable) fate(frame []byte) (delays []time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.record != nil {
		_, _ = c.record.Write(frame) // to memory
	}
	if c.closed || c.rng.Float64() < c.faults.Loss {
		c.counts.Lost++
		return nil
	}
	c.counts.Carried++
	copies := 1
	if c.rng.Float64() < c.faults.Repeat {
		c.counts.Repeated++
		copies = 2
	}
	for range copies {
		delay := c.faults.Delay
		if c.faults.Jitter > 0 {
			delay += time.Duration(c.rng.Int64N(int64(c.faults.Jitter)))
		}
		if delay > 0 {
			c.frames.Add(1)
		}
		delays = append(delays, delay)
	}
	return delays
}
