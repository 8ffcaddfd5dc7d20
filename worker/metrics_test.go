package worker

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/internal/addresstest"
	"github.com/ergoflow/ergoflow/internal/webserver/webservertest"
	"github.com/ergoflow/ergoflow/model/compute/backend"
)

// Every metric has a series in a full snapshot, and is documented.
func TestMetrics(t *testing.T) {
	m := newMeter()
	m.place = place{generation: 4, rank: 1, members: []ergoflow.WorkerID{"a", "b"}}
	m.past["a"] = traffic{800, 400}
	m.stepped(message.Timing{Data: 0.25, Gradient: 0.5, Copy: 1, Ring: 2, Update: 4, Other: 8})
	m.stepped(message.Timing{Data: 0.25})
	m.count(func(c *counts) {
		c.broken, c.refusals, c.upload = 3, 5, 1.5
		c.jobs[jobMade], c.uploads[uploadSaved], c.fetched[message.SourcePeer] = 7, 2, 1
	})
	c := newCollector(func() snapshot {
		return snapshot{reading: m.read(), id: "b", device: "cpu", engine: "avx2", run: "abc", step: 7, shards: 4, session: true}
	})
	if n := testutil.CollectAndCount(c); n < len(described) {
		t.Errorf("%d series of %d metrics", n, len(described))
	}
	webservertest.Page(t, c, "..", "worker", ergoflow.Build(), "VERSION")
}

// What the links of earlier generations carried counts on for workers that are still there, and
// is forgotten for those that are gone.
func TestMeterForgets(t *testing.T) {
	m := newMeter()
	network := allreduce.NewInProcess()
	a, b, c := network.Listen("a"), network.Listen("b"), network.Listen("c")
	generation := func(number ergoflow.Generation, other *allreduce.Server, name string) {
		t.Helper()
		joined := make(chan *allreduce.Ring)
		go func() {
			r, err := other.Join(t.Context(), allreduce.Identity{Generation: number, Rank: 1, World: 2}, []string{"a", name}, allreduce.Options{})
			if err != nil {
				t.Error(err)
			}
			joined <- r
		}()
		ring, err := a.Join(t.Context(), allreduce.Identity{Generation: number, Rank: 0, World: 2}, []string{"a", name}, allreduce.Options{})
		if err != nil {
			t.Fatal(err)
		}
		theirs := <-joined
		m.joined(ring, []ergoflow.WorkerID{"a", ergoflow.WorkerID(name)})
		done := make(chan error)
		go func() { done <- theirs.AllReduce(1, make([]float32, 100)) }()
		if err := ring.AllReduce(1, make([]float32, 100)); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	expect := func(when string, rank int, want map[ergoflow.WorkerID]uint64) {
		t.Helper()
		r := m.read()
		if r.rank != rank || len(r.links) != len(want) {
			t.Errorf("%s: rank %d, links %v, want rank %d, %v", when, r.rank, r.links, rank, want)
		}
		for id, bytes := range want {
			if r.links[id] != (traffic{bytes, bytes}) {
				t.Errorf("%s: links %v, want %v", when, r.links, want)
			}
		}
	}
	generation(1, b, "b")
	expect("in the first generation", 0, map[ergoflow.WorkerID]uint64{"b": 400})
	m.left()
	m.left() // as a generation does that broke before its ring was there
	expect("after it", -1, map[ergoflow.WorkerID]uint64{"b": 400})
	generation(2, b, "b")
	expect("in the second", 0, map[ergoflow.WorkerID]uint64{"b": 800})
	m.left()
	generation(3, c, "c")
	expect("in the third", 0, map[ergoflow.WorkerID]uint64{"c": 400})
}

// watched starts a worker with metrics, and returns how to read them and to end it.
func (h *harness) watched() (page func(path string) string, kill func()) {
	h.t.Helper()
	address := addresstest.Free(h.t)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, Config{Join: []string{h.addresses.Gossip}, Gossip: "127.0.0.1:0", Listen: "127.0.0.1:0", HTTP: address,
			Backend: backend.Go, Log: slog.New(slog.DiscardHandler)})
	}()
	over := false
	kill = func() {
		if over {
			return
		}
		over = true
		cancel()
		if err := <-ended; err != nil {
			h.t.Errorf("worker: %v", err)
		}
	}
	h.t.Cleanup(kill)
	return func(path string) string {
		h.t.Helper()
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		response, err := client.Get("http://" + address + path)
		if err != nil {
			h.t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK {
			h.t.Fatalf("%s: %s, %v", path, response.Status, err)
		}
		return string(body)
	}, kill
}

// A worker tells of its steps and its links while it trains, and no more of a worker that is gone.
func TestMetricsOfAWorker(t *testing.T) {
	h := startHarness(t)
	page, kill := h.watched()
	_, gone := h.worker()
	h.submit("training.epochs=2000")
	st := h.until("two workers train", func(st coordinator.Status) bool { return st.State == "training" && st.WorldSize == 2 && st.Step > 3 })
	text := page("/metrics")
	other := st.Workers[0].ID
	if strings.Contains(text, `ergoflow_self_info{device="go",engine=`) && strings.Contains(text, `worker="`+string(other)+`"`) {
		other = st.Workers[1].ID
	}
	for _, series := range []string{
		`ergoflow_self_link_bytes_total{direction="sent",peer="` + string(other) + `"} `, `ergoflow_self_link_bytes_total{direction="received",peer="` + string(other) + `"} `,
		`ergoflow_self_step_seconds_total{phase="gradient"} `, `ergoflow_self_session 1`, `ergoflow_self_run_info{hash="` + st.Run + `"} 1`,
		`ergoflow_self_jobs_total{outcome="made"} `, "go_goroutines",
	} {
		if !strings.Contains(text, series) {
			t.Errorf("%s is missing in\n%s", series, text)
		}
	}
	if strings.Contains(text, "ergoflow_self_steps_total 0\n") || strings.Contains(text, `phase="gradient"} 0`+"\n") {
		t.Errorf("no steps in\n%s", text)
	}
	gone()
	h.until("one worker trains", func(st coordinator.Status) bool { return st.State == "training" && st.WorldSize == 1 })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for strings.Contains(page("/metrics"), string(other)) {
		if ctx.Err() != nil {
			t.Fatal("the series of a worker that is gone stay")
		}
	}
	if got := page("/healthz"); got != "ok\n" {
		t.Errorf("healthz: %q", got)
	}
	kill()
}
