package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Under quick options a lost worker is noticed in half a second, under patient
// ones a busy machine is not taken for a lost worker.
var (
	quick   = options{ackWait: 500 * time.Millisecond, maxDeliver: 3, retryDelay: 10 * time.Millisecond, timeout: 10 * time.Second, parting: time.Second}
	patient = options{ackWait: time.Minute, maxDeliver: 3, retryDelay: 10 * time.Millisecond, timeout: 10 * time.Second, parting: time.Second}
)

const run = "0123abcd"

func makeJobs(n int) []Job {
	jobs := make([]Job, n)
	for k := range jobs {
		jobs[k] = Job{Run: run, Shard: k, Dataset: json.RawMessage(`{"family":"vn1d"}`)}
	}
	return jobs
}

func publish(t *testing.T, q *Queue, jobs []Job) {
	t.Helper()
	if err := q.Publish(t.Context(), jobs); err != nil {
		t.Fatal(err)
	}
}

func subscribe(t *testing.T, q *Queue) <-chan Result {
	t.Helper()
	results, err := q.Results(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// work runs a worker until the test ends or the returned function is called.
func work(t *testing.T, q *Queue, name string, handler func(context.Context, Job) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		if err := q.Work(ctx, run, name, handler); !errors.Is(err, context.Canceled) && !errors.Is(err, nats.ErrConnectionClosed) {
			t.Errorf("%s: Work returned %v", name, err)
		}
	})
	stop = func() { cancel(); group.Wait() }
	t.Cleanup(stop)
	return stop
}

func next(t *testing.T, results <-chan Result) Result {
	t.Helper()
	select {
	case r, ok := <-results:
		if !ok {
			t.Fatal("results ended")
		}
		return r
	case <-time.After(20 * time.Second):
		t.Fatal("no result in 20 seconds")
	}
	return Result{}
}

func pending(t *testing.T, q *Queue) uint64 {
	t.Helper()
	stream, err := q.js.Stream(t.Context(), jobsStream)
	if err != nil {
		t.Fatal(err)
	}
	return stream.CachedInfo().State.Msgs
}

func TestEveryJobIsDoneOnce(t *testing.T) { both(t, everyJobIsDoneOnce) }

func everyJobIsDoneOnce(t *testing.T, l *lab) {
	s := l.serve(t, t.TempDir())
	q := l.connected(t, s, patient)
	results := subscribe(t, q)
	jobs := makeJobs(100)
	publish(t, q, jobs)
	publish(t, q, jobs) // all of them are there

	var made [100]atomic.Int32
	var atWork atomic.Int32
	for i := range 3 {
		work(t, l.worker(t, s, patient), fmt.Sprint("worker ", i), func(_ context.Context, job Job) error {
			defer atWork.Add(-1)
			if n := atWork.Add(1); n > 3 {
				t.Errorf("%d jobs under way on 3 workers: a worker takes one at a time", n)
			}
			if string(job.Dataset) != `{"family":"vn1d"}` {
				t.Errorf("job %d has data set %s", job.Shard, job.Dataset)
			}
			made[job.Shard].Add(1)
			return nil
		})
	}
	seen := map[int]bool{}
	for range jobs {
		r := next(t, results)
		if r.Error != "" || r.Dead || seen[r.Shard] || r.Attempt != 1 || !strings.HasPrefix(r.Worker, "worker ") {
			t.Errorf("result %+v, seen before: %v", r, seen[r.Shard])
		}
		seen[r.Shard] = true
	}
	for k := range made {
		if n := made[k].Load(); n != 1 {
			t.Errorf("shard %d was made %d times", k, n)
		}
	}
}

// A worker whose connection breaks in the middle of a job loses it to another.
func TestJobOfALostWorkerIsRedelivered(t *testing.T) { both(t, jobOfALostWorkerIsRedelivered) }

