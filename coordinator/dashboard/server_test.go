package dashboard

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/coordinator/journal"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/internal/trust"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a source whose state tests set.
type world struct {
	mu     sync.Mutex
	state  State
	asked  int // for whole states
	events *journal.Journal
	did    []string // what buttons did
}

func newWorld(workers int) *world {
	w := &world{events: journal.New(time.Now())}
	w.state = synthetic(workers, 0)
	return w
}

// synthetic is the state of a run with so many workers after some steps, of which the eighth is
// slow.
func synthetic(workers, step int) State {
	loss := 1 / float64(step+1)
	s := State{Version: "test", PID: 1, Runs: []Run{}, Workers: []Worker{}, Queue: []queue.Run{}, Schedules: []queue.ScheduleStatus{}, Checkpoints: []checkpoint.Info{},
		Registry: Registry{Models: []Model{}}, Security: Security{Plaintext: []string{}, Refused: []Refusal{}}}
	r := Run{Entry: 1, Workers: workers}
	r.Status = machine.Status{Run: "run1", Experiment: "vn1d/test", State: machine.StateTraining, Generation: 3, WorldSize: workers,
		Step: ergoflow.Step(step), Steps: 100_000, Loss: &loss, SamplesPerSecond: 1000, Shards: machine.ShardStatus{Done: 5, Total: 5},
		Goodput:  &machine.Goodput{Run: "run1", Seconds: float64(step), Useful: float64(step) * 0.9, Lost: []machine.Loss{{Cause: machine.Straggling, Seconds: float64(step) * 0.1, Why: "the others waited for worker host-007"}}},
		CutLinks: []machine.CutLink{}}
	if workers > 1 {
		r.WaitsFor = &machine.WaitsFor{Worker: "host-0007-7072-5e1f09c4", Steps: 90, Of: 100, Seconds: 0.05}
	}
	s.Runs = append(s.Runs, r)
	for i := range workers {
		slow := i == 7
		t := machine.Timing{Step: 0.3, Data: 0.001, Gradient: 0.2 + float64((i*7+step)%11)/1000, Copy: 0.01, Ring: 0.03, Wait: 0.05, Update: 0.005, Other: 0.001}
		if slow {
			t.Gradient, t.Wait = 0.25, 0
		}
		s.Workers = append(s.Workers, WorkerOf(machine.WorkerStatus{ID: ergoflow.WorkerID(fmt.Sprintf("host-%04d-7072-5e1f09c4", i)), Run: "run1", Rank: i,
			PID: 1000 + i, Addr: fmt.Sprintf("10.0.%d.%d:7072", i/250, i%250), Device: "xla:cpu", Shards: []int{i}, Step: ergoflow.Step(step), State: "training",
			Timing: t, Pace: 0.21, Slow: slow}))
	}
	return s
}

func (w *world) set(s State) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state = s
}

func (w *world) source() Source {
	return Source{
		State: func(whole bool) (State, bool) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if whole {
				w.asked++
			}
			return w.state, true
		},
		Events: w.events,
		Drain: func(id ergoflow.WorkerID, by string) error {
			if !strings.HasPrefix(string(id), "host") {
				return fmt.Errorf("there is no worker %s", id)
			}
			w.note("%s drains %s", by, id)
			return nil
		},
		Change: func(e queue.Event) (queue.ID, error) { w.note("%T %v", e, e); return 9, nil },
		Models: &Models{
			List: func(context.Context) ([]Model, error) {
				return []Model{{Name: "vn1d", Champion: 2, Versions: []Version{{Number: 3, Step: 8000, Aliases: []string{}}, {Number: 2, Step: 8000, Aliases: []string{"champion"}}}}}, nil
			},
			Promote: func(_ context.Context, model string, version int, by, reason string) error {
				w.note("%s promotes %s@%d: %s", by, model, version, reason)
				return nil
			},
			Rollback: func(_ context.Context, model, by string) (int, error) {
				w.note("%s rolls back %s", by, model)
				return 1, nil
			},
		},
		Log: slog.New(slog.DiscardHandler),
	}
}

func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.did = append(w.did, fmt.Sprintf(format, args...))
}

func (w *world) last() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.did) == 0 {
		return ""
	}
	return w.did[len(w.did)-1]
}

