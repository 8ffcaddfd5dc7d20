package dashboard

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/coordinator/journal"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/queue"
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
