package dashboard

import (
	"context"
	"flag"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/coordinator/journal"
	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/internal/webpage"
	"github.com/ergoflow/ergoflow/internal/webpage/webpagetest"
)

func TestFiles(t *testing.T) { webpagetest.CheckFiles(t, webpage.Load(static), "/metrics") }

// What a person does in a tab, and waits for. Tests say it in long sequences, where the name of the
// package would hide the verbs.
var (
	script = webpagetest.Script
	click  = webpagetest.Click
	focus  = webpagetest.Focus
	press  = webpagetest.Press
	fill   = webpagetest.Fill
	until  = webpagetest.Until
)

// text waits until an element has a text, seen or scrolled away.
func text(id, part string) webpagetest.Action {
	return until(fmt.Sprintf(`document.getElementById(%q)?.textContent.includes(%q)`, id, part))
}

// drawn waits until the page shows a state.
var drawn = until(`document.getElementById("main")?.ariaBusy === "false"`)

// busy is a cluster in which everything is to be seen.
func busy(workers, step int) State {
	s := synthetic(workers, step)
	now := time.Now().UTC().Truncate(time.Hour)
	train := func(id queue.ID, state queue.State, name string) queue.Run {
		return queue.Run{ID: id, Kind: queue.Train, State: state, Name: name, Submitted: now, Started: now}
	}
	failed := train(2, queue.Ended, "rare1d/full")
	failed.Outcome, failed.Reason, failed.Ended = queue.Failed, "training diverged: the loss is not finite at step 412", now
	s.Queue = []queue.Run{train(1, queue.Running, "vn1d/test"), train(3, queue.Waiting, "cn2d/full"), failed}
	s.Waiting = 1
	nightly := queue.ScheduleStatus{Schedule: queue.Schedule{Name: "nightly", Spec: "30 2 * * *", Zone: "Europe/Berlin", Last: &queue.Result{Run: 2, Ended: now, Outcome: queue.Done, Reason: "the champion stays"}},
		Next: []time.Time{now.Add(9 * time.Hour)}}
	weekly := queue.ScheduleStatus{Schedule: queue.Schedule{Name: "weekly", Spec: "0 4 * * 0", Zone: "UTC", Failures: 2, Why: "by a person"}, Next: []time.Time{}}
	weekly.Paused = true
	s.Schedules, s.Scheduled = []queue.ScheduleStatus{nightly, weekly}, 2
	for i := range 3 {
		s.Checkpoints = append(s.Checkpoints, checkpoint.Info{ID: fmt.Sprint("c", i), Run: "run1", Experiment: "vn1d/test", Step: ergoflow.Step(3000 - 1000*i), Loss: 0.25, Size: 11 << 20, Time: now})
	}
	s.Security.Refusals = 3
	s.Security.Refused = []Refusal{{now, "10.0.0.9", "the certificate is of another cluster", 3}}
	if workers > 3 {
		s.Workers[3].State, s.Workers[3].Rank, s.Workers[3].Phases, s.Workers[3].Doing = "preparing", -1, nil, "compiles"
	}
	return s
}

// open opens the page of a source in a browser.
func open(t *testing.T, s site) *webpagetest.Tab {
	t.Helper()
	b := webpagetest.Open(t, s.Listener.Addr().String())
	b.Do("open the page", chromedp.Navigate(s.URL), drawn)
	return b
}

// Two hundred workers are shown, the straggler stands out, and an update costs little.
func TestPageOfManyWorkers(t *testing.T) {
	w := newWorld(0)
	w.set(busy(200, 1))
	s := serve(t, w.source(), func(p *Server, _ *http.Server) { p.hub.interval = 100 * time.Millisecond })
	b := open(t, s)
	rows := `document.querySelectorAll("#workers tbody tr").length`
	b.Do("all rows", until(rows+` === 200 && document.querySelectorAll("#map .node").length === 200`))
	if got := webpagetest.Evaluate[string](b, `[...document.querySelectorAll("#workers tr.slow th + td")].map((e) => e.textContent).join()`); got != "host-0007-7072-5e1f09c4" {
		t.Errorf("slow: %s", got)
	}
	if got := webpagetest.Evaluate[string](b, `document.querySelector("#map .slow.awaited")?.dataset.id`); got != "host-0007-7072-5e1f09c4" {
		t.Errorf("awaited: %s", got)
	}
	b.Do("see for whom they wait", text("waits", "wait for host-0007"), text("headline", "host-0007-7072-5e1f09c4 is slow"))
	b.Do("sort by own part", click(`[data-sort="own"]`), until(`document.querySelector("#workers tbody td").textContent.startsWith("host-0007")`))
	b.Do("sort the other way", click(`[data-sort="own"]`), until(`document.querySelector("#workers tbody tr:last-child td").textContent.startsWith("host-0007")`))
	b.Do("find one", fill("#find", "host-0042"), until(rows+` === 1`), text("workercount", "1 of 200"))
	b.Do("find all", fill("#find", " "), press(kb.Backspace), until(rows+` === 200`))
	var times []float64
	for step := 2; step < 40; step++ {
		w.set(busy(200, step))
		b.Do("see a step", text("facts", fmt.Sprintf("%d of 100,000", step)))
		times = append(times, webpagetest.Evaluate[float64](b, `page.took`))
	}
	f, _ := s.page.hub.newest()
	slices.Sort(times)
	t.Logf("an update of 200 workers has %d bytes, and took %.1f ms to show (median; at most %.1f), without layout", len(f.event), times[len(times)/2], times[len(times)-1])
	if len(f.event) > 100_000 {
		t.Errorf("an update has %d bytes", len(f.event))
	}
	w.set(busy(150, 50))
	b.Do("workers leave", until(rows+` === 150 && document.querySelectorAll("#map .node").length === 150`))
}

