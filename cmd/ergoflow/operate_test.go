package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/internal/addresstest"
)

// secondsPerMinute is how long a minute of the rules is in these tests.
const secondsPerMinute = 2

// shortened are the rules of deploy/prometheus with all their times divided: those that alerts
// wait, and those of the ranges that they look at.
func shortened(t *testing.T, rules string) string {
	t.Helper()
	n := 0
	short := regexp.MustCompile(`(for: |\[)(\d+)([mh])`).ReplaceAllStringFunc(rules, func(found string) string {
		n++
		m := regexp.MustCompile(`(for: |\[)(\d+)([mh])`).FindStringSubmatch(found)
		seconds, _ := strconv.Atoi(m[2])
		seconds *= secondsPerMinute
		if m[3] == "h" {
			seconds *= 60
		}
		return fmt.Sprintf("%s%ds", m[1], seconds)
	})
	if n < 15 || regexp.MustCompile(`(for: |\[)\d+[mhd]`).MatchString(short) {
		t.Fatalf("%d times are shortened in\n%s", n, short)
	}
	return short
}

func TestOperateShortens(t *testing.T) {
	rules, err := os.ReadFile("../../deploy/prometheus/ergoflow.rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	short := shortened(t, string(rules))
	for _, want := range []string{"max_over_time(ergoflow_run_members[30s])\n        for: 4s\n", "delta(ergoflow_run_step[20s])", "for: 120s"} {
		if !strings.Contains(short, want) {
			t.Errorf("%q is missing in\n%s", want, short)
		}
	}
}

// A watcher is Prometheus on loopback.
type watcher struct {
	t   *testing.T
	url string
	out bytes.Buffer
}

// watch starts Prometheus with the rules, their times shortened. jobs has addresses by the name of
// the job.
func watch(t *testing.T, jobs map[string][]string) *watcher {
	t.Helper()
	dir := t.TempDir()
	rules, err := os.ReadFile("../../deploy/prometheus/ergoflow.rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	config := "global: {scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms}\nrule_files: [rules.yaml]\nscrape_configs:\n"
	for name, targets := range jobs {
		list, _ := json.Marshal(targets)
		config += fmt.Sprintf("  - {job_name: %s, static_configs: [{targets: %s}]}\n", name, list)
	}
	for name, text := range map[string]string{"rules.yaml": shortened(t, string(rules)), "prometheus.yaml": config} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	address := addresstest.Free(t)
	w := &watcher{t: t, url: "http://" + address}
	cmd := exec.CommandContext(context.Background(), "prometheus", "--config.file="+filepath.Join(dir, "prometheus.yaml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	cmd.Stdout, cmd.Stderr = &w.out, &w.out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Signal(syscall.SIGTERM); cmd.Wait() })
	w.await("Prometheus answers", func() bool {
		response, err := http.Get(w.url + "/-/ready")
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
	return w
}

func (w *watcher) await(what string, done func() bool) {
	w.t.Helper()
	for begin := time.Now(); !done(); {
		if time.Since(begin) > patience {
			w.t.Fatalf("waited too long for: %s; alerts %v\n%s", what, w.firing(), w.out.String())
		}
		<-time.After(100 * time.Millisecond) // another program is polled
	}
}

// get reads an answer of Prometheus's API.
func (w *watcher) get(path string, data any) {
	w.t.Helper()
	response, err := http.Get(w.url + path)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil {
		err = json.Unmarshal(body, &struct{ Data any }{data})
	}
	if err != nil || response.StatusCode != http.StatusOK {
		w.t.Fatalf("%s: %s, %v: %s", path, response.Status, err, body)
	}
}

// firing are the names of the alerts that fire.
func (w *watcher) firing() (names []string) {
	w.t.Helper()
	var data struct {
		Alerts []struct {
			State  string
			Labels map[string]string
		}
	}
	w.get("/api/v1/alerts", &data)
	for _, a := range data.Alerts {
		if name := a.Labels["alertname"]; a.State == "firing" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// fires waits until an alert fires, and clears until it does not.
func (w *watcher) fires(name string) {
	w.t.Helper()
	w.await(name+" fires", func() bool { return slices.Contains(w.firing(), name) })
}

func (w *watcher) clears(name string) {
	w.t.Helper()
	w.await(name+" clears", func() bool { return !slices.Contains(w.firing(), name) })
}

// value is that of a query with one result; ok is false without one.
func (w *watcher) value(expr string) (value string, ok bool) {
	w.t.Helper()
	var data struct {
		Result []struct{ Value [2]any }
	}
	w.get("/api/v1/query?query="+strings.NewReplacer(" ", "%20", "{", "%7B", "}", "%7D", `"`, "%22", "=", "%3D").Replace(expr), &data)
	if len(data.Result) != 1 {
		return "", false
	}
	value, ok = data.Result[0].Value[1].(string)
	return value, ok
}

// watchedWorker starts a worker with metrics.
func watchedWorker(t *testing.T, join, metrics string) *exec.Cmd {
	t.Helper()
	cmd, out := program(context.Background(), t, "worker", "--join", join, "--backend", "go", "--threads", "1", "--http", metrics)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("the worker at %s:\n%s", metrics, out)
		}
	})
	return cmd
}

// TestOperate watches a cluster with a real Prometheus and the rules that we ship. A worker is
// killed: the alert fires, and clears with another worker. The coordinator is killed: alerts about
// it and the workers fire, and clear when it is back. What all processes export is as Prometheus
// wants it.
func TestOperate(t *testing.T) {
	if !*operate {
		t.Skip("a real Prometheus waits for alerts, which takes half a minute: `make operate-e2e` runs it")
	}
	for _, name := range []string{"prometheus", "promtool"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed: apt install prometheus", name)
		}
	}
	trained := t.TempDir()
	trainLocally(t, trained, 1, "--set", "training.steps=5")
	dir := t.TempDir()
	metrics := map[string]string{"coordinator": addresstest.Free(t), "first": addresstest.Free(t), "second": addresstest.Free(t), "third": addresstest.Free(t), "server": addresstest.Free(t)}
	keep := []string{"--http", metrics["coordinator"]}
	main := startCoordinator(t, dir, keep...)
	a, err := coordinator.ReadAddresses(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"first", "second"} {
		watchedWorker(t, a.Gossip, metrics[name])
	}
	lost := watchedWorker(t, a.Gossip, metrics["third"])
	server, out := program(context.Background(), t, "serve", "--checkpoint", trained, "--listen", metrics["server"])
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Process.Kill(); server.Wait() })
	submit, said := program(t.Context(), t, "train", "vn1d", "--preset", "smoke", "--queue", "--dir", dir,
		"--set", "training.steps=1000000", "--set", "training.checkpoint_every=200", "--set", "data.training.burn_in=50", "--set", "data.reference.burn_in=50")
	if err := submit.Run(); err != nil {
		t.Fatalf("submit: %v\n%s", err, said)
	}
	c := &cluster{t: t, dir: dir, done: make(chan error)}
	c.until("three workers train", training(3, 20))

	w := watch(t, map[string][]string{
		"ergoflow-coordinator": {metrics["coordinator"]}, "ergoflow-worker": {metrics["first"], metrics["second"], metrics["third"]}, "ergoflow-server": {metrics["server"]},
	})
	is := func(expr, want string) func() bool {
		return func() bool { got, ok := w.value(expr); return ok && got == want }
	}
	w.await("five targets answer:\n"+out.String(), is("sum(up)", "5"))
	for who, address := range metrics {
		checkPage(t, who, "http://"+address+"/metrics")
	}
	w.await("three members", is("min_over_time(ergoflow_run_members[2s])", "3"))
	if fire := w.firing(); len(fire) > 0 {
		t.Errorf("alerts of a cluster that is well: %v", fire)
	}

	lost.Process.Kill()
	lost.Wait()
	w.fires("ErgoflowWorkerLost")
	if members, _ := w.value("ergoflow_run_members"); members != "2" {
		t.Errorf("it fires with %s members", members)
	}
	if reason, _ := w.value(`ergoflow_run_generations_ended_total{reason="lost"}`); reason != "1" {
		t.Errorf("%s generations ended with a lost worker", reason)
	}
	watchedWorker(t, a.Gossip, metrics["third"])
	w.clears("ErgoflowWorkerLost")
	w.await("three members again", is("ergoflow_run_members", "3"))

	main.Process.Kill()
	main.Wait()
	w.fires("ErgoflowCoordinatorGone")
	w.fires("ErgoflowWorkerWithoutCoordinator")
	startCoordinator(t, dir, keep...)
	w.clears("ErgoflowCoordinatorGone")
	w.clears("ErgoflowWorkerWithoutCoordinator")
	c.until("three workers train again", training(3, 20))
}

// checkPage has promtool read a page of metrics.
func checkPage(t *testing.T, who, url string) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	check := exec.CommandContext(t.Context(), "promtool", "check", "metrics")
	page, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	check.Stdin = bytes.NewReader(page)
	out, err := check.CombinedOutput()
	var ours []string // not those of Go's and client_golang's collectors
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "ergoflow_") || !regexp.MustCompile(`^(go|process|promhttp)_`).MatchString(line) {
			ours = append(ours, line)
		}
	}
	if !bytes.Contains(page, []byte("\nergoflow_build_info{")) || len(ours) > 0 {
		t.Errorf("the page of the %s: %v\n%s", who, err, out)
	}
}