func jobOfALostWorkerIsRedelivered(t *testing.T, l *lab) {
	s := l.serve(t, t.TempDir())
	q := l.connected(t, s, quick)
	results := subscribe(t, q)

	taken, released := make(chan int), make(chan struct{})
	lost := l.worker(t, s, quick)
	work(t, lost, "lost", func(ctx context.Context, job Job) error {
		taken <- job.Shard
		<-released // as a killed process: no answer, no tick
		return nil
	})
	publish(t, q, makeJobs(5))
	shard := <-taken
	lost.Close()

	begin := time.Now()
	work(t, l.worker(t, s, quick), "survivor", func(context.Context, Job) error { return nil })
	for range 5 {
		r := next(t, results)
		if r.Worker != "survivor" || r.Error != "" {
			t.Errorf("result %+v", r)
		}
		if r.Shard == shard && r.Attempt != 2 {
			t.Errorf("the lost job was done at attempt %d, want 2", r.Attempt)
		}
	}
	if waited := time.Since(begin); waited > 10*quick.ackWait {
		t.Errorf("redelivered after %v with an ack wait of %v", waited, quick.ackWait)
	}
	close(released)
}

// Ticks keep a job that takes longer than the ack wait with its worker.
func TestSlowJobIsKept(t *testing.T) { both(t, slowJobIsKept) }

func slowJobIsKept(t *testing.T, l *lab) {
	kept := quick
	kept.ackWait = 2 * time.Second // a machine with much to do must be able to say in time that it works
	s := l.serve(t, t.TempDir())
	q := l.connected(t, s, kept)
	results := subscribe(t, q)
	var started atomic.Int32
	slow := func(ctx context.Context, _ Job) error {
		started.Add(1)
		select {
		case <-time.After(3 * kept.ackWait):
		case <-ctx.Done():
		}
		return ctx.Err()
	}
	work(t, l.worker(t, s, kept), "a", slow)
	work(t, l.worker(t, s, kept), "b", slow)
	publish(t, q, makeJobs(1))
	if r := next(t, results); r.Error != "" || r.Attempt != 1 || !(r.Seconds >= (3 * kept.ackWait).Seconds()) {
		t.Errorf("result %+v", r)
	}
	if n := started.Load(); n != 1 {
		t.Errorf("started %d times", n)
	}
}

// A worker that is told to stop gives its job back without waiting.
func TestCancelledJobGoesBackAtOnce(t *testing.T) { both(t, cancelledJobGoesBackAtOnce) }

func cancelledJobGoesBackAtOnce(t *testing.T, l *lab) {
	s := l.serve(t, t.TempDir())
	q := l.connected(t, s, patient)
	results := subscribe(t, q)
	taken := make(chan struct{})
	stop := work(t, l.worker(t, s, patient), "leaving", func(ctx context.Context, _ Job) error {
		close(taken)
		<-ctx.Done()
		return ctx.Err()
	})
	publish(t, q, makeJobs(1))
	<-taken
	stop()
	work(t, l.worker(t, s, patient), "staying", func(context.Context, Job) error { return nil })
	if r := next(t, results); r.Worker != "staying" || r.Error != "" {
		t.Errorf("result %+v", r)
	}
}

// A worker that is to stop while the server does not answer stops soon: its host may be
// gone. The job is not lost: another worker gets it after the ack wait.
func TestStopWithoutServer(t *testing.T) { both(t, stopWithoutServer) }

func stopWithoutServer(t *testing.T, l *lab) {
	for name, outcome := range map[string]error{"interrupted": context.Canceled, "done": nil, "failed": errors.New("no space left on device")} {
		t.Run(name, func(t *testing.T) {
			s := l.serve(t, t.TempDir())
			q := l.connected(t, s, quick)
			results := subscribe(t, q)
			publish(t, q, makeJobs(1))
			wall, address := barrier(t, s.URL())
			leaving := l.workerAt(t, address, quick)
			ctx, cancel := context.WithCancel(t.Context())
			var begin time.Time
			err := leaving.Work(ctx, run, "leaving", func(context.Context, Job) error {
				wall.shut()
				<-wall.swallowed // a report that the job is in progress, too
				begin = time.Now()
				cancel()
				return outcome
			})
			if took := time.Since(begin); !errors.Is(err, context.Canceled) || took > quick.timeout/2 {
				t.Errorf("Work returned %v after %v", err, took)
			}
			work(t, l.worker(t, s, quick), "staying", func(context.Context, Job) error { return nil })
			if r := next(t, results); r.Worker != "staying" || r.Error != "" || r.Attempt != 2 {
				t.Errorf("result %+v", r)
			}
		})
	}
}

