package coordinator

import (
	"sync"
	"time"
)

// tallies count what has happened since the coordinator started, for its metrics. The zero value
// is ready. Its methods may be called concurrently.
type tallies struct {
	mu  sync.Mutex
	sum tally
}

type tally struct {
	jobsAgain  int     // attempts at jobs that failed: the queue hands them out again
	jobsDead   int     // jobs that failed for good
	written    int     // checkpoints
	notWritten int     // checkpoints that arrived, and were not stored
	writing    float64 // seconds, of both
}

func (t *tallies) add(f func(sum *tally)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f(&t.sum)
}

// wrote counts a checkpoint that was written, or not, in that time.
func (t *tallies) wrote(took time.Duration, err error) {
	t.add(func(sum *tally) {
		sum.writing += took.Seconds()
		if err == nil {
			sum.written++
		} else {
			sum.notWritten++
		}
	})
}

func (t *tallies) read() tally {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sum
}
