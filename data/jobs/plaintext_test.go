package jobs

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/ergoflow/ergoflow/internal/trust"
)

// halfSecured is a server that also serves plain text, with its coordinator's queue.
func halfSecured(t *testing.T) (l *lab, s *Server, coordinator *Queue) {
	t.Helper()
	l = certified(t)
	s, err := ServeBoth(t.TempDir(), "", l.of(t, trust.Coordinator, "main"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return l, s, l.connected(t, s, patient)
}

// A worker with a certificate and one without make the shards of one queue.
func TestWorkersOfBothKinds(t *testing.T) {
	l, s, q := halfSecured(t)
	results := subscribe(t, q)
	publish(t, q, makeJobs(20))
	began := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
	for i, lab := range []*lab{l, {}} {
		var first sync.Once
		work(t, lab.worker(t, s, patient), []string{"with", "without"}[i], func(ctx context.Context, _ Job) error {
			first.Do(func() { close(began[i]) })
			select {
			case <-began[1-i]: // the other one has a job, too
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}
	by := map[string]int{}
	for range 20 {
		by[next(t, results).Worker]++
	}
	if by["with"] == 0 || by["without"] == 0 {
		t.Errorf("shards by worker: %v", by)
	}
}

// In plain text one may do what a worker may, and hears nothing of what the server answers to
// workers with certificates.
func TestPlaintextPermissions(t *testing.T) {
	l, s, q := halfSecured(t)
	subscribe(t, q)
	publish(t, q, makeJobs(1))
	conn := bare(t, s, nil)
	w1 := l.of(t, trust.Worker, "w1")
	for _, subject := range []string{"$JS.API.STREAM.DELETE.ERGOFLOW_JOBS", "$JS.API.STREAM.PURGE.ERGOFLOW_JOBS", inbox(w1.Identity()) + ".x", subject("jobs", run, "77")} {
		if err := conn.Publish(subject, nil); err != nil {
			t.Fatal(err)
		}
		if err := conn.FlushTimeout(20 * time.Second); err != nil {
			t.Fatal(err)
		}
		if err := conn.LastError(); !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), subject) {
			t.Errorf("it may publish on %s: %v", subject, err)
		}
	}
	heard, err := conn.SubscribeSync(inbox(w1.Identity()) + ".>")
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.FlushTimeout(20 * time.Second); err != nil {
		t.Fatal(err)
	}
	const info = "$JS.API.CONSUMER.INFO.ERGOFLOW_JOBS.run-" + run
	if _, err := bare(t, s, w1).Request(info, nil, 20*time.Second); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Request(info, nil, 20*time.Second); err != nil { // the server answers in order
		t.Errorf("in plain text: %v", err)
	}
	if n, _, err := heard.Pending(); n > 0 || err != nil {
		t.Errorf("in plain text one hears %d answers to another: %v", n, err)
	}
	if n := pending(t, q); n != 1 {
		t.Errorf("%d jobs, want 1", n)
	}
}