// A worker that cannot do a job now hands it back: another gets it as a first attempt.
func TestPostpone(t *testing.T) { both(t, postpone) }

func postpone(t *testing.T, l *lab) {
	s := l.serve(t, t.TempDir())
	q := l.connected(t, s, quick)
	results := subscribe(t, q)
	publish(t, q, makeJobs(1))
	full := errors.New("the disk is full")
	for range quick.maxDeliver + 1 {
		err := l.worker(t, s, quick).Work(t.Context(), run, "full", func(context.Context, Job) error { return Postpone(full) })
		if !errors.Is(err, full) {
			t.Fatalf("Work returned %v", err)
		}
	}
	work(t, l.worker(t, s, quick), "roomy", func(context.Context, Job) error { return nil })
	if r := next(t, results); r.Worker != "roomy" || r.Error != "" || r.Attempt != 1 {
		t.Errorf("result %+v", r)
	}
}

// A wall is between a client and its server. Once it is shut, connections through it stay
// and carry nothing, as when the server's host has been switched off.
type wall struct {
	closed    atomic.Bool
	once      sync.Once
	swallowed chan struct{} // closed once the wall has kept something back
}

func (w *wall) shut() { w.closed.Store(true) }

func barrier(t *testing.T, url string) (*wall, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wall{swallowed: make(chan struct{})}
	var group sync.WaitGroup
	t.Cleanup(func() { listener.Close(); group.Wait() })
	carry := func(to, from net.Conn) {
		buffer := make([]byte, 64<<10)
		for {
			n, err := from.Read(buffer)
			if err != nil {
				to.Close()
				return
			}
			if w.closed.Load() {
				w.once.Do(func() { close(w.swallowed) })
				continue
			}
			_, _ = to.Write(buffer[:n])
		}
	}
	group.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", strings.TrimPrefix(url, "nats://"))
			if err != nil {
				client.Close()
				continue
			}
			group.Go(func() { carry(server, client) })
			group.Go(func() { carry(client, server) })
		}
	})
	return w, "nats://" + listener.Addr().String()
}

// A worker that gives a job up again and again, since it keeps losing its
// coordinator, is no reason to bury the job.
func TestJobHandedBackOftenIsStillDone(t *testing.T) { both(t, jobHandedBackOftenIsStillDone) }

func jobHandedBackOftenIsStillDone(t *testing.T, l *lab) {
	s := l.serve(t, t.TempDir())
	q := l.connected(t, s, patient)
	results := subscribe(t, q)
	publish(t, q, makeJobs(1))
	worker := l.worker(t, s, patient)
	for range 3 * patient.maxDeliver {
		ctx, cancel := context.WithCancel(t.Context())
		err := worker.Work(ctx, run, "restless", func(context.Context, Job) error {
			cancel()
			return context.Canceled
		})
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if n := pending(t, q); n != 1 && n != 2 { // the old message goes once the new one is there
			t.Fatalf("%d jobs in the queue, want 1 or 2", n)
		}
	}
	work(t, worker, "patient", func(context.Context, Job) error { return nil })
	if r := next(t, results); r.Error != "" || r.Attempt != 1 {
		t.Errorf("result %+v", r)
	}
}

func TestFailingJobBecomesADeadLetter(t *testing.T) { both(t, failingJobBecomesADeadLetter) }