// site is a page that is served.
type site struct {
	*httptest.Server
	page *Server
	stop func() // ends it, once
}

// serve serves a source, with changed limits.
func serve(t *testing.T, source Source, change func(*Server, *http.Server)) site {
	t.Helper()
	return serveAt(t, "127.0.0.1:0", source, change)
}

func serveAt(t *testing.T, address string, source Source, change func(*Server, *http.Server)) site {
	t.Helper()
	s := New(source)
	mux := http.NewServeMux()
	s.Register(mux)
	server := httptest.NewUnstartedServer(mux)
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server.Listener.Close()
	server.Listener = l
	if change != nil {
		change(s, server.Config)
	}
	ctx, cancel := context.WithCancel(t.Context())
	server.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	ended := make(chan struct{})
	go func() { defer close(ended); s.Run(ctx) }()
	server.Start()
	stop := sync.OnceFunc(func() {
		cancel()
		server.CloseClientConnections()
		server.Close()
		<-ended
	})
	t.Cleanup(stop)
	return site{server, s, stop}
}

// message is one server-sent event.
type message struct{ name, id, data string }

// listener reads a stream.
type listener struct {
	t    *testing.T
	body io.Closer
	text *bufio.Reader
}

// listen opens a stream, with headers.
func (s site) listen(t *testing.T, headers ...string) *listener {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/api/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("status %s, %v", response.Status, response.Header)
	}
	return &listener{t, response.Body, bufio.NewReader(response.Body)}
}

// next is the next event.
func (l *listener) next() (m message, err error) {
	for {
		line, err := l.text.ReadString('\n')
		if err != nil {
			return m, err
		}
		line = strings.TrimSuffix(line, "\n")
		key, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "" && m.name != "":
			return m, nil
		case key == "event":
			m.name = value
		case key == "id":
			m.id = value
		case key == "data":
			m.data = value
		}
	}
}

// await is the next event of a name.
func (l *listener) await(name string) message {
	l.t.Helper()
	for {
		m, err := l.next()
		if err != nil {
			l.t.Fatalf("no event %s: %v", name, err)
		}
		if m.name == name {
			return m
		}
	}
}

// A stream begins with hello, history, state and the kept events; then come changes alone.
func TestStream(t *testing.T) {
	w := newWorld(3)
	w.events.Add(time.Now(), journal.Training, false, "first")
	source := w.source()
	source.Models = nil
	s := serve(t, source, func(p *Server, _ *http.Server) { p.limits.beat = 100 * time.Millisecond })
	l := s.listen(t)
	var first hello
	if err := json.Unmarshal([]byte(l.await("hello").data), &first); err != nil || first.Build != s.page.build || !first.May {
		t.Errorf("hello: %+v, %v", first, err)
	}
	var past map[string]history
	if err := json.Unmarshal([]byte(l.await("history").data), &past); err != nil || len(past["run1"].Time) != 1 {
		t.Errorf("history: %+v, %v", past, err)
	}
	var st struct {
		Time  float64
		State State
	}
	if err := json.Unmarshal([]byte(l.await("state").data), &st); err != nil || len(st.State.Workers) != 3 || st.State.Workers[2].ID != "host-0002-7072-5e1f09c4" || st.Time < 1e9 {
		t.Errorf("state: %+v, %v", st, err)
	}
	if m := l.await("log"); !strings.Contains(m.data, `"text":"first"`) || m.id == "" {
		t.Errorf("log: %+v", m)
	}
	for range 20 { // nothing changes, for two snapshots
		if m, err := l.next(); err != nil || m.name != "beat" {
			t.Fatalf("after the state: %+v, %v", m, err)
		}
	}
	w.set(synthetic(4, 1))
	if m := l.await("state"); !strings.Contains(m.data, "host-0003") {
		t.Errorf("after a change: %.200s", m.data)
	}
	w.events.Add(time.Now(), journal.Queue, true, "second")
	if m := l.await("log"); !strings.Contains(m.data, "second") || strings.Contains(m.data, "first") {
		t.Errorf("log: %+v", m)
	}
}

