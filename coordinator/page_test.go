package coordinator

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/ergoflow/ergoflow/coordinator/dashboard"
	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/trusttest"
)

// pageClient asks a coordinator's page.
type pageClient struct {
	*http.Client
	t   *testing.T
	url string
	key string // empty: none
}

func (p pageClient) do(method, path, body string) (status int, answer string, err error) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	if p.key != "" {
		r.Header.Set("Authorization", "Bearer "+p.key)
	}
	response, err := p.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	return response.StatusCode, string(b), err
}

func (p pageClient) post(path, body string, want int, says string) {
	p.t.Helper()
	if status, answer, err := p.do(http.MethodPost, path, body); err != nil || status != want || !strings.Contains(answer, says) {
		p.t.Errorf("%s %s: %d %s, %v", path, body, status, answer, err)
	}
}

func (p pageClient) state() dashboard.State {
	p.t.Helper()
	status, answer, err := p.do(http.MethodGet, "/api/state", "")
	var d struct{ State dashboard.State }
	if err == nil {
		err = json.Unmarshal([]byte(answer), &d)
	}
	if err != nil || status != http.StatusOK {
		p.t.Fatalf("state: %d %.200s, %v", status, answer, err)
	}
	return d.State
}

// The page has the cluster, and its buttons do what the commands do.
func TestPage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startWith(t, dir, func(c *Config) { c.HTTP = "127.0.0.1:0" })
	makeShards(t, dir, 0, 1, 2, 3, 4)
	connect(t, s, "a", -1)
	b := connect(t, s, "b", -1)
	s.submit(endless, wire.Stage_STAGE_TRAIN)
	s.await("training", func(st Status) bool { return st.State == "training" && st.WorldSize == 2 && st.Step >= 2 })
	p := pageClient{http.DefaultClient, t, "http://" + s.HTTP, ""}
	if text := page(t, http.DefaultClient, p.url+"/"); !strings.Contains(text, "<title>") {
		t.Errorf("the page is %.200q", text)
	}
	st := p.state()
	if len(st.Runs) != 1 || st.Runs[0].Entry != 1 || st.Runs[0].Workers != 2 || len(st.Workers) != 2 || st.Workers[0].Doing != "testing" ||
		len(st.Queue) != 1 || st.Security.Secured || len(st.Workers[0].Phases) != 7 {
		t.Errorf("state %+v", st)
	}
	p.post("/api/drain", `{"worker": "nobody"}`, http.StatusConflict, "there is no worker nobody")
	p.post("/api/drain", `{"worker": "b"}`, http.StatusOK, "worker b leaves")
	<-b.done
	if leave := b.last.GetLeave(); leave == nil || leave.Reason != "drained by somebody at the page" {
		t.Errorf("the last message to b was %v", b.last)
	}
	s.await("alone", func(st Status) bool { return st.State == "training" && st.WorldSize == 1 })
	p.post("/api/cancel", `{"id": 7}`, http.StatusConflict, "there is no run 7")
	p.post("/api/cancel", `{"id": 1}`, http.StatusOK, "run 1 is cancelled")
	s.awaitRun(1, queue.Ended, queue.Cancelled)
	p.post("/api/schedule", `{"name": "none", "action": "run"}`, http.StatusConflict, "there is no schedule")
	p.post("/api/promote", `{"model": "m", "version": 1}`, http.StatusConflict, "--registry")
	events, _, err := p.do(http.MethodGet, "/api/me", "")
	if err != nil || events != http.StatusOK {
		t.Errorf("me: %d, %v", events, err)
	}
}

// An open page goes on after a restart of the coordinator, which listens where it was.
func TestPageAfterARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func(c *Config) { c.HTTP = "127.0.0.1:0" }
	s := startWith(t, dir, open)
	at := s.HTTP
	follow := func() (*bufio.Scanner, io.Closer) {
		r, err := http.Get("http://" + at + "/api/events")
		if err != nil {
			t.Fatal(err)
		}
		return bufio.NewScanner(r.Body), r.Body
	}
	lines, body := follow()
	lines.Buffer(nil, 1<<20)
	await := func(text string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				return
			}
		}
		t.Fatalf("the stream ends before %q: %v", text, lines.Err())
	}
	await("this coordinator is")
	s.close()
	for lines.Scan() { // to its end
	}
	body.Close()
	if s = startWith(t, dir, open); s.HTTP != at {
		t.Fatalf("it moved from %s to %s", at, s.HTTP)
	}
	lines, body = follow()
	defer body.Close()
	lines.Buffer(nil, 1<<20)
	await("this coordinator is")
}