func failingJobBecomesADeadLetter(t *testing.T, l *lab) {
	s := l.serve(t, t.TempDir())
	q := l.connected(t, s, patient)
	results := subscribe(t, q)
	var broken atomic.Bool
	broken.Store(true)
	work(t, l.worker(t, s, patient), "w", func(context.Context, Job) error {
		if broken.Load() {
			return errors.New("no space left on device")
		}
		return nil
	})
	publish(t, q, makeJobs(1))
	for attempt := 1; attempt <= patient.maxDeliver; attempt++ {
		r := next(t, results)
		if r.Attempt != attempt || r.Error != "no space left on device" || r.Dead != (attempt == patient.maxDeliver) {
			t.Errorf("attempt %d: result %+v", attempt, r)
		}
	}
	dead, err := q.js.Stream(t.Context(), resultsStream)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dead.GetLastMsgForSubject(t.Context(), subject("dead", run, "0")); err != nil {
		t.Errorf("dead letter: %v", err)
	}

	// A new submission gets new attempts, with no deduplication window to wait
	// for. The letter is out a moment before the job is, hence the loop.
	broken.Store(false)
	again := subscribe(t, q)
	for {
		publish(t, q, makeJobs(1))
		select {
		case r := <-again:
			if r.Error != "" || r.Attempt != 1 {
				t.Errorf("after a new submission: result %+v", r)
			}
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// A job that nobody can do is tried once.
func TestPermanentFailure(t *testing.T) { both(t, permanentFailure) }

func permanentFailure(t *testing.T, l *lab) {
	s := l.serve(t, t.TempDir())
	q := l.connected(t, s, patient)
	results := subscribe(t, q)
	work(t, l.worker(t, s, patient), "w", func(context.Context, Job) error {
		return fmt.Errorf("shard: %w", Permanent(errors.New("simulation diverged")))
	})
	publish(t, q, makeJobs(1))
	if r := next(t, results); r.Attempt != 1 || !r.Dead || r.Error != "shard: simulation diverged" {
		t.Errorf("result %+v", r)
	}
}

// A job that kills every worker is buried by the next one without being tried.
func TestJobThatKillsWorkersIsBuried(t *testing.T) { both(t, jobThatKillsWorkersIsBuried) }

func jobThatKillsWorkersIsBuried(t *testing.T, l *lab) {
	s := l.serve(t, t.TempDir())
	q := l.connected(t, s, quick)
	results := subscribe(t, q)
	publish(t, q, makeJobs(1))
	for range quick.maxDeliver {
		victim := l.worker(t, s, quick)
		ctx, cancel := context.WithCancel(t.Context())
		err := victim.Work(ctx, run, "victim", func(context.Context, Job) error {
			victim.Close()
			cancel()
			return errors.New("killed")
		})
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	work(t, l.worker(t, s, quick), "last", func(context.Context, Job) error {
		t.Error("the job was tried once too often")
		return nil
	})
	r := next(t, results)
	if !r.Dead || !strings.Contains(r.Error, "none came back") {
		t.Errorf("result %+v", r)
	}
}

// A worker of one run is not given the jobs of another.
func TestRunsAreApart(t *testing.T) { both(t, runsAreApart) }

func runsAreApart(t *testing.T, l *lab) {
	s := l.serve(t, t.TempDir())
	q := l.connected(t, s, patient)
	results := subscribe(t, q)
	publish(t, q, []Job{{Run: "other", Shard: 0, Dataset: json.RawMessage("{}")}})
	publish(t, q, makeJobs(1))
	work(t, l.worker(t, s, patient), "w", func(_ context.Context, job Job) error {
		if job.Run != run {
			t.Errorf("got a job of run %s", job.Run)
		}
		return nil
	})
	next(t, results)
}

func TestBadInput(t *testing.T) { both(t, badInput) }

func badInput(t *testing.T, l *lab) {
	s := l.serve(t, t.TempDir())
	q := l.connected(t, s, patient)
	for _, run := range []string{"", "a.b", "*", ">", "a b", strings.Repeat("a", 129)} {
		if err := q.Publish(t.Context(), []Job{{Run: run}}); err == nil {
			t.Errorf("published a job of run %q", run)
		}
		if err := q.Work(t.Context(), run, "w", nil); err == nil {
			t.Errorf("worked for run %q", run)
		}
		if _, err := q.Results(t.Context(), run); err == nil {
			t.Errorf("results of run %q", run)
		}
	}
	if err := q.Publish(t.Context(), []Job{{Run: run, Shard: -1}}); err == nil {
		t.Error("published shard -1")
	}
	// A message that is no job is dropped, and the next job done.
	if _, err := q.js.Publish(t.Context(), subject("jobs", run, "7"), []byte("{")); err != nil {
		t.Fatal(err)
	}
	results := subscribe(t, q)
	work(t, l.worker(t, s, patient), "w", func(context.Context, Job) error { return nil })
	publish(t, q, makeJobs(1))
	if r := next(t, results); r.Shard != 0 || r.Error != "" {
		t.Errorf("result %+v", r)
	}
}
