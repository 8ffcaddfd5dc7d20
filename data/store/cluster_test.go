package store_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ergoflow/ergoflow/data/jobs"
	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/data/store/storetest"
	"github.com/ergoflow/ergoflow/internal/natstest"
)

const (
	clusterJobs  = 30      // of a round
	clusterBytes = 300_000 // of an object
)

// A cluster of three NATS servers keeps jobs and objects on all of them. While workers work, each
// server is killed in turn, those that lead something first; one leaves in order, and all of them
// are killed and started again. Every job is done, none becomes a dead letter, and every object is
// whole.
func TestNATSCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: three servers elect leaders again and again, which takes a minute")
	}
	t.Parallel()
	c := natstest.Start(t, 3, "")
	queue := opened(t, c, jobs.Access{}, 3)
	defer queue.Close()
	at := "nats://shards?replicas=3&server=" + url.QueryEscape(c.URL())
	own := storetest.Open(t, at, store.Options{Create: true})
	conn, err := jobs.Dial(c.URL(), jobs.Access{})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	for _, stream := range []string{"ERGOFLOW_JOBS", "ERGOFLOW_RESULTS", "ERGOFLOW_STORE_shards"} {
		info, err := js.Stream(t.Context(), stream)
		if err != nil || info.CachedInfo().Config.Replicas != 3 {
			t.Fatalf("%s: %+v, %v", stream, info, err)
		}
	}
	leads := func(stream string) (leader *natstest.Server) {
		if err := storetest.Await(t.Context(), func() error { // while they elect one there is none
			info, err := js.Stream(t.Context(), stream)
			if err != nil {
				return err
			}
			if leader = c.Named(info.CachedInfo().Cluster.Leader); leader == nil {
				return fmt.Errorf("%s has no leader", stream)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return leader
	}
	killed := make(map[*natstest.Server]bool)
	kill := func(s *natstest.Server) {
		killed[s] = true
		s.Kill()
		t.Logf("%s is killed", s.Name)
	}
	rounds := []struct {
		name    string
		disturb func()
	}{
		{"leader of the jobs", func() { kill(leads("ERGOFLOW_JOBS")) }},
		{"leader of the objects", func() { kill(leads("ERGOFLOW_STORE_shards")) }},
		{"leader of all", func() { kill(c.MetaLeader()) }},
		{"those that led nothing", func() {
			for _, s := range c {
				if !killed[s] { // two at once would leave no majority
					kill(s)
					s.Start()
					c.Await()
				}
			}
		}},
		{"lame duck", func() { leads("ERGOFLOW_JOBS").Leave() }},
		{"all", func() {
			for _, s := range c {
				s.Kill()
			}
			for _, s := range c {
				s.Start()
			}
		}},
	}
	for i, round := range rounds {
		if round.name == "those that led nothing" && len(killed) == len(c) {
			continue
		}
		t.Run(round.name, func(t *testing.T) { // one after the other, on one cluster
			underDisturbance(t, queue, own, at, fmt.Sprint("run", i), c.URL(), jobs.Access{}, round.disturb)
			for _, s := range c {
				s.Restart()
			}
			c.Await()
		})
	}
	if len(killed) != 3 {
		t.Errorf("%d servers were killed", len(killed))
	}
	for i, round := range rounds { // also after everything that came later
		if round.name != "those that led nothing" {
			verify(t, own, fmt.Sprint("run", i))
		}
	}
}

// opened opens the queue once the servers of a new cluster have all that they need.
func opened(t *testing.T, c natstest.Cluster, a jobs.Access, replicas int) (queue *jobs.Queue) {
	t.Helper()
	if err := storetest.Await(t.Context(), func() (err error) {
		queue, err = jobs.Open(t.Context(), c.URL(), a, replicas)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return queue
}

// offered publishes the jobs of a run once the servers have a leader for each stream: until then they
// do not answer.
func offered(t *testing.T, queue *jobs.Queue, run string, n int) (results <-chan jobs.Result) {
	t.Helper()
	list := make([]jobs.Job, n)
	for k := range list {
		list[k] = jobs.Job{Run: run, Shard: k, Dataset: json.RawMessage(`{}`)}
	}
	if err := storetest.Await(t.Context(), func() (err error) {
		results, err = queue.Results(t.Context(), run)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := storetest.Await(t.Context(), func() error { // a job that is there is not published twice
		return queue.Publish(t.Context(), list)
	}); err != nil {
		t.Fatal(err)
	}
	return results
}

// underDisturbance has three workers do the jobs of a run, by the servers of a URL, and disturbs them
// when they have done some. A job puts an object.
func underDisturbance(t *testing.T, queue *jobs.Queue, own store.Store, at, run, servers string, worker jobs.Access, disturb func()) {
	t.Helper()
	results := offered(t, queue, run, clusterJobs)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	made := make(chan int)
	working, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error)
	const workers = 3
	for w := range workers {
		s := storetest.Open(t, at, store.Options{Access: worker, Wait: true})
		q, err := jobs.Connect(servers, worker)
		if err != nil {
			t.Fatal(err)
		}
		defer q.Close()
		go func() {
			ended <- q.Work(working, run, fmt.Sprint("w", w), func(ctx context.Context, job jobs.Job) error {
				content := storetest.Content(clusterBytes, uint64(job.Shard))
				key := fmt.Sprint(run, "/", job.Shard)
				err := s.Put(ctx, key, bytes.NewReader(content), clusterBytes)
				if err != nil && !errors.Is(err, store.ErrExists) {
					return err
				}
				if got, err := storetest.Read(ctx, s, key, 0, clusterBytes); err != nil || !bytes.Equal(got, content) {
					return errors.Join(err, errors.New("what was put is not read at once"))
				}
				select {
				case made <- job.Shard:
				case <-ctx.Done():
				}
				return nil
			})
		}()
	}
	disturbed, begun := make(chan struct{}), false
	there := make(map[int]bool)
	for len(there) < clusterJobs {
		select {
		case k := <-made:
			there[k] = true
			if len(there) == clusterJobs/3 && !begun { // a job may be done twice
				begun = true
				go func() { defer close(disturbed); disturb() }()
			}
		case r := <-results:
			if r.Dead {
				t.Errorf("a dead letter: %+v", r)
			} else if r.Error != "" {
				t.Logf("again: %+v", r)
			}
		case <-ctx.Done():
			t.Fatalf("%d of %d jobs are done", len(there), clusterJobs)
		}
	}
	go func() { // jobs whose acknowledgement was lost are done again
		for range made {
		}
	}()
	<-disturbed
	if err := storetest.Await(ctx, func() error {
		depth, err := queue.Depth(ctx, run)
		if err == nil && depth != (jobs.Depth{}) {
			err = fmt.Errorf("the queue has %+v", depth)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	stop()
	for range workers {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	close(made)
	verify(t, own, run)
}

// verify reads every object of a run.
func verify(t *testing.T, s store.Store, run string) {
	t.Helper()
	for k := range clusterJobs {
		got, err := storetest.Read(t.Context(), s, fmt.Sprint(run, "/", k), 0, clusterBytes)
		if want := storetest.Content(clusterBytes, uint64(k)); err != nil || sha256.Sum256(got) != sha256.Sum256(want) {
			t.Errorf("%s/%d: %v", run, k, err)
		}
	}
}
