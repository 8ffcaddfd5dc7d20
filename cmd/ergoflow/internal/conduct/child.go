package conduct

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A child that crashes is started again, but only so often: it may crash each time.
const (
	restarts    = 3
	restartWait = time.Second
)

// A child is a process that is started again when it crashes.
type child struct {
	again func() (*process, error)

	mu      sync.Mutex
	process *process
	lost    error // why the last process ended; nil while one runs or is to be started
}

// keep starts the process again when it crashes, until ctx ends. It says what happened.
// When it returns before ctx ends, the child is lost.
func (c *child) keep(ctx context.Context, say func(string)) {
	for n := 1; ; n++ {
		p := c.current()
		select {
		case <-p.done:
		case <-ctx.Done():
			return
		}
		if !p.crashed() || n > restarts {
			c.lose(p.failure())
			return
		}
		say(restarted(p, n))
		select {
		case <-time.After(restartWait):
		case <-ctx.Done():
			return
		}
		again, err := c.again()
		if err != nil {
			c.lose(err)
			return
		}
		c.mu.Lock()
		c.process = again
		c.mu.Unlock()
	}
}

// restarted is the line for restart n of a process that has crashed.
func restarted(p *process, n int) string {
	return fmt.Sprintf("%v; it is started again (%d of %d times)", p.failure(), n, restarts)
}

func (c *child) current() *process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.process
}

func (c *child) lose(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = why
}

// gone says why the child has ended for good, or nil.
func (c *child) gone() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost
}
