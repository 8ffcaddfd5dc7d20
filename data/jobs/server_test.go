package jobs

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// Jobs survive a restart of the server, and a worker finds the new one.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	first, err := Serve(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	publish(t, connected(t, first, quick), makeJobs(10))
	worker := connected(t, first, quick)
	taken, restarted := make(chan struct{}, 100), make(chan struct{})
	work(t, worker, "w", func(context.Context, Job) error {
		taken <- struct{}{}
		<-restarted
		return nil
	})
	<-taken // the worker is in the middle of a job
	first.Close()

	second, err := Serve(dir, strings.TrimPrefix(first.URL(), "nats://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(second.Close)
	q := connected(t, second, quick)
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
func TestRestartInMemory(t *testing.T) {
	dir := t.TempDir()
	first, err := Serve(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	inMemory := quick
	inMemory.storage = jetstream.MemoryStorage
	publish(t, connected(t, first, inMemory), makeJobs(10))
	worker, err := Connect(first.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(worker.Close)
	taken, restarted := make(chan struct{}, 100), make(chan struct{})
	work(t, worker, "w", func(context.Context, Job) error {
		taken <- struct{}{}
		<-restarted
		return nil
	})
	<-taken
	first.Close()

	second, err := Serve(dir, strings.TrimPrefix(first.URL(), "nats://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(second.Close)
	q := connected(t, second, inMemory)
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
			s, err := Serve(c.dir, c.addr)
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
func TestWorkerBeforeItsServer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	worker, err := Connect("nats://" + address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(worker.Close)
	worker.options = quick
	work(t, worker, "w", func(context.Context, Job) error { return nil })
	server, err := Serve(t.TempDir(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	q := connected(t, server, quick)
	results := subscribe(t, q)
	publish(t, q, makeJobs(1))
	if r := next(t, results); r.Error != "" {
		t.Errorf("result %+v", r)
	}
}

func TestOpenWithoutServer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	if _, err := Open(t.Context(), "nats://"+address); err == nil || !strings.Contains(err.Error(), address) {
		t.Errorf("error %v does not name %s", err, address)
	}
}