// Beyond loopback a viewer may look, and an operator may change something; a certificate that is
// revoked meanwhile ends both.
func TestPageRoles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startSecuredWith(t, dir, func(c *Config) { c.HTTP = "0.0.0.0:0" })
	_, port, err := net.SplitHostPort(s.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	with := func(role trust.Role, name string) pageClient {
		transport := &http.Transport{TLSClientConfig: trusttest.Credentials(t, s.authority, role, name).ClientConfig(trust.AllowRoles(trust.Coordinator)), ForceAttemptHTTP2: true}
		t.Cleanup(transport.CloseIdleConnections)
		return pageClient{&http.Client{Transport: transport}, t, "https://127.0.0.1:" + port, ""}
	}
	viewer, operator := with(trust.Viewer, "vera"), with(trust.Operator, "ada")
	if st := viewer.state(); !st.Security.Secured || st.Security.Authority != "here" || st.Security.Expires.IsZero() {
		t.Errorf("security %+v", st.Security)
	}
	viewer.post("/api/cancel", `{"id": 1}`, http.StatusForbidden, "this needs an operator, and the certificate is that of viewer/vera")
	operator.post("/api/cancel", `{"id": 1}`, http.StatusConflict, "there is no run 1")
	if _, _, err := with(trust.Worker, "w").do(http.MethodGet, "/", ""); err == nil {
		t.Error("a worker sees the page")
	}
	if _, answer, err := operator.do(http.MethodGet, "/api/me", ""); err != nil || !strings.Contains(answer, `"who":"operator/ada","may":true`) {
		t.Errorf("me: %s, %v", answer, err)
	}
}

// On loopback the page of a secured coordinator shows everything, and its buttons need the key in
// the coordinator's directory, which only its user can read.
func TestPageKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startSecuredWith(t, dir, func(c *Config) { c.HTTP = "127.0.0.1:0" })
	p := pageClient{http.DefaultClient, t, "http://" + s.HTTP, ""}
	if !p.state().Security.Secured {
		t.Error("it is not secured")
	}
	p.post("/api/cancel", `{"id": 1}`, http.StatusForbidden, PageKeyPath(dir))
	info, err := os.Stat(PageKeyPath(dir))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the key's file: %v, %v", info, err)
	}
	key, err := os.ReadFile(PageKeyPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	p.key = strings.TrimSpace(string(key))
	p.post("/api/cancel", `{"id": 1}`, http.StatusConflict, "there is no run 1")
	if again, err := pageKey(PageKeyPath(dir)); err != nil || again != p.key {
		t.Errorf("the key changes: %q, %v", again, err)
	}
	if err := os.WriteFile(PageKeyPath(dir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := pageKey(PageKeyPath(dir)); err == nil || !strings.Contains(err.Error(), "delete it") {
		t.Errorf("an empty key: %v", err)
	}
}

// Fifty pages, scrapes as fast as they come, and a page that does not read: the workers are heard,
// and make their steps to the last.
func TestManyWatchers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startWith(t, dir, func(c *Config) { c.HTTP = "127.0.0.1:0" })
	makeShards(t, dir, 0, 1, 2, 3, 4)
	ctx, cancel := context.WithCancel(t.Context())
	transport := &http.Transport{}
	client := &http.Client{Transport: transport}
	get := func(path, id string) io.ReadCloser {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.HTTP+path, nil)
		if err != nil {
			t.Error(err)
			return http.NoBody
		}
		r.Header.Set("Last-Event-ID", id)
		response, err := client.Do(r)
		if err != nil {
			if ctx.Err() == nil {
				t.Error(err)
			}
			return http.NoBody
		}
		return response.Body
	}
	var group sync.WaitGroup
	defer transport.CloseIdleConnections()
	defer group.Wait()
	defer cancel()
	deaf := get("/api/events", "")
	defer deaf.Close()
	for i := range 49 {
		group.Go(func() {
			body := get("/api/events", fmt.Sprint("garbage", i))
			defer body.Close()
			_, _ = io.Copy(io.Discard, body)
		})
	}
	group.Go(func() {
		for ctx.Err() == nil {
			body := get("/metrics", "")
			_, _ = io.Copy(io.Discard, body)
			body.Close()
		}
	})
	connect(t, s, "a", -1)
	connect(t, s, "b", -1)
	s.submit(plan, wire.Stage_STAGE_TRAIN)
	st := s.await("the end", func(st Status) bool { return st.State == "done" })
	for _, d := range st.Decisions {
		if strings.Contains(d.Reason, "lost worker") {
			t.Errorf("a worker was lost: %s", d.Reason)
		}
	}
}
