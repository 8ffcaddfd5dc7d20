package assignment

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// Problems are P pairs of clouds of N points in D dimensions: coordinate k of
// point i of problem p is X[(p*N+i)*D+k], likewise in Y.
type Problems struct {
	N, D int
	X, Y []float32
}

// Count is P.
func (p Problems) Count() int { return len(p.X) / max(1, p.N*p.D) }

func (p Problems) validate(match []int32) error {
	if p.N < 1 || p.N > MaxPoints || p.D < 1 || p.D > MaxDimension {
		return fmt.Errorf("%d points in %d dimensions, at most %d in %d: %w", p.N, p.D, MaxPoints, MaxDimension, ErrShape)
	}
	count := p.Count()
	if len(p.X) != count*p.N*p.D || len(p.Y) != len(p.X) {
		return fmt.Errorf("%d and %d coordinates for clouds of %d points in %d dimensions: %w", len(p.X), len(p.Y), p.N, p.D, ErrShape)
	}
	if len(match) != count*p.N {
		return fmt.Errorf("match has %d elements for %d problems: %w", len(match), count, ErrShape)
	}
	return nil
}

// BatchSolver solves many problems at once, on GOMAXPROCS goroutines. Each has a
// Solver, which the BatchSolver keeps for the next call. The zero value is ready. A
// BatchSolver is for one caller at a time.
type BatchSolver struct {
	set     instructions // of new threads
	threads []*thread

	// The rest belongs to the Solve that is running.
	ctx      context.Context
	problems Problems
	match    []int32
	next     atomic.Int64
	running  sync.WaitGroup

	mu     sync.Mutex
	failed int // lowest number of a problem that failed
	err    error
}

// thread is what one of the goroutines uses. run is made once, so that starting the
// goroutine allocates nothing.
type thread struct {
	solver Solver
	run    func()
}

// Solve solves all problems: in problem p it pairs point i of X with point
// match[p*N+i] of Y. In steady state it does not allocate. All goroutines have ended
// when it returns.
//
// The error is the context's, or names the first problem that failed with an ErrShape
// or a PairError. Then match is unspecified.
func (b *BatchSolver) Solve(ctx context.Context, problems Problems, match []int32) error {
	if err := problems.validate(match); err != nil {
		return fmt.Errorf("assignment: %w", err)
	}
	n := min(runtime.GOMAXPROCS(0), problems.Count())
	for len(b.threads) < n {
		t := &thread{solver: Solver{set: b.set}}
		t.run = func() {
			defer b.running.Done()
			b.work(&t.solver)
		}
		b.threads = append(b.threads, t)
	}
	b.ctx, b.problems, b.match = ctx, problems, match
	b.failed, b.err = problems.Count(), nil
	b.next.Store(0)
	b.running.Add(n)
	for _, t := range b.threads[:n] {
		go t.run()
	}
	b.running.Wait()
	b.ctx, b.problems, b.match = nil, Problems{}, nil
	if err := ctx.Err(); err != nil {
		return err
	}
	if b.err != nil {
		return fmt.Errorf("assignment: problem %d: %w", b.failed, b.err)
	}
	return nil
}

// work solves problems in order until none is left or one fails. All goroutines then
// finish the problems that they have begun. These include all before the one that
// failed, so Solve reports the first failure.
func (b *BatchSolver) work(s *Solver) {
	n, size := b.problems.N, b.problems.N*b.problems.D
	for b.ctx.Err() == nil {
		p := int(b.next.Add(1)) - 1
		if p >= b.problems.Count() {
			return
		}
		if _, err := s.Solve(b.match[p*n:(p+1)*n], b.problems.X[p*size:(p+1)*size], b.problems.Y[p*size:(p+1)*size], b.problems.D); err != nil {
			b.fail(p, err)
			return
		}
	}
}

func (b *BatchSolver) fail(p int, err error) {
	b.next.Store(int64(b.problems.Count()))
	b.mu.Lock()
	defer b.mu.Unlock()
	if p < b.failed {
		b.failed, b.err = p, err
	}
}
