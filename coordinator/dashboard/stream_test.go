package dashboard

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/coordinator/journal"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/trusttest"
)

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
	authority := trusttest.Authority(t, "lab")
	own, viewer := trusttest.Credentials(t, authority, trust.Coordinator, "coordinator"), trusttest.Credentials(t, authority, trust.Viewer, "vera")
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
