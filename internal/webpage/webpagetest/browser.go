package webpagetest

import (
	"context"
	"flag"
	"fmt"
	"math"
	"net/url"
	"os"
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
)

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

// Tab is a tab of a browser on the page, and what went wrong in it.
type Tab struct {
	*testing.T
	Browser context.Context // of the tab
	Address string          // of the page, host:port

	mu       sync.Mutex
	wrong    []string
	expected []string // parts of messages that a test causes
}

// Open starts a browser of its own, whose clock and screen are the system's.
func Open(t *testing.T, address string) *Tab {
	t.Helper()
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(browser(t)),
		chromedp.NoSandbox, chromedp.Flag("disable-dev-shm-usage", true), chromedp.DisableGPU, chromedp.WindowSize(1280, 1000))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &Tab{T: t, Browser: ctx, Address: address}
	b.watch()
	t.Cleanup(b.clean)
	return b
}

// Another opens another tab of the same browser.
func (b *Tab) Another() *Tab {
	ctx, cancel := chromedp.NewContext(b.Browser)
	b.Cleanup(cancel)
	other := &Tab{T: b.T, Browser: ctx, Address: b.Address}
	other.watch()
	b.Cleanup(other.clean)
	return other
}

// watch notes errors of the console and requests to other hosts.
func (b *Tab) watch() {
	note := func(format string, args ...any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.wrong = append(b.wrong, fmt.Sprintf(format, args...))
	}
	err := chromedp.Listen(b.Browser, func(event any) {
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
			if err != nil || u.Host != "" && u.Host != b.Address {
				note("request to another host: %s", e.Request.URL)
			}
		}
	})
	if err != nil {
		b.Fatal(err)
	}
}

// clean fails the test if anything went wrong that it did not cause.
func (b *Tab) clean() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.wrong {
		if !slices.ContainsFunc(b.expected, func(part string) bool { return strings.Contains(w, part) }) {
			b.Error(w)
		}
	}
}

// Expect says that a test causes such errors.
func (b *Tab) Expect(parts ...string) { b.expected = append(b.expected, parts...) }

// Do runs actions; if they fail it shows what the page says.
func (b *Tab) Do(what string, actions ...Action) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Browser, time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		late, cancel := context.WithTimeout(b.Browser, 5*time.Second)
		defer cancel()
		text, _ := chromedp.Run(late, chromedp.Evaluate[string](`document.body.innerText`))
		b.mu.Lock()
		defer b.mu.Unlock()
		b.Fatalf("%s: %v\nthe page says:\n%s\nwrong: %v", what, err, text, b.wrong)
	}
}

// Action is a step in a tab.
type Action = chromedp.Action[chromedp.Void]

// Script runs JavaScript.
func Script(source string) Action { return chromedp.Evaluate[chromedp.Void](source) }

// Click, Focus and Press are what a person does.
func Click(selector string) Action { return chromedp.Click(chromedp.CSS(selector)) }

func Focus(selector string) Action { return chromedp.Focus(chromedp.CSS(selector)) }

func Press(keys string) Action { return chromedp.KeyEvent(keys) }

// System says whether the system is dark.
func System(scheme string) Action {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	})
}

// Screen sets the size of the page, and the screen's pixels for each of its own.
func Screen(width, height int64, scale float64) Action {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: width, Height: height, DeviceScaleFactor: scale, Mobile: width < 600,
		})
		return err
	})
}

// Until waits for a JavaScript condition.
func Until(condition string) Action {
	return chromedp.Poll[chromedp.Void](condition, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(20*time.Second))
}

// Text waits until an element has a text.
func Text(id, part string) Action {
	return Until(fmt.Sprintf(`document.getElementById(%q)?.innerText.includes(%q)`, id, part))
}

// Fill types a text in place of the one in a field.
func Fill(selector, value string) Action {
	return chromedp.Steps(Focus(selector), Script(`document.activeElement.select()`), Press(value))
}

// Evaluate is the value of an expression.
func Evaluate[T any](b *Tab, expression string) T {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Browser, 20*time.Second)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return v
}

// Shot takes a picture of the page, whose height is that of its content up to a limit, once
// settled holds.
func (b *Tab) Shot(path string, width, most int64, scale float64, settled Action) {
	b.Helper()
	b.Do("set the size", Screen(width, 800, scale), Until(fmt.Sprint("innerWidth === ", width)))
	height := min(most, int64(math.Ceil(Evaluate[float64](b, `document.documentElement.getBoundingClientRect().height`))))
	b.Do("set the height", Script(`document.activeElement.blur(); scrollTo(0, 0)`), Screen(width, height, scale), Until(fmt.Sprint("innerHeight === ", height)), settled,
		Until(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`))
	picture, err := chromedp.Run(b.Browser, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(path, picture, 0o644)
	}
	if err != nil {
		b.Fatal(err)
	}
}