// A browser that comes back gets the events that it lacks; one that brings garbage, or the
// position of another coordinator, gets all.
func TestStreamGoesOn(t *testing.T) {
	w := newWorld(1)
	for i := range 10 {
		w.events.Add(time.Now(), journal.Training, false, fmt.Sprintf("event %d", i+1))
	}
	s := serve(t, w.source(), nil)
	all, _ := w.events.After(journal.Position{})
	at := func(start int64, number uint64) string { return fmt.Sprintf("%d-%d", start, number) }
	for position, want := range map[string]int{
		at(all[0].Start, 7): 3, at(all[0].Start, 0): 10, at(all[0].Start+1, 7): 10, "": 10, "garbage": 10, "-": 10, "1-2-3": 10,
		strings.Repeat("9", 5000) + "-1": 10, "\x80-7": 10, at(all[0].Start, 1<<63): 0, "-5-18446744073709551616": 10,
	} {
		l := s.listen(t, "Last-Event-ID", position)
		got := 0
		l.await("state")
		if want > 0 {
			var list []journal.Event
			if err := json.Unmarshal([]byte(l.await("log").data), &list); err != nil {
				t.Fatal(err)
			}
			got = len(list)
		}
		if got != want {
			t.Errorf("%.40q: %d events, want %d", position, got, want)
		}
		l.body.Close()
	}
}

// A stream outlives the server's time-outs, which are for requests.
func TestStreamOutlivesTimeouts(t *testing.T) {
	s := serve(t, newWorld(1).source(), func(p *Server, c *http.Server) {
		p.limits.beat = 30 * time.Millisecond
		c.ReadTimeout, c.WriteTimeout = 100*time.Millisecond, 100*time.Millisecond
	})
	l := s.listen(t)
	for range 20 {
		l.await("beat")
	}
}

