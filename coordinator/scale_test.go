package coordinator

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/queue"
)

// TestManyRuns writes and opens a ledger of 10,000 runs and 1,000 schedules. With
// ERGOFLOW_SCALE=DIR it leaves the directory, on which a coordinator can be measured:
// docs/benchmarks/run_queue.py does.
func TestManyRuns(t *testing.T) {
	dir := os.Getenv("ERGOFLOW_SCALE")
	if dir == "" {
		dir = t.TempDir()
	}
	l, err := openLedger(dir)
	if err != nil {
		t.Fatal(err)
	}
	const runs, schedules = 10_000, 1_000
	begin := time.Now().UTC().Truncate(time.Second).Add(-runs * time.Minute)
	p := queue.Persist{Next: runs + 1}
	for i := range queue.ID(runs) {
		at := begin.Add(time.Duration(i) * time.Minute)
		p.Runs = append(p.Runs, queue.Run{ID: i + 1, Kind: queue.Retrain, State: queue.Ended, Name: "/etc/ergoflow/retrain.yaml", Config: "/etc/ergoflow/retrain.yaml",
			Place: int64(i + 1), Schedule: fmt.Sprintf("schedule-%d", i%schedules), Scheduled: at, Submitted: at, Started: at, Ended: at.Add(30 * time.Second),
			Attempt: 1, Outcome: queue.Done, Reason: "the champion stays"})
	}
	for i := range schedules {
		p.Schedules = append(p.Schedules, queue.Schedule{Name: fmt.Sprintf("schedule-%d", i), Spec: fmt.Sprintf("%d %d * * *", i%60, i%24), Zone: "Europe/Berlin",
			Config: "/etc/ergoflow/retrain.yaml", PauseAfter: 5, Added: begin})
		p.Schedules[i].Decided = time.Now().UTC()
	}
	if err := l.persistQueue(p); err != nil {
		t.Fatal(err)
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	closing := &closer{}
	opened, err := openState(dir, closing)
	if err != nil {
		t.Fatal(err)
	}
	defer closing.close()
	s, err := opened.ledger.read(ergoflow.WorkerBounds{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("opened in %v", time.Since(started).Round(time.Millisecond))
	if n, m := len(s.runs.Runs(runs)), len(s.runs.Schedules(0)); n != runs || m != schedules {
		t.Errorf("%d runs and %d schedules", n, m)
	}
	begun := time.Now()
	s.runs.Step(time.Now(), queue.Start{})
	t.Logf("started in %v", time.Since(begun).Round(time.Microsecond))
	begun = time.Now()
	const ticks = 100
	for range ticks {
		s.runs.Step(time.Now(), queue.Tick{})
	}
	t.Logf("a tick takes %v", (time.Since(begun) / ticks).Round(time.Microsecond))
}
