package serve

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// quiet is the log of a server that nobody reads.
var quiet = slog.New(slog.DiscardHandler)

var pageFlag = flag.Bool("page", false, "fail where there is no browser for the tests of the page")

// browser is the path of a Chrome or Chromium.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if *pageFlag {
		t.Fatal("there is no chromium: install it with apt-get install -y chromium")
	}
	t.Skip("there is no chromium: apt-get install -y chromium, then make test-page")
	return ""
}

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

// tab is a tab of a browser on the page, and what went wrong in it.
type tab struct {
	*testing.T
	ctx     context.Context
	address string

	mu       sync.Mutex
	wrong    []string
	expected []string // parts of messages that a test causes
}

// openTab starts a browser of its own, whose clock and screen are the system's.
func openTab(t *testing.T, address string) *tab {
	t.Helper()
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(browser(t)),
		chromedp.NoSandbox, chromedp.Flag("disable-dev-shm-usage", true), chromedp.DisableGPU, chromedp.WindowSize(1280, 1000))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &tab{T: t, ctx: ctx, address: address}
	b.watch()
	t.Cleanup(b.clean)
	return b
}

// another opens another tab of the same browser.
func (b *tab) another() *tab {
	ctx, cancel := chromedp.NewContext(b.ctx)
	b.Cleanup(cancel)
	other := &tab{T: b.T, ctx: ctx, address: b.address}
	other.watch()
	b.Cleanup(other.clean)
	return other
}

// watch notes errors of the console and requests to other hosts.
func (b *tab) watch() {
	note := func(format string, args ...any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.wrong = append(b.wrong, fmt.Sprintf(format, args...))
	}
	err := chromedp.Listen(b.ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			note("exception: %s %v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception)
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
				note("console: %v", e.Args)
			}
		case *cdplog.EventEntryAdded:
			if e.Entry.Level == cdplog.EntryLevelError {
				note("log: %s %s", e.Entry.Text, e.Entry.URL)
			}
		case *network.EventRequestWillBeSent:
			u, err := url.Parse(e.Request.URL)
			if err != nil || u.Host != "" && u.Host != b.address {
				note("request to another host: %s", e.Request.URL)
			}
		}
	})
	if err != nil {
		b.Fatal(err)
	}
}

// clean fails the test if anything went wrong that it did not cause.
func (b *tab) clean() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.wrong {
		if !slices.ContainsFunc(b.expected, func(part string) bool { return strings.Contains(w, part) }) {
			b.Error(w)
		}
	}
}

// expect says that a test causes such errors.
func (b *tab) expect(parts ...string) { b.expected = append(b.expected, parts...) }

// do runs actions; if they fail it shows what the page says.
func (b *tab) do(what string, actions ...action) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		late, cancel := context.WithTimeout(b.ctx, 5*time.Second)
		defer cancel()
		text, _ := chromedp.Run(late, chromedp.Evaluate[string](`document.body.innerText`))
		b.mu.Lock()
		defer b.mu.Unlock()
		b.Fatalf("%s: %v\nthe page says:\n%s\nwrong: %v", what, err, text, b.wrong)
	}
}

// action is a step in a tab.
type action = chromedp.Action[chromedp.Void]

// script runs JavaScript.
func script(source string) action { return chromedp.Evaluate[chromedp.Void](source) }

// click, focus and press are what a person does.
func click(selector string) action { return chromedp.Click(chromedp.CSS(selector)) }

func focus(selector string) action { return chromedp.Focus(chromedp.CSS(selector)) }

func press(keys string) action { return chromedp.KeyEvent(keys) }

// system says whether the system is dark.
func system(scheme string) action {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	})
}

// screen sets the size of the page, and the screen's pixels for each of its own.
func screen(width, height int64, scale float64) action {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: width, Height: height, DeviceScaleFactor: scale, Mobile: width < 600,
		})
		return err
	})
}

// until waits for a JavaScript condition.
func until(condition string) action {
	return chromedp.Poll[chromedp.Void](condition, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(20*time.Second))
}

// visit opens the page, with a fragment, and waits for a verdict.
func (b *tab) visit(fragment string) {
	b.Helper()
	b.do("open the page", chromedp.Navigate("http://"+b.address+"/"+fragment), answered)
}

// answered waits until the page shows the answer to what its fields say.
var answered = until(`document.getElementById("verdict") && document.querySelector("main").ariaBusy === "false" && !document.body.classList.contains("old")`)

// text waits until an element has a text.
func text(id, part string) action {
	return until(fmt.Sprintf(`document.getElementById(%q)?.innerText.includes(%q)`, id, part))
}

// fill types a text in place of the one in a field.
func fill(selector, value string) action {
	return chromedp.Steps(focus(selector), script(`document.activeElement.select()`), press(value))
}

// evaluate is the value of an expression.
func evaluate[T any](b *tab, expression string) T {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Second)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return v
}