// A viewer's stream over HTTP/2 and TLS outlives them, too, and ends when the certificate is
// revoked.
func TestStreamOfAViewer(t *testing.T) {
	dir := t.TempDir()
	authority, err := trust.CreateAuthority(t.Context(), dir, "lab", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	credentials := func(role trust.Role, name string) *trust.Credentials {
		pair, err := authority.Issue(t.Context(), trust.Request{Role: role, Name: name}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		bundle, err := authority.Bundle(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(t.TempDir(), name)
		if err := trust.SaveCredentials(at, pair, bundle); err != nil {
			t.Fatal(err)
		}
		c, err := trust.OpenCredentials(at)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	own, viewer := credentials(trust.Coordinator, "coordinator"), credentials(trust.Viewer, "vera")
	var revoked atomic.Bool
	source := newWorld(1).source()
	source.Access.Check = func(*x509.Certificate) error {
		if revoked.Load() {
			return errors.New("it is revoked")
		}
		return nil
	}
	page := New(source)
	page.limits.beat = 30 * time.Millisecond
	mux := http.NewServeMux()
	page.Register(mux)
	at, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	config := own.ServerConfig(trust.AllowRoles(trust.Viewer))
	config.NextProtos = []string{"h2"}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Second, ReadTimeout: 100 * time.Millisecond, WriteTimeout: 100 * time.Millisecond}
	served := make(chan error, 1)
	go func() { served <- server.Serve(tls.NewListener(at, config)) }()
	defer func() { server.Close(); <-served }()
	transport := &http.Transport{TLSClientConfig: viewer.ClientConfig(trust.AllowRoles(trust.Coordinator)), ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Get("https://" + at.Addr().String() + "/api/events")
	if err != nil || response.ProtoMajor != 2 {
		t.Fatalf("%v, %v", response, err)
	}
	defer response.Body.Close()
	l := &listener{t, response.Body, bufio.NewReader(response.Body)}
	if m := l.await("hello"); !strings.Contains(m.data, `"may":false`) || !strings.Contains(m.data, "viewer/vera") {
		t.Errorf("hello: %+v", m)
	}
	for range 20 {
		l.await("beat")
	}
	revoked.Store(true)
	for {
		if _, err := l.next(); err != nil {
			return
		}
	}
}

// Fifty pages cost one snapshot and one encoding a second, and get the same bytes.
func TestStreamsShareSnapshots(t *testing.T) {
	w := newWorld(10)
	s := serve(t, w.source(), nil)
	pages := make([]*listener, 50)
	for i := range pages {
		pages[i] = s.listen(t)
		pages[i].await("state")
	}
	w.mu.Lock()
	before := w.asked
	w.state = synthetic(10, 1)
	w.mu.Unlock()
	began := time.Now()
	data := pages[0].await("state").data
	for _, l := range pages[1:] {
		if got := l.await("state").data; got != data {
			t.Fatal("a page has another state")
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if most := int(time.Since(began)/interval) + 2; w.asked-before > most {
		t.Errorf("%d snapshots for one change, of at most %d", w.asked-before, most)
	}
}

// More pages than the bound are refused with a reason, and let in when others leave.
func TestTooManyStreams(t *testing.T) {
	s := serve(t, newWorld(1).source(), func(p *Server, _ *http.Server) { p.limits.streams = 2 })
	a, b := s.listen(t), s.listen(t)
	a.await("state")
	b.await("state")
	r, err := s.Client().Get(s.URL + "/api/events")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil || r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" || !strings.Contains(string(body), "too many pages") {
		t.Errorf("%s, %v: %s", r.Status, err, body)
	}
	a.body.Close()
	for {
		r, err := s.Client().Get(s.URL + "/api/state")
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode == http.StatusOK {
			return
		}
	}
}

// A page that does not read is dropped, and nobody waits for it.
func TestPageThatDoesNotRead(t *testing.T) {
	w := newWorld(2000)
	var open atomic.Int32
	s := serve(t, w.source(), func(p *Server, c *http.Server) {
		p.limits.write = 200 * time.Millisecond
		c.ConnState = func(conn net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				if tcp, ok := conn.(*net.TCPConn); ok {
					_ = tcp.SetWriteBuffer(8 << 10) // the kernel's own would take megabytes
				}
				open.Add(1)
			case http.StateClosed:
				open.Add(-1)
			}
		}
	})
	var dialer net.Dialer
	deaf, err := dialer.DialContext(t.Context(), "tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	if err := deaf.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(deaf, "GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
	l := s.listen(t)
	for step := 1; ; step++ {
		w.set(synthetic(2000, step))
		l.await("state")
		if open.Load() == 1 {
			break
		}
	}
	s.page.hub.mu.Lock()
	defer s.page.hub.mu.Unlock()
	if n := s.page.hub.watchers; n != 1 {
		t.Errorf("%d watch", n)
	}
}

// While nobody watches no whole snapshot is taken, and the history goes on.
func TestNobodyWatches(t *testing.T) {
	w := newWorld(2)
	h := newHub(w.source(), interval)
	h.take()
	if w.asked != 0 || h.frame != nil || len(h.past["run1"].Time) != 1 {
		t.Errorf("%d whole snapshots, frame %v, history %+v", w.asked, h.frame, h.past["run1"])
	}
}

// The history has a bounded number of points, from the first to the last.
func TestHistory(t *testing.T) {
	p := make(past)
	begin := time.Unix(1_700_000_000, 0)
	for i := range 100_000 {
		p.note(begin.Add(time.Duration(i)*time.Second), synthetic(1, i).Runs, interval)
	}
	h := p["run1"]
	n := len(h.Time)
	if n > keptPoints || n < keptPoints/2 || h.Step[0] != 0 || float64(100_000-h.Step[n-1]) > h.Every+1 {
		t.Errorf("%d points every %g s, from step %d to %d", n, h.Every, h.Step[0], h.Step[n-1])
	}
	for i := range n {
		if i > 0 && h.Time[i] <= h.Time[i-1] || h.Time[i] != float64(begin.Unix()+h.Step[i]) {
			t.Fatalf("point %d is at %g, step %d", i, h.Time[i], h.Step[i])
		}
	}
	for i := range 20 {
		s := synthetic(1, 1)
		s.Runs[0].Run = fmt.Sprint("other", i)
		p.note(begin.Add(200_000*time.Second+time.Duration(i)*time.Second), s.Runs, interval)
	}
	if len(p) != keptRuns || p["run1"] != nil || p["other19"] == nil {
		t.Errorf("%d runs are kept", len(p))
	}
	done := synthetic(1, 5)
	done.Runs[0].Run, done.Runs[0].State = "over", machine.StateDone
	if p.note(begin, done.Runs, interval); p["over"] != nil {
		t.Error("a run that has ended has a history")
	}
}

// post sends a body as the page does.
func (s site) post(t *testing.T, path, body string, headers ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(b)
}

// In plain text everybody who reaches the page may do what the commands may.
func TestActions(t *testing.T) {
	w := newWorld(8)
	s := serve(t, w.source(), nil)
	for _, c := range []struct{ path, body, did, detail string }{
		{"/api/drain", `{"worker": "host-0001"}`, anybody + " drains host-0001", "worker host-0001 leaves"},
		{"/api/cancel", `{"id": 3}`, "queue.Cancel {3}", "run 3 is cancelled"},
		{"/api/schedule", `{"name": "nightly", "action": "run"}`, "queue.RunSchedule {nightly}", "schedule nightly is started as run 9"},
		{"/api/schedule", `{"name": "nightly", "action": "pause"}`, "queue.PauseSchedule {nightly}", "schedule nightly is paused"},
		{"/api/schedule", `{"name": "nightly", "action": "resume"}`, "queue.ResumeSchedule {nightly}", "schedule nightly goes on"},
		{"/api/promote", `{"model": "vn1d", "version": 2, "reason": "smoother"}`, anybody + " promotes vn1d@2: smoother", "version 2 is the champion of vn1d"},
		{"/api/rollback", `{"model": "vn1d"}`, anybody + " rolls back vn1d", "version 1 is the champion of vn1d again"},
	} {
		status, body := s.post(t, c.path, c.body)
		if status != http.StatusOK || w.last() != c.did || !strings.Contains(body, c.detail) {
			t.Errorf("%s: %d %s, did %q", c.path, status, body, w.last())
		}
	}
	all, _ := w.events.After(journal.Position{})
	var said []string
	for _, e := range all {
		said = append(said, e.Text)
	}
	for _, want := range []string{anybody + " cancels run 3", anybody + " starts schedule nightly now", anybody + " promotes version 2 of model vn1d", anybody + " rolls model vn1d back to version 1"} {
		if !strings.Contains(strings.Join(said, "\n"), want) {
			t.Errorf("the journal does not say %q: %q", want, said)
		}
	}
}

// What is no request of this page has no effect.
func TestBadRequests(t *testing.T) {
	w := newWorld(8)
	s := serve(t, w.source(), nil)
	const right = `{"worker": "host-0001"}`
	for name, c := range map[string]struct {
		path, body string
		headers    []string
		status     int
		says       string
	}{
		"unknown worker":       {"/api/drain", `{"worker": "x"}`, nil, 409, "there is no worker x"},
		"unknown action":       {"/api/schedule", `{"name": "a", "action": "explode"}`, nil, 409, "run, pause or resume"},
		"field of an old page": {"/api/drain", `{"worker": "host-0001", "now": true}`, nil, 400, "load the page again"},
		"no JSON":              {"/api/drain", `worker=host-0001`, nil, 400, "load the page again"},
		"empty":                {"/api/drain", ``, nil, 400, "load the page again"},
		"too long":             {"/api/drain", `{"worker": "` + strings.Repeat("x", 10_000) + `"}`, nil, 400, "too large"},
		"a form":               {"/api/drain", right, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "not application/json"},
		"text":                 {"/api/drain", right, []string{"Content-Type", "text/plain"}, 415, "not application/json"},
		"another site":         {"/api/drain", right, []string{"Sec-Fetch-Site", "cross-site"}, 403, ""},
		"another port":         {"/api/drain", right, []string{"Sec-Fetch-Site", "same-site"}, 403, ""},
		"another origin":       {"/api/drain", right, []string{"Origin", "http://evil.example"}, 403, ""},
		"another name":         {"/api/drain", right, []string{"Host", "evil.example"}, 421, "no other site"},
		"its own name, forged": {"/api/drain", right, []string{"Host", "localhost.evil.example", "Origin", "http://localhost.evil.example"}, 421, "no other site"},
	} {
		status, body := s.post(t, c.path, c.body, c.headers...)
		if status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	if did := w.last(); did != "" {
		t.Errorf("one of them did something: %s", did)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/api/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	if response, err := s.Client().Do(r); err != nil || response.StatusCode != http.StatusForbidden {
		t.Errorf("another site follows the events: %v, %v", response, err)
	} else {
		response.Body.Close()
	}
	for _, path := range []string{"/api/drain", "/api/none", "/elsewhere"} {
		if r, err := s.Client().Get(s.URL + path); err != nil || r.StatusCode < 400 {
			t.Errorf("GET %s: %v, %v", path, r, err)
		} else {
			r.Body.Close()
		}
	}
}

// Names by which a request may call this machine.
func TestHere(t *testing.T) {
	own, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{
		"127.0.0.1:80": true, "[::1]:80": true, "10.0.0.1": true, "localhost:9": true, "LOCALHOST": true, "a.localhost": true, own + ":80": true, strings.ToUpper(own): true,
		"evil.example:80": false, "localhost.evil.example": false, own + ".evil.example": false, "": false, "127.0.0.1.evil.example": false,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		if r.Host = host; here(r) != want {
			t.Errorf("%q: %t", host, !want)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	if r.Host, r.TLS = "evil.example", new(tls.ConnectionState); !here(r) {
		t.Error("TLS asks for a name")
	}
}

// On loopback a secured coordinator asks for its key.
func TestKey(t *testing.T) {
	w := newWorld(8)
	source := w.source()
	source.Access = Access{Key: "a-key-of-the-test", KeyFile: "/var/lib/ergoflow/page.key"}
	s := serve(t, source, nil)
	const body = `{"worker": "host-0001"}`
	for name, c := range map[string]struct {
		headers []string
		status  int
		says    string
	}{
		"no key":    {nil, 403, "give the key that is in /var/lib/ergoflow/page.key"},
		"wrong key": {[]string{"Authorization", "Bearer wrong"}, 403, "the key is not that of /var/lib/ergoflow/page.key"},
		"basic":     {[]string{"Authorization", "Basic a-key-of-the-test"}, 403, "give the key"},
		"right key": {[]string{"Authorization", "Bearer a-key-of-the-test"}, 200, "leaves"},
	} {
		if status, text := s.post(t, "/api/drain", body, c.headers...); status != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	if did := w.last(); did != "operator/local drains host-0001" {
		t.Errorf("did %q", did)
	}
	var first hello
	if err := json.Unmarshal([]byte(s.listen(t).await("hello").data), &first); err != nil || first.May || !first.TakesKey {
		t.Errorf("hello %+v, %v", first, err)
	}
}

// A certificate that no longer counts shows nothing, though the handshake took it once.
func TestCertificateNoLongerCounts(t *testing.T) {
	revoked := errors.New("it is revoked")
	for name, c := range map[string]struct {
		chain []*x509.Certificate
		check func(*x509.Certificate) error
	}{
		"none":    {nil, nil},
		"revoked": {[]*x509.Certificate{{NotAfter: time.Now().Add(time.Hour)}}, func(*x509.Certificate) error { return revoked }},
		"over":    {[]*x509.Certificate{{NotAfter: time.Now().Add(-time.Second)}}, nil},
		"foreign": {[]*x509.Certificate{{NotAfter: time.Now().Add(time.Hour)}}, nil},
	} {
		source := newWorld(1).source()
		source.Access.Check = c.check
		page := New(source)
		mux := http.NewServeMux()
		page.Register(mux)
		for _, path := range []string{"/api/events", "/api/state", "/api/me"} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
			r.TLS = &tls.ConnectionState{PeerCertificates: c.chain}
			w := httptest.NewRecorder()
			if mux.ServeHTTP(w, r); w.Code != http.StatusForbidden {
				t.Errorf("%s, %s: %d", name, path, w.Code)
			}
		}
	}
}

// BenchmarkState takes and encodes a snapshot that is there: what a second of an open page costs
// besides taking it.
func BenchmarkState(b *testing.B) {
	for _, n := range []int{200, 1000} {
		b.Run(fmt.Sprint(n, " workers"), func(b *testing.B) {
			h := newHub(newWorld(n).source(), interval)
			s := synthetic(n, 1000)
			var f *frame
			for b.Loop() {
				var err error
				if f, err = h.encode(time.Now(), s); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(f.event)), "bytes/state")
		})
	}
}
