package serve

import (
	"context"
	"errors"
	"sync"

	"github.com/ergoflow/ergoflow/model/sampling/engine"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/sampling/sampler"
)

// maxBatch bounds the samples of all equations of one batch: requests that come while one is
// computed wait for it, not longer than that takes.
const maxBatch = 1 << 20

// queue joins the requests that wait for one engine: while a batch is computed the next one
// gathers, so a request never waits for others to come. Requests with the same solver share a
// pass over the model's table.
type queue struct {
	engine *engine.Engine
	ctx    context.Context // of batches; ends with the queue
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	wake    *sync.Cond
	waiting []*job
	closed  bool
}

// job is one request: draws with the same solver.
type job struct {
	ctx    context.Context
	draws  []sampler.Draw
	solver ode.Solver
	size   int // samples of all draws
	answer chan answer
}

type answer struct {
	samples  [][]float32
	failures []error
	err      error
}

var errClosed = errors.New("the model is no longer served")

func newQueue(e *engine.Engine) *queue {
	ctx, cancel := context.WithCancel(context.Background())
	q := &queue{engine: e, ctx: ctx, cancel: cancel, done: make(chan struct{})}
	q.wake = sync.NewCond(&q.mu)
	go q.work()
	return q
}

// draw waits for the samples of the draws, or for the end of the context.
func (q *queue) draw(ctx context.Context, draws []sampler.Draw, solver ode.Solver) ([][]float32, []error, error) {
	j := &job{ctx: ctx, draws: draws, solver: solver, answer: make(chan answer, 1)}
	for _, d := range draws {
		j.size += d.N
	}
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return nil, nil, errClosed
	}
	q.waiting = append(q.waiting, j)
	q.wake.Signal()
	q.mu.Unlock()
	select {
	case a := <-j.answer:
		return a.samples, a.failures, a.err
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

// close waits until all requests in the queue have their answers, and ends it.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.wake.Signal()
	q.mu.Unlock()
	<-q.done
	q.cancel()
}

func (q *queue) work() {
	defer close(q.done)
	for {
		batch := q.next()
		if batch == nil {
			return
		}
		q.compute(batch)
	}
}

// next waits for requests, and takes those with the solver of the first as far as they fit into
// a batch. It returns nil at the queue's end.
func (q *queue) next() (batch []*job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		var rest []*job
		size := 0
		for _, j := range q.waiting {
			switch {
			case j.ctx.Err() != nil: // the client has gone
			case len(batch) == 0 || j.solver == batch[0].solver && size+j.size <= maxBatch:
				batch, size = append(batch, j), size+j.size
			default:
				rest = append(rest, j)
			}
		}
		q.waiting = rest
		if len(batch) > 0 {
			return batch
		}
		if q.closed {
			return nil
		}
		q.wake.Wait()
	}
}

// compute answers the requests of a batch.
func (q *queue) compute(batch []*job) {
	ctx := q.ctx
	if len(batch) == 1 {
		ctx = batch[0].ctx // nobody else waits: it ends with the request
	}
	var draws []sampler.Draw
	for _, j := range batch {
		draws = append(draws, j.draws...)
	}
	samples, failures, err := q.engine.SampleEach(ctx, draws, batch[0].solver)
	if err != nil && len(batch) > 1 {
		// One of them may be the reason: each by itself.
		for _, j := range batch {
			q.compute([]*job{j})
		}
		return
	}
	first := 0
	for _, j := range batch {
		a := answer{err: err}
		if err == nil {
			last := first + len(j.draws)
			a.samples, a.failures, first = samples[first:last], failures[first:last], last
		}
		j.answer <- a
	}
}
