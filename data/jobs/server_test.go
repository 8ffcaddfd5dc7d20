package jobs

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ergoflow/ergoflow/internal/addresstest"
	"github.com/ergoflow/ergoflow/internal/trust"
)

// Jobs survive a restart of the server, and a worker finds the new one.
func TestRestart(t *testing.T) { both(t, restart) }

func restart(t *testing.T, l *lab) {
	dir := t.TempDir()
	first, err := Serve(dir, "", l.of(t, trust.Coordinator, "main"))
	if err != nil {
		t.Fatal(err)
	}
	before := l.connected(t, first, quick)
	subscribe(t, before)
	publish(t, before, makeJobs(10))
	worker := l.worker(t, first, quick)
	taken, restarted := make(chan struct{}, 100), make(chan struct{})
	work(t, worker, "w", func(context.Context, Job) error {
		taken <- struct{}{}
		<-restarted
		return nil
	})
	<-taken // the worker is in the middle of a job
	first.Close()

	second, err := Serve(dir, strings.TrimPrefix(first.URL(), "nats://"), l.of(t, trust.Coordinator, "main"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(second.Close)
	q := l.connected(t, second, quick)
	if n := pending(t, q); n != 10 {
		t.Errorf("%d jobs after the restart, want 10", n)
	}
	results := subscribe(t, q)
	close(restarted)
	for seen := map[int]bool{}; len(seen) < 10; {
		r := next(t, results)
		if r.Error != "" {
			t.Errorf("result %+v", r)
		}
		seen[r.Shard] = true
	}
}

// In memory nothing is left after a restart. Jobs that are published again are
// done, also by a worker that was in the middle of one.
func TestRestartInMemory(t *testing.T) { both(t, restartInMemory) }

func restartInMemory(t *testing.T, l *lab) {
	dir := t.TempDir()
	first, err := Serve(dir, "", l.of(t, trust.Coordinator, "main"))
	if err != nil {
		t.Fatal(err)
	}
	inMemory := quick
	inMemory.storage = jetstream.MemoryStorage
	before := l.connected(t, first, inMemory)
	subscribe(t, before)
	publish(t, before, makeJobs(10))
	worker := l.workerAt(t, first.URL(), defaults)
	taken, restarted := make(chan struct{}, 100), make(chan struct{})
	work(t, worker, "w", func(context.Context, Job) error {
		taken <- struct{}{}
		<-restarted
		return nil
	})
	<-taken
	first.Close()

	second, err := Serve(dir, strings.TrimPrefix(first.URL(), "nats://"), l.of(t, trust.Coordinator, "main"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(second.Close)
	q := l.connected(t, second, inMemory)
	if n := pending(t, q); n != 0 {
		t.Errorf("%d jobs after the restart", n)
	}
	results := subscribe(t, q)
	publish(t, q, makeJobs(10))
	close(restarted)
	for seen := map[int]bool{}; len(seen) < 10; {
		seen[next(t, results).Shard] = true
	}
}

func TestServeFails(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, dir, addr, want string }{
		{"port in use", t.TempDir(), taken.Addr().String(), "address already in use"},
		{"no directory", file, "", "JetStream"},
		{"no port", t.TempDir(), "127.0.0.1", "missing port"},
		{"bad port", t.TempDir(), "127.0.0.1:http", "port"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Serve(c.dir, c.addr, nil)
			if err == nil {
				s.Close()
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q does not say %q", err, c.want)
			}
		})
	}
}

// A worker that comes before its server works when that is there.
func TestWorkerBeforeItsServer(t *testing.T) { both(t, workerBeforeItsServer) }

func workerBeforeItsServer(t *testing.T, l *lab) {
	address := addresstest.Free(t)
	worker := l.workerAt(t, "nats://"+address, quick)
	work(t, worker, "w", func(context.Context, Job) error { return nil })
	server, err := Serve(t.TempDir(), address, l.of(t, trust.Coordinator, "main"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	q := l.connected(t, server, quick)
	results := subscribe(t, q)
	publish(t, q, makeJobs(1))
	if r := next(t, results); r.Error != "" {
		t.Errorf("result %+v", r)
	}
}

func TestOpenWithoutServer(t *testing.T) {
	address := addresstest.Free(t)
	if _, err := Open(t.Context(), "nats://"+address, Access{}, 0); err == nil || !strings.Contains(err.Error(), address) {
		t.Errorf("error %v does not name %s", err, address)
	}
}