// The buttons ask, and then do what they say.
func TestPageButtons(t *testing.T) {
	w := newWorld(0)
	w.set(busy(8, 1))
	s := serve(t, w.source(), nil)
	b := open(t, s)
	b.Do("ask to drain, and do not", click(`[aria-label="Drain host-0001-7072-5e1f09c4"]`), until(`document.getElementById("ask").open`), text("ask-title", "Drain host-0001"),
		click(`#ask [value="cancel"]`), until(`!document.getElementById("ask").open`))
	if did := w.last(); did != "" {
		t.Errorf("it did %s", did)
	}
	for label, want := range map[string]string{
		"Drain host-0001-7072-5e1f09c4": anybody + " drains host-0001-7072-5e1f09c4",
		"Cancel run 3":                  "queue.Cancel {3}",
		"Run now: nightly":              "queue.RunSchedule {nightly }",
		"Pause: nightly":                "queue.PauseSchedule {nightly}",
		"Resume: weekly":                "queue.ResumeSchedule {weekly}",
		"Promote vn1d@3":                anybody + " promotes vn1d@3: promoted on the page",
		"Roll back vn1d":                anybody + " rolls back vn1d",
	} {
		there := fmt.Sprintf(`[aria-label="%s"]:not([hidden])`, label)
		b.Do(label, until(fmt.Sprintf("document.querySelector('%s')", there)), click(there), until(`document.getElementById("ask").open`),
			click("#ask-yes"), until(`!document.getElementById("ask").open`), text("done", "Done: "), script(`document.getElementById("done").textContent = document.getElementById("done").said = ""`))
		if did := w.last(); did != want {
			t.Errorf("%s: it did %q, want %q", label, did, want)
		}
	}
	b.Expect("status of 409")
	gone := busy(8, 2)
	gone.Workers[2].ID = "ghost" // the source does not know it
	w.set(gone)
	b.Do("drain one that is gone", until(`document.querySelector('[aria-label="Drain ghost"]')`), click(`[aria-label="Drain ghost"]`), until(`document.getElementById("ask").open`), click("#ask-yes"),
		text("done", "Not done: there is no worker ghost"))
	b.Do("run 2 has ended", until(`document.querySelector('[aria-label="Cancel run 2"]').hidden`))
}

// Who may not change something sees why. The page asks for the key, and asks again if it is wrong.
func TestPageKey(t *testing.T) {
	w := newWorld(0)
	w.set(busy(3, 1))
	source := w.source()
	source.Access = Access{Key: "a-key-of-the-test", KeyFile: "/var/lib/ergoflow/page.key"}
	s := serve(t, source, nil)
	b := open(t, s)
	drain := `document.querySelector('[aria-label="Drain host-0001-7072-5e1f09c4"]')`
	b.Do("the buttons are off", text("rights", "give the key that is in /var/lib/ergoflow/page.key"), until(drain+`.disabled && `+drain+`.title.includes("needs an operator")`))
	b.Do("give a wrong key", click("#givekey"), until(`document.getElementById("key").open`), press("wrong"), press(kb.Enter), until(`document.getElementById("key").open && !document.getElementById("keywrong").hidden`))
	b.Do("give the right one", fill("#keyvalue", "a-key-of-the-test"), press(kb.Enter), until(`!`+drain+`.disabled && document.getElementById("rights").hidden`))
	b.Do("drain", click(`[aria-label="Drain host-0001-7072-5e1f09c4"]`), until(`document.getElementById("ask").open`), click("#ask-yes"), text("done", "Done: "))
	if did := w.last(); did != "operator/local drains host-0001-7072-5e1f09c4" {
		t.Errorf("it did %s", did)
	}
	b.Do("load the page again", chromedp.Reload(), drawn, until(`!`+drain+`.disabled`))
}

