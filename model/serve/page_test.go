package serve

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/internal/webpage/webpagetest"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// quiet is the log of a server that nobody reads.
var quiet = slog.New(slog.DiscardHandler)

// untrained is a model with random parameters.
func untrained(ctx context.Context, name string) (*Model, error) {
	e, err := experiment.ByName(name, "smoke")
	if err != nil {
		return nil, err
	}
	st := state.Fresh(e.Velocity().Layout(), 3)
	st.Normalisation = shard.Normalisation{
		"drift": {Std: 2}, "diffusion": {Mean: 1, Std: .3}, "log_time": {Std: 1}, shard.State(0): {Mean: 2, Std: .6}, shard.State(1): {Std: .6},
	}
	return open(ctx, Source{Name: name, Version: "untrained"}, e, st, "go")
}

// running is a server that listens on loopback, until stop.
type running struct {
	address string
	cancel  context.CancelFunc
	done    chan error
}

// serveOn starts a server with untrained models.
func serveOn(t *testing.T, address, token string, names ...string) *running {
	t.Helper()
	return serveWith(t, address, token, func(ctx context.Context, s *Server) error {
		for _, name := range names {
			m, err := untrained(ctx, name)
			if err != nil {
				return err
			}
			s.models.put(m)
		}
		return nil
	})
}

// serveWith starts a server whose models load adds.
func serveWith(t *testing.T, address, token string, load func(ctx context.Context, s *Server) error) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ready := make(chan struct{})
	s := New(Config{
		Backend: "go", Token: token, Timeout: 20 * time.Second, MaxBody: 1 << 20, Build: "test", Log: quiet,
		Models: func(ctx context.Context, s *Server) error {
			if err := load(ctx, s); err != nil {
				return err
			}
			close(ready)
			<-ctx.Done()
			return nil
		},
	})
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	r := &running{address: l.Addr().String(), cancel: cancel, done: make(chan error, 1)}
	go func() { r.done <- s.Serve(ctx, l) }()
	t.Cleanup(func() { r.stop(t) })
	select {
	case <-ready:
	case err := <-r.done:
		r.done <- nil
		t.Fatal("the server ended:", err)
	}
	return r
}

// stop ends the server, once.
func (r *running) stop(t *testing.T) {
	t.Helper()
	if r.cancel == nil {
		return
	}
	r.cancel()
	r.cancel = nil
	if err := <-r.done; err != nil && !errors.Is(err, context.Canceled) {
		t.Error("the server:", err)
	}
}

// tab is a tab of a browser on the page.
type tab struct{ *webpagetest.Tab }

// openTab starts a browser of its own.
func openTab(t *testing.T, address string) tab {
	t.Helper()
	return tab{webpagetest.Open(t, address)}
}

// evaluate is the value of an expression.
func evaluate[T any](b tab, expression string) T {
	b.Helper()
	return webpagetest.Evaluate[T](b.Tab, expression)
}

// What a person does in a tab, and waits for. Tests say it in long sequences, where the name of the
// package would hide the verbs.
var (
	script = webpagetest.Script
	click  = webpagetest.Click
	focus  = webpagetest.Focus
	press  = webpagetest.Press
	fill   = webpagetest.Fill
	until  = webpagetest.Until
	text   = webpagetest.Text
)

// visit opens the page, with a fragment, and waits for a verdict.
func (b tab) visit(fragment string) {
	b.Helper()
	b.Do("open the page", chromedp.Navigate("http://"+b.Address+"/"+fragment), answered)
}

// answered waits until the page shows the answer to what its fields say.
var answered = until(`document.getElementById("verdict") && document.querySelector("main").ariaBusy === "false" && !document.body.classList.contains("old")`)
