package store_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ergoflow/ergoflow/data/jobs"
	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/data/store/storetest"
	"github.com/ergoflow/ergoflow/internal/natstest"
)

// TestMain has the passwords of the documented accounts for the servers that tests start.
func TestMain(m *testing.M) {
	for name, password := range map[string]string{"COORDINATOR_PASSWORD": "hush-1", "WORKER_PASSWORD": "hush-2"} {
		if err := os.Setenv(name, password); err != nil {
			panic(err)
		}
	}
	_ = flag.Set("test.parallel", "8") // the parallel ones wait for most of their time
	os.Exit(m.Run())
}

// accounts reads the accounts that the documentation gives, and makes the directories with the
// users' passwords.
func accounts(t *testing.T) (text, coordinator, worker string) {
	t.Helper()
	b, err := os.ReadFile("../../deploy/nats/accounts.conf")
	if err != nil {
		t.Fatal(err)
	}
	user := func(name, password string) (dir string) {
		dir = t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "user.password"), []byte(name+":"+password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	return string(b), user("coordinator", "hush-1"), user("worker", "hush-2")
}

// With the documented accounts, on one server and on three, the coordinator and workers do all
// that they do, and no server complains. A worker may do no more.
func TestNATSAccounts(t *testing.T) {
	t.Parallel()
	text, coordinator, worker := accounts(t)
	for _, servers := range []int{1, 3} {
		t.Run(fmt.Sprint(servers), func(t *testing.T) {
			t.Parallel()
			if servers > 1 && testing.Short() {
				t.Skip("-short: three servers look for a leader for ten seconds")
			}
			c := natstest.Start(t, servers, text)
			useAccounts(t, c, servers, jobs.Access{Files: coordinator}, jobs.Access{Files: worker}, "")
			if said := c.Logs(); strings.Contains(said, "Violation") {
				t.Errorf("what the documented users need is forbidden:\n%s", said)
			}
			mayNotMore(t, c, jobs.Access{Files: worker})
		})
	}
}

// useAccounts has a coordinator and a worker do what they do at a server.
func useAccounts(t *testing.T, c natstest.Cluster, replicas int, coordinator, worker jobs.Access, domain string) {
	t.Helper()
	coordinator.Domain, worker.Domain = domain, domain
	queue := opened(t, c, coordinator, replicas)
	defer queue.Close()
	again := opened(t, c, coordinator, replicas) // the streams are there
	again.Close()
	at := fmt.Sprintf("nats://shards?replicas=%d&domain=%s&server=%s", replicas, domain, url.QueryEscape(c.URL()))
	own := storetest.Open(t, at, store.Options{Access: coordinator, Create: true})
	if err := store.Probe(t.Context(), own, "one"); err != nil {
		t.Fatal(err)
	}
	results := offered(t, queue, "r", 4)
	if err := storetest.Await(t.Context(), func() error { // a consumer counts a moment later
		depth, err := queue.Depth(t.Context(), "r")
		if err == nil && depth.Waiting != 4 {
			err = fmt.Errorf("%+v", depth)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	s := storetest.Open(t, at, store.Options{Access: worker, Wait: true})
	w, err := jobs.Connect(c.URL(), worker)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	want := storetest.Content(700_000, 1)
	attempts := make(map[int]int)
	handler := func(ctx context.Context, job jobs.Job) error {
		attempts[job.Shard]++
		if job.Shard == 1 && attempts[1] == 1 {
			return errors.New("it fails once")
		}
		if job.Shard == 2 && attempts[2] == 1 {
			return jobs.Postpone(errors.New("it is given back once"))
		}
		if job.Shard == 3 {
			return jobs.Permanent(errors.New("it cannot be done"))
		}
		key := fmt.Sprint("a/", job.Shard)
		if err := s.Put(ctx, key, bytes.NewReader(want), 700_000); err != nil {
			return err
		}
		if got, err := storetest.Read(ctx, s, key, 1, 699_999); err != nil || !bytes.Equal(got, want[1:]) {
			return fmt.Errorf("read back: %w", err)
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		for {
			if err := w.Work(ctx, "r", "w", handler); ctx.Err() != nil || !strings.Contains(err.Error(), "given back") {
				ended <- err
				return
			}
		}
	}()
	got := map[string]int{}
	for got["done"] < 3 || got["dead"] < 1 {
		select {
		case r := <-results:
			switch {
			case r.Dead && r.Shard == 3:
				got["dead"]++
			case r.Error == "":
				got["done"]++
			default:
				got["failed"]++
				if r.Shard != 1 {
					t.Errorf("%+v", r)
				}
			}
		case <-ctx.Done():
			t.Fatalf("only %v", got)
		}
	}
	if got["failed"] != 1 {
		t.Errorf("results %v", got)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := s.Stat(t.Context(), "a/none"); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	if all, err := own.List(t.Context(), "a/"); err != nil || len(all) != 3 {
		t.Errorf("%v, %v", all, err)
	}
	if err := own.Delete(t.Context(), "a/0"); err != nil {
		t.Error(err)
	}
	if _, err := own.Sweep(t.Context(), "", time.Now()); err != nil {
		t.Error(err)
	}
}

// mayNotMore tries what a worker may not do.
func mayNotMore(t *testing.T, c natstest.Cluster, worker jobs.Access) {
	t.Helper()
	s := storetest.Open(t, "nats://shards?server="+url.QueryEscape(c.URL()), store.Options{Access: worker})
	if all, err := s.List(t.Context(), ""); !errors.Is(err, store.ErrDenied) {
		t.Errorf("it lists %v, %v", all, err)
	}
	conn, err := jobs.Dial(c.URL(), worker)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := js.CreateConsumer(ctx, "ERGOFLOW_JOBS", jetstream.ConsumerConfig{}); err == nil {
		t.Error("it makes a consumer")
	}
	for _, request := range []string{"$JS.API.CONSUMER.INFO.ERGOFLOW_JOBS.none", "$JS.API.DIRECT.GET.ERGOFLOW_STORE_shards", "$JS.API.STREAM.MSG.GET.ERGOFLOW_STORE_shards"} {
		for _, reply := range []string{"$JS.API.STREAM.DELETE.ERGOFLOW_JOBS", "$JS.API.STREAM.DELETE.ERGOFLOW_STORE_shards"} {
			if err := conn.PublishRequest(request, reply, []byte("{}")); err != nil {
				t.Error(err)
			}
		}
	}
	if err := conn.Flush(); err != nil {
		t.Error(err)
	}
	if _, err := s.Stat(t.Context(), "a/1"); err != nil {
		t.Errorf("after forged replies: %v", err)
	}
}