// Events are filtered by topic, by warning and by text, also those that come later.
func TestPageLog(t *testing.T) {
	w := newWorld(2)
	add := func(topic journal.Topic, warning bool, text string) { w.events.Add(time.Now(), topic, warning, text) }
	add(journal.Training, false, "generation 1 forms of a, b")
	add(journal.Queue, false, "run 1 begins")
	add(journal.Security, true, "refused: from 10.0.0.9")
	s := serve(t, w.source(), nil)
	b := open(t, s)
	shown := func(n int) webpagetest.Action {
		return until(fmt.Sprintf(`[...document.querySelectorAll("#log li")].filter((e) => !e.hidden).length === %d`, n))
	}
	b.Do("all", shown(3), text("logcount", "3 events"))
	b.Do("no queue", click("#topic-queue"), shown(2), text("logcount", "2 of 3"))
	add(journal.Queue, false, "run 1 is done")
	add(journal.Training, true, "lost worker b: the stream broke")
	b.Do("later ones", shown(3), text("log", "lost worker b"))
	b.Do("warnings", click("#warnings"), shown(2))
	b.Do("text", fill("#search", "LOST"), shown(1))
	b.Do("all again", fill("#search", " "), press(kb.Backspace), click("#warnings"), click("#topic-queue"), shown(5))
	if first := webpagetest.Evaluate[string](b, `document.querySelector("#log li .said").textContent`); first != "lost worker b: the stream broke" {
		t.Errorf("the newest is not first, but %s", first)
	}
	for i := range 2 * journal.Kept {
		add(journal.Data, false, fmt.Sprint("shard ", i))
	}
	b.Do("many", until(fmt.Sprintf(`document.querySelector("#log li .said").textContent === "shard %d"`, 2*journal.Kept-1)), shown(2000))
}

// The page follows the system's choice and its own switch, fits on a narrow screen, and can be
// used by keys alone; every control has a name.
func TestPageForEverybody(t *testing.T) {
	w := newWorld(0)
	w.set(busy(12, 1))
	w.events.Add(time.Now(), journal.Training, true, "a sentence with averylongwordindeed"+strings.Repeat("averylongwordindeed", 8))
	b := open(t, serve(t, w.source(), nil))
	dark := `getComputedStyle(document.body).backgroundColor === "rgb(20, 23, 28)"`
	b.Do("let the system be dark", webpagetest.System("dark"), until(dark))
	b.Do("switch", click("#theme"), until("!("+dark+")"))
	b.Do("narrow", webpagetest.Screen(360, 700, 2), until(`innerWidth === 360 && document.querySelector("#loss canvas").clientWidth < 360`))
	if wide := webpagetest.Evaluate[string](b, `document.documentElement.scrollWidth <= 360 ? "" : [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > 360 && !e.closest(".scroll")).map((e) => e.tagName + "#" + e.id + "." + e.className).join()`); wide != "" {
		t.Errorf("too wide: %s", wide)
	}
	nameless := webpagetest.Evaluate[string](b, `[...document.querySelectorAll("input, select, button")].filter((e) => !(e.labels?.length || e.getAttribute("aria-label") || e.textContent.trim())).map((e) => e.outerHTML).join("\n")`)
	if nameless != "" {
		t.Errorf("without a name:\n%s", nameless)
	}
	b.Do("wide again", webpagetest.Screen(1280, 1000, 1), script(`document.activeElement.blur()`))
	reached := map[string]bool{}
	for range 90 {
		b.Do("press Tab", press(kb.Tab))
		id := webpagetest.Evaluate[string](b, `document.activeElement.id || document.activeElement.getAttribute("aria-label") || document.activeElement.dataset.sort || document.activeElement.className`)
		reached[id] = true
		if outline := webpagetest.Evaluate[string](b, `document.activeElement === document.body ? "3px" : getComputedStyle(document.activeElement).outlineWidth`); outline != "3px" {
			t.Errorf("the focus on %s has an outline of %s", id, outline)
		}
	}
	for _, id := range []string{"skip", "theme", "find", "own", "Drain host-0001-7072-5e1f09c4", "Cancel run 3", "Run now: nightly", "topic-queue", "warnings", "search", "log"} {
		if !reached[id] {
			t.Errorf("Tab does not reach %s (it reaches %v)", id, reached)
		}
	}
	b.Do("drain by keys", focus(`[aria-label="Drain host-0002-7072-5e1f09c4"]`), press(kb.Enter), until(`document.getElementById("ask").open`), press(kb.Enter), text("done", "Done: "))
}

