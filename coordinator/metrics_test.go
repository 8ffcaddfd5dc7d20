package coordinator

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/coordinator/dashboard"
	"github.com/ergoflow/ergoflow/coordinator/fleet"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/data/jobs"
	"github.com/ergoflow/ergoflow/internal/metrics"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/trusttest"
	"github.com/ergoflow/ergoflow/internal/webserver/webservertest"
)

// measuring is a collector of a snapshot.
func measuring(s snapshot) *metrics.Collector {
	return newCollector(func() (snapshot, bool) { return s, true })
}

// full is a snapshot in which every metric has a series.
func full() snapshot {
	loss := 0.25
	done := time.UnixMilli(1_700_000_000_500)
	run := measuredRun{
		RunStatus: fleet.RunStatus{Entry: 3, Run: "abc", Experiment: "vn1d/demo"},
		status: machine.Status{
			State: machine.StateTraining, Step: 7, Steps: 10, Loss: &loss, Generation: 4, WorldSize: 1, Endings: map[machine.Ending]int{machine.EndLost: 2, machine.EndJoined: 1}, SamplesPerSecond: 100,
			Shards:   machine.ShardStatus{Done: 5, Total: 5},
			CutLinks: []machine.CutLink{{}},
			Short:    &machine.Shortage{Bytes: 11},
			Goodput:  &machine.Goodput{Seconds: 10, Useful: 8, Lost: []machine.Loss{{Cause: machine.Forming, Seconds: 2}}},
			Workers: []machine.WorkerStatus{
				{ID: "a", Run: "abc", Rank: 0, Device: "cpu", Shards: []int{0, 1}, State: "training", Slow: true, Timing: machine.Timing{Step: 1, Gradient: 0.75, Ring: 0.25}},
				{ID: "b", Run: "abc", Rank: -1, Device: "cpu", State: "preparing"},
				{ID: "c", Run: "another", Rank: 0},
			},
		},
		saved: &checkpoint.Info{Step: 5, Size: 1234, Time: done},
		jobs:  &jobs.Depth{Waiting: 6, Out: 2, Again: 1},
	}
	next := queue.ScheduleStatus{Schedule: queue.Schedule{Name: "nightly", Failures: 2, LastDone: done}, Next: []time.Time{done.Add(time.Hour)}}
	next.Paused = true
	return snapshot{runs: []measuredRun{run}, waiting: 2, schedules: []queue.ScheduleStatus{next}, refusals: 9, expires: done, standing: standing{true, 3, 41, 1}, archive: &Archive{Time: done}, models: []dashboard.Model{{Name: "vn1d", Champion: 2, Versions: make([]dashboard.Version, 3)}},
		tally: tally{jobsAgain: 3, jobsDead: 1, written: 8, notWritten: 1, writing: 2.5}}
}

// Every metric that is described has a series in a full snapshot, keeps Prometheus's rules for
// names and units, and has the value of the state.
func TestMetrics(t *testing.T) {
	c := measuring(full())
	webservertest.Page(t, c, "..", "coordinator", ergoflow.Build(), "VERSION")
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(families) != len(described) {
		t.Errorf("%d metrics, %d are described", len(families), len(described))
	}
	want := `
# HELP ergoflow_run_time_seconds_total Time of the run by cause: useful, or what it was lost to.
# TYPE ergoflow_run_time_seconds_total counter
ergoflow_run_time_seconds_total{cause="forming",run="3"} 2
ergoflow_run_time_seconds_total{cause="useful",run="3"} 8
# HELP ergoflow_worker_rank Rank of a worker in the generation; -1: it is in none.
# TYPE ergoflow_worker_rank gauge
ergoflow_worker_rank{run="3",worker="a"} 0
ergoflow_worker_rank{run="3",worker="b"} -1
# HELP ergoflow_run_checkpoint_timestamp_seconds When the newest checkpoint was stored, in Unix time.
# TYPE ergoflow_run_checkpoint_timestamp_seconds gauge
ergoflow_run_checkpoint_timestamp_seconds{run="3"} 1.7000000005e+09
# HELP ergoflow_schedule_failures Failures of a schedule in a row.
# TYPE ergoflow_schedule_failures gauge
ergoflow_schedule_failures{schedule="nightly"} 2
`
	if err := testutil.CollectAndCompare(c, strings.NewReader(want), "ergoflow_run_time_seconds_total", "ergoflow_worker_rank",
		"ergoflow_run_checkpoint_timestamp_seconds", "ergoflow_schedule_failures"); err != nil {
		t.Error(err)
	}
	ending := newCollector(func() (snapshot, bool) { return snapshot{}, false })
	if n := testutil.CollectAndCount(ending); n != 0 {
		t.Errorf("%d series of a coordinator that ends", n)
	}
}

