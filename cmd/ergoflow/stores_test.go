package main

import (
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/hosts"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/data/store/s3test"
)

// TestStoreNATS: three secured hosts that share no directory train by a bucket of the embedded
// NATS server, and the parameters have the same bits as with a common directory.
func TestStoreNATS(t *testing.T) {
	needE2E(t)
	hosts.Isolated(t, func(t *testing.T) {
		trainedWithoutDirectory(t, hosts.New(t), "nats://shards")
	})
}

// TestStoreNATSSeveral: three coordinators and two workers share no directory, and no server but
// those in the coordinators. The one that leads is killed while shards are made, and the next one
// while workers train. Then a worker comes back with an empty cache. The parameters have the bits of
// an undisturbed run.
func TestStoreNATSSeveral(t *testing.T) {
	needE2E(t)
	hosts.Isolated(t, func(t *testing.T) {
		e := slowData(t, 1_500_000) // more than a second each, so that coordinators copy some
		network := hosts.New(t)
		want := final(t, undisturbed(t, network.Host("alone"), e))
		c := startSeveralWith(t, network, 3, 2, "nats://shards?replicas=3", nil, nil)
		c.submit(e)
		c.until("some shards are made", func(st coordinator.Status) bool { return st.State == "generating" && st.Shards.Done >= 6 })
		first := c.leading()
		first.kill()
		second := c.leading()
		c.until("two workers train by the buckets of two", training(2, 20))
		if said := c.read(second); !strings.Contains(said, " of 17 shards exist") || strings.Contains(said, "\"0 of 17 shards exist") {
			t.Errorf("%s had copied nothing before it led\n%s", second.name, said)
		}
		first.start(t)
		c.agree()
		c.takenOver("killed", (*daemon).kill)
		c.workers[0].kill()
		c.workers[0].start(t) // with an empty cache: its mount has gone
		c.finish()
		lead := c.leading()
		c.end()
		equalBits(t, "with buckets of the coordinators", final(t, directoryOf(lead)), want)
		for _, d := range c.coordinators {
			if _, err := os.Stat(filepath.Join(directoryOf(d), "shards")); err == nil {
				t.Errorf("%s has a directory of shards", d.name)
			}
		}
		if said := c.read(first); !strings.Contains(said, "copied shards and imports of another coordinator") {
			t.Errorf("%s copied nothing\n%s", first.name, said)
		}
	})
}

// TestStoreS3 is TestStoreNATS with a server of S3 behind a network on which requests fail.
func TestStoreS3(t *testing.T) {
	needE2E(t)
	s3test.Need(t)
	hosts.Isolated(t, func(t *testing.T) {
		network := hosts.New(t)
		endpoint, failures, reads := poorS3(t)
		trainedWithoutDirectory(t, network, "s3://bucket/a%20prefix?endpoint="+url.QueryEscape(endpoint))
		if failures.Load() < 10 {
			t.Errorf("only %d requests failed", failures.Load())
		}
		// Without the others' caches each of four workers would read all but its own.
		t.Logf("%d reads of %d shards", reads.Load(), tiny(t, 1, true).Data.Shards)
		if most := tiny(t, 1, true).Data.Shards; int(reads.Load()) > most {
			t.Errorf("%d reads of data, more than the %d shards", reads.Load(), most)
		}
	})
}

// trainedWithoutDirectory trains on three hosts, of which one is killed, with a store. Workers do
// not see the coordinator's directory, nor one another's caches.
func trainedWithoutDirectory(t *testing.T, network *hosts.Network, store string) {
	t.Helper()
	e := tiny(t, 200, true)
	want := final(t, undisturbed(t, network.Host("alone"), e))

	on := limitedHosts(network, "20mbit", "a", "b", "c")
	common := t.TempDir()
	dir := filepath.Join(common, "coordinator")
	c := newHosts(t, on, dir, store)
	c.hidden = common
	c.coordinator.start(t)
	c.readToken()
	c.beginSecured()
	c.until("three workers are there", func(st coordinator.Status) bool { return len(st.Workers) == 3 })
	c.submit(e)
	st := c.until("three workers train", training(3, 20))
	c.workers[1].kill()
	c.until("two go on", func(now coordinator.Status) bool { return now.Generation > st.Generation && now.Step > st.Step })
	c.workers[1].start(t) // with an empty cache: its mount has gone
	c.until("the third is back", training(3, int(st.Step)+1))
	c.finish()
	c.end()
	equalBits(t, store, final(t, dir), want)
	for _, w := range c.workers {
		if said := c.read(w); !strings.Contains(said, "shards fetched") || strings.Contains(said, dir) {
			t.Errorf("%s did not copy its shards\n%s", w.name, said)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "shards")); err == nil {
		t.Error("the coordinator has a directory of shards")
	}
}

// poorS3 starts a server with a bucket. Hosts reach it by a proxy that refuses some requests,
// and cuts others. It counts these, and the reads of data that it passes on.
func poorS3(t *testing.T) (endpoint string, failures, reads *atomic.Int32) {
	t.Helper()
	server := s3test.New(t)
	listener, err := net.Listen("tcp", "10.77.0.254:9000")
	if err != nil {
		t.Fatal(err)
	}
	var requests atomic.Int32
	failures, reads = new(atomic.Int32), new(atomic.Int32)
	front := &http.Server{ErrorLog: s3test.Quiet, Handler: server.Proxy(func(w http.ResponseWriter, r *http.Request) (answered bool) {
		switch requests.Add(1) % 8 {
		case 3:
			failures.Add(1)
			http.Error(w, "slow down", http.StatusServiceUnavailable)
			return true
		case 7:
			failures.Add(1)
			panic(http.ErrAbortHandler)
		}
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, ".safetensors") {
			reads.Add(1)
		}
		return false
	})}
	go front.Serve(listener)
	t.Cleanup(func() { front.Close() })
	return "http://" + listener.Addr().String(), failures, reads
}
