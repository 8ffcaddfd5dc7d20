package jobs

import (
	"context"
	"errors"
	"testing"
)

// The depth of a run's queue: what waits, what a worker has, what comes again after it failed.
func TestDepth(t *testing.T) {
	both(t, func(t *testing.T, l *lab) {
		s := l.serve(t, t.TempDir())
		q := l.connected(t, s, patient)
		results := subscribe(t, q)
		if _, err := q.Depth(t.Context(), "another"); err == nil {
			t.Error("a run without jobs has a depth")
		}
		publish(t, q, makeJobs(3))
		is := func(want Depth) func() bool {
			return func() bool {
				got, err := q.Depth(t.Context(), run)
				if err != nil {
					t.Fatal(err)
				}
				return got == want
			}
		}
		await(t, "three wait", is(Depth{Waiting: 3}))
		hold, fail := make(chan struct{}), true
		work(t, l.worker(t, s, patient), "w", func(context.Context, Job) error {
			if fail {
				fail = false
				return errors.New("the first attempt fails")
			}
			<-hold
			return nil
		})
		next(t, results) // of the failure
		await(t, "one is out, and two or the failed one wait", func() bool {
			d, err := q.Depth(t.Context(), run)
			return err == nil && int(d.Waiting)+d.Out == 3 && d.Out >= 1
		})
		close(hold)
		for range 3 {
			if r := next(t, results); r.Error != "" {
				t.Errorf("result %+v", r)
			}
		}
		await(t, "nothing is left", is(Depth{}))
	})
}
