package engine

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/training/flow"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// Speed is what Benchmark measures.
type Speed struct {
	Engine    string `json:"engine"` // table, processor or network
	Solver    string `json:"solver"`
	Equations int    `json:"equations"`
	Samples   int    `json:"samples"` // of each equation
	Threads   int    `json:"threads"`
	Rounds    int    `json:"rounds"`

	SetupS             float64 `json:"setup_s"`              // until the first request can be answered
	SecondsPerEquation float64 `json:"seconds_per_equation"` // of all equations in one request; median of the rounds
	SecondsOne         float64 `json:"seconds_one"`          // of a request for one equation; median
	SecondsDirect      float64 `json:"seconds_direct"`       // of the network on a backend; 0 where nothing is compared
	Compared           int     `json:"compared"`             // equations that the backend computed, too
	MaxErrorVsDirect   float64 `json:"max_error_vs_direct"`  // largest difference of a sample, in deviations of its law
	RMSErrorVsDirect   float64 `json:"rms_error_vs_direct"`  // root mean square of all differences
}

// Benchmark times requests for the first held-out functions of the experiment. It computes as
// many as compare of them by the network on a backend, too, from the same noise.
func Benchmark(
	ctx context.Context, o Options, e experiment.Experiment, f family.Family, st *state.State,
	solver ode.Solver, equations, n, compare, rounds int,
) (Speed, error) {
	s := Speed{Solver: solver.String(), Equations: equations, Samples: n, Threads: runtime.GOMAXPROCS(0), Rounds: rounds}
	subjects := make([]flow.Subject, equations)
	first, _ := e.Data.ShardRange(e.Data.HeldOutShard())
	err := simulate.Each(ctx, equations, func(_ context.Context, i int) error {
		made, err := f.Function(e.Data.Seed, first+i)
		subjects[i] = flow.Subject{Index: first + i, Function: made}
		return err
	}, nil)
	if err != nil {
		return s, fmt.Errorf("make the held-out functions: %w", err)
	}
	begin := time.Now()
	engine, err := Open(o, e, f, st)
	if err != nil {
		return s, err
	}
	defer engine.Close()
	if err := engine.Prepare(ctx, solver); err != nil {
		return s, err
	}
	s.Engine, s.SetupS = engine.Of(solver), time.Since(begin).Seconds()
	samples, err := engine.Sample(ctx, subjects, n, solver, 0)
	if err != nil {
		return s, err
	}
	measure := func(subjects []flow.Subject) (float64, error) {
		var times []float64
		for range rounds {
			begin := time.Now()
			if _, err := engine.Sample(ctx, subjects, n, solver, 0); err != nil {
				return 0, err
			}
			times = append(times, time.Since(begin).Seconds())
		}
		slices.Sort(times)
		return (times[(rounds-1)/2] + times[rounds/2]) / 2, nil
	}
	all, err := measure(subjects)
	if err != nil {
		return s, err
	}
	s.SecondsPerEquation = all / float64(equations)
	if s.SecondsOne, err = measure(subjects[:1]); err != nil {
		return s, err
	}
	if compare > 0 && s.Engine != Network {
		return s, s.compare(ctx, o, e, f, st, solver, subjects[:min(compare, equations)], samples)
	}
	return s, nil
}

// compare computes functions by the network on a backend.
func (s *Speed) compare(
	ctx context.Context, o Options, e experiment.Experiment, f family.Family, st *state.State,
	solver ode.Solver, subjects []flow.Subject, samples [][]float32,
) error {
	o.Name = Network
	network, err := Open(o, e, f, st)
	if err != nil {
		return err
	}
	defer network.Close()
	if _, err := network.Sample(ctx, subjects[:1], s.Samples, solver, 0); err != nil { // compiles
		return err
	}
	begin := time.Now()
	direct, err := network.Sample(ctx, subjects, s.Samples, solver, 0)
	if err != nil {
		return err
	}
	s.Compared = len(subjects)
	s.SecondsDirect = time.Since(begin).Seconds() / float64(len(subjects))
	var squares float64
	dim := e.Velocity().Dim()
	for i, want := range direct {
		for k := range dim {
			deviation := deviationOf(want[k:], dim)
			for j := k; j < len(want); j += dim {
				d := math.Abs(float64(samples[i][j])-float64(want[j])) / deviation
				s.MaxErrorVsDirect = max(s.MaxErrorVsDirect, d)
				squares += d * d
			}
		}
	}
	s.RMSErrorVsDirect = math.Sqrt(squares / float64(len(direct)*len(direct[0])))
	return nil
}

// deviationOf is the standard deviation of every step-th number of x.
func deviationOf(x []float32, step int) float64 {
	var n, sum, squares float64
	for j := 0; j < len(x); j += step {
		n++
		sum += float64(x[j])
	}
	mean := sum / n
	for j := 0; j < len(x); j += step {
		squares += (float64(x[j]) - mean) * (float64(x[j]) - mean)
	}
	return math.Sqrt(squares / n)
}