// A page says when the coordinator is gone, goes on when it is back, and when that has another page.
func TestPageGone(t *testing.T) {
	w := newWorld(2)
	w.events.Add(time.Now(), journal.Training, false, "before")
	first := serve(t, w.source(), nil)
	address := first.Listener.Addr().String()
	b := open(t, first)
	b.Expect("ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_EMPTY_RESPONSE")
	b.Do("live", text("live", "live"), text("log", "before"))
	first.stop()
	b.Do("gone", until(`!document.getElementById("banner").hidden`), text("live", "gone"), until(`document.getElementById("main").classList.contains("old")`))
	other := newWorld(3)
	other.events.Add(time.Now(), journal.Training, false, "after")
	serveAt(t, address, other.source(), func(p *Server, _ *http.Server) { p.build = "another" })
	b.Do("back", until(`document.getElementById("banner").hidden`), text("log", "after"), text("log", "before"), text("log", "has started again"), text("workercount", "3"),
		until(`!document.getElementById("older").hidden`))
	b.Do("load the new page", script(`window.old = true`), click("#reload"))
	for loaded := false; !loaded; { // the browser replaces the page while the test asks
		ctx, cancel := context.WithTimeout(b.Browser, time.Minute)
		v, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`!window.old && document.getElementById("main")?.ariaBusy === "false"`))
		loaded = err == nil && v
		if ctx.Err() != nil {
			t.Fatal("the page is not loaded again:", err)
		}
		cancel()
	}
	b.Do("it is the new one", until(`document.getElementById("older").hidden`))
}

// heap is the size of what the page holds after garbage collection, in JavaScript and in elements, in bytes.
func heap(t *testing.T, b *webpagetest.Tab) float64 {
	t.Helper()
	var used float64
	b.Do("collect garbage", chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		if _, err := cdp.Call(ctx, target, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
			return err
		}
		usage, err := cdp.Call(ctx, target, runtime.GetHeapUsage, cdp.Empty{})
		used = usage.UsedSize + usage.EmbedderHeapUsedSize
		return err
	}))
	return used
}

// A page that has seen thousands of updates, with workers that come and go, is no larger than one
// that has seen as many as it keeps.
func TestPageDoesNotGrow(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a page draws fifteen hundred updates, in half a minute")
	}
	w := newWorld(0)
	for i := range 2000 {
		w.events.Add(time.Now(), journal.Data, false, fmt.Sprint("shard ", i))
	}
	source := w.source()
	var step atomic.Int32
	source.State = func(bool) (State, bool) {
		n := int(step.Add(1))
		next := busy(20, n)
		next.Workers = next.Workers[n%10:] // some come and go
		w.events.Add(time.Now(), journal.Training, n%7 == 0, fmt.Sprintf("generation %d makes step %d", n/50, n))
		return next, true
	}
	s := serve(t, source, func(p *Server, _ *http.Server) {
		p.hub.interval, p.limits.pause = 20*time.Millisecond, time.Millisecond
	})
	b := open(t, s)
	// size is the least of three sizes, a hundred updates apart: single ones differ by a tenth.
	size := func(drawn int) (bytes float64, elements int) {
		t.Helper()
		bytes = math.Inf(1)
		for n := 0; n < drawn; { // by and by: each question leaves a little in the browser
			n = min(drawn, n+100)
			b.Do("see updates", until(fmt.Sprint("page.drawn >= ", n)))
			if drawn-n <= 200 {
				bytes = min(bytes, heap(t, b))
			}
		}
		return bytes, webpagetest.Evaluate[int](b, `document.querySelectorAll("*").length`)
	}
	const begin = 900 // by then the page has as many points and events as it keeps
	before, elements := size(begin)
	after, more := size(begin + *updates)
	now := webpagetest.Evaluate[[]int](b, `[page.points(), page.events(), page.drawn]`)
	t.Logf("after %d updates %.1f MB and %d elements, after %d updates, of %d states, %.1f MB and %d elements; %d points, %d events",
		begin, before/1e6, elements, now[2], step.Load(), after/1e6, more, now[0], now[1])
	if after > 1.1*before || more > elements+400 || now[0] > 600 || now[1] > 2000 {
		t.Error("the page grows")
	}
}

var updates = flag.Int("dashboard.updates", 600, "number of updates in the test of the page's memory")