// Rules of alerts are about states and causes that exist.
func TestAlertsNameStates(t *testing.T) {
	text, err := os.ReadFile("../deploy/prometheus/ergoflow.rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range []string{machine.StateTraining, machine.StateForming, machine.StateWaiting, string(machine.Useful)} {
		if !strings.Contains(string(text), state) {
			t.Errorf("no rule is about %s", state)
		}
	}
}

// page is the answer to GET path.
func page(t *testing.T, client *http.Client, url string) string {
	t.Helper()
	response, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, response.Status, err)
	}
	return string(body)
}

// The page has the workers of a run, also of one that is gone no more, and those who look do not
// disturb it.
func TestMetricsOfARun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startWith(t, dir, func(c *Config) { c.HTTP = "127.0.0.1:0" })
	makeShards(t, dir, 0, 1, 2, 3, 4)
	connect(t, s, "a", -1)
	b := connect(t, s, "b", -1)
	s.submit(plan, wire.Stage_STAGE_TRAIN)
	s.await("training", func(st Status) bool { return st.State == "training" && st.WorldSize == 2 && st.Step >= 2 })
	text := page(t, http.DefaultClient, "http://"+s.HTTP+"/metrics")
	for _, series := range []string{`ergoflow_worker_rank{run="1",worker="a"}`, `ergoflow_worker_rank{run="1",worker="b"}`, `ergoflow_run_time_seconds_total{cause="useful",run="1"}`, "go_goroutines"} {
		if !strings.Contains(text, series) {
			t.Errorf("%s is missing in\n%s", series, text)
		}
	}
	b.kill()
	s.await("after the loss", func(st Status) bool { return len(st.Workers) == 1 })
	if text := page(t, http.DefaultClient, "http://"+s.HTTP+"/metrics"); strings.Contains(text, `worker="b"`) {
		t.Error("the series of a worker that is gone stay")
	}
	if got := page(t, http.DefaultClient, "http://"+s.HTTP+"/healthz"); got != "ok\n" {
		t.Errorf("healthz: %q", got)
	}
}

// Beyond loopback a secured coordinator answers those alone who show a certificate of the cluster
// with the right role.
func TestMetricsBeyondLoopback(t *testing.T) {
	t.Parallel()
	s := startSecuredWith(t, t.TempDir(), func(c *Config) { c.HTTP = "0.0.0.0:0" })
	_, port, err := net.SplitHostPort(s.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	url := "https://127.0.0.1:" + port + "/metrics"
	client := func(config *tls.Config) *http.Client {
		transport := &http.Transport{TLSClientConfig: config}
		t.Cleanup(transport.CloseIdleConnections)
		return &http.Client{Transport: transport}
	}
	with := func(role trust.Role) *http.Client {
		return client(trusttest.Credentials(t, s.authority, role, "prometheus").ClientConfig(trust.AllowRoles(trust.Coordinator)))
	}
	if text := page(t, with(trust.Viewer), url); !strings.Contains(text, "ergoflow_build_info{version=\""+ergoflow.Build()+"\"} 1") {
		t.Errorf("no build in\n%s", text)
	}
	for who, c := range map[string]*http.Client{"a worker": with(trust.Worker), "nobody": client(&tls.Config{InsecureSkipVerify: true})} {
		if r, err := c.Get(url); err == nil {
			r.Body.Close()
			t.Errorf("%s sees the metrics", who)
		}
	}
	if r, err := http.Get("http://127.0.0.1:" + port + "/metrics"); err == nil {
		r.Body.Close()
		if r.StatusCode == http.StatusOK {
			t.Error("the metrics are there in plain text")
		}
	}
}

// BenchmarkScrape collects the metrics of a thousand workers.
func BenchmarkScrape(b *testing.B) {
	s := full()
	workers := make([]machine.WorkerStatus, 1000)
	for i := range workers {
		workers[i] = s.runs[0].status.Workers[0]
		workers[i].ID = ergoflow.WorkerID(strings.Repeat("x", 20) + string(rune('a'+i%26)) + time.Duration(i).String())
	}
	s.runs[0].status.Workers = workers
	registry := prometheus.NewRegistry()
	registry.MustRegister(measuring(s))
	for b.Loop() {
		if _, err := registry.Gather(); err != nil {
			b.Fatal(err)
		}
	}
}
