package assignment

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// problems are pairs of all kinds of clouds.
func problems(count, n, d int) Problems {
	p := Problems{N: n, D: d}
	for i := range count {
		x, y := clouds(cloudKinds[i%len(cloudKinds)], n, d, uint64(i))
		p.X, p.Y = append(p.X, x...), append(p.Y, y...)
	}
	return p
}

// No match depends on the number of threads or on the batch before.
func TestBatchEqualsSolver(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	var b BatchSolver
	for _, size := range [][3]int{{40, 20, 2}, {3, 70, 3}, {50, 9, 1}, {1, 64, 2}, {40, 20, 2}} {
		p := problems(size[0], size[1], size[2])
		for _, threads := range []int{1, 2, 7} {
			runtime.GOMAXPROCS(threads)
			match := make([]int32, size[0]*p.N)
			if err := b.Solve(context.Background(), p, match); err != nil {
				t.Fatal(err)
			}
			for i := range size[0] {
				part := p.N * p.D
				want, _ := solve(t, new(Solver), p.X[i*part:(i+1)*part], p.Y[i*part:(i+1)*part], p.D)
				if !slices.Equal(match[i*p.N:(i+1)*p.N], want) {
					t.Fatalf("%v, %d threads: problem %d differs from a lone solver", size, threads, i)
				}
			}
		}
	}
}

// The error names the first problem that fails, for any number of threads.
func TestBatchNamesTheFirstFailure(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	runtime.GOMAXPROCS(4)
	p := problems(60, 16, 2)
	p.X[(17*16+3)*2+1] = float32(math.NaN())
	p.Y[(18*16+2)*2] = float32(math.Inf(1))
	p.X[59*16*2] = float32(math.NaN())
	var b BatchSolver
	for range 20 {
		err := b.Solve(context.Background(), p, make([]int32, 60*16))
		var pair *PairError
		if !errors.As(err, &pair) || pair.X != 3 || pair.Y != 0 || !strings.Contains(err.Error(), "problem 17") {
			t.Fatalf("error %v, want problem 17, pair (3, 0)", err)
		}
	}
	if err := b.Solve(context.Background(), problems(60, 16, 2), make([]int32, 60*16)); err != nil {
		t.Errorf("after a failure: %v", err)
	}
}

func TestBatchEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p, match := problems(4, 8, 2), make([]int32, 4*8)
	for i := range match {
		match[i] = -5
	}
	var b BatchSolver
	if err := b.Solve(ctx, p, match); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if slices.ContainsFunc(match, func(j int32) bool { return j != -5 }) {
		t.Error("problems were solved after the end")
	}
}

func TestBatchRefuses(t *testing.T) {
	good := problems(2, 3, 2)
	for name, tt := range map[string]struct {
		p     Problems
		match int
	}{
		"no points":     {Problems{N: 0, D: 2}, 0},
		"too many":      {Problems{N: MaxPoints + 1, D: 1}, 0},
		"overflow":      {Problems{N: 1 << 40, D: 1 << 40}, 0},
		"a part":        {Problems{N: 3, D: 2, X: good.X[:11], Y: good.Y[:11]}, 3},
		"sizes differ":  {Problems{N: 3, D: 2, X: good.X, Y: good.Y[:6]}, 6},
		"room for less": {good, 5},
	} {
		var b BatchSolver
		if err := b.Solve(context.Background(), tt.p, make([]int32, tt.match)); !errors.Is(err, ErrShape) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	var b BatchSolver
	if err := b.Solve(context.Background(), Problems{N: 3, D: 2}, nil); err != nil {
		t.Errorf("no problems are no error: %v", err)
	}
}

func TestBatchDoesNotAllocate(t *testing.T) {
	p := problems(16, 16, 2)
	match := make([]int32, 16*16)
	var b BatchSolver
	solve := func() {
		if err := b.Solve(context.Background(), p, match); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 {
		solve()
	}
	if allocations := testing.AllocsPerRun(50, solve); !(allocations < 1) {
		t.Errorf("%v allocations per batch", allocations)
	}
}
