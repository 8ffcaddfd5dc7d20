package dashboard

import (
	"flag"
	"fmt"
	"net/http"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/ergoflow/ergoflow/coordinator/journal"
	"github.com/ergoflow/ergoflow/internal/webpage/webpagetest"
)

var (
	shots = flag.String("dashboard.shots", "", "directory for pictures of the page, for docs/dashboard.md")
	pause = flag.Bool("dashboard.pause", false, "stop the coordinator's process for the picture of a page without it, and let it go on")
	live  = flag.String("dashboard.live", "", "host:port of a coordinator's page, for the pictures of a run")
)

// The pictures of docs/dashboard.md: of a run whose coordinator is at -dashboard.live, and of 200
// simulated workers.
func TestPageShots(t *testing.T) {
	if *shots == "" {
		t.Skip("no pictures are wanted: -dashboard.shots DIR -dashboard.live HOST:PORT")
	}
	shot := func(b *webpagetest.Tab, name string, width, most int64) {
		b.Shot(filepath.Join(*shots, name+".png"), width, most, 1, drawn)
	}
	w := newWorld(0)
	s := serve(t, w.source(), func(p *Server, _ *http.Server) { p.hub.interval = 10 * time.Millisecond })
	w.set(busy(200, 1))
	b := open(t, s)
	for step := 2; step < 60; step++ {
		w.set(busy(200, step))
		w.events.Add(time.Now(), journal.Training, step%20 == 0, fmt.Sprintf("generation 3 makes step %d, 300ms after the last one", step))
		b.Do("see a step", text("facts", fmt.Sprint(step, " of 100,000")))
	}
	b.Do("sort", click(`[data-sort="own"]`))
	shot(b, "many", 1280, 890)
	if *live == "" {
		return
	}
	b = webpagetest.Open(t, *live)
	b.Do("open the page", chromedp.Navigate("http://"+*live), drawn, until(`page.points() > 20`))
	shot(b, "light", 1280, 1210)
	b.Do("dark", click("#theme"))
	shot(b, "dark", 1280, 420)
	b.Do("light", click("#theme"))
	shot(b, "narrow", 360, 600)
	if !*pause {
		return
	}
	pid := webpagetest.Evaluate[int](b, `Number(document.getElementById("about").textContent.match(/\d+$/)[0])`)
	b.Expect("ERR_")
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	}()
	b.Do("it is gone", until(`!document.getElementById("banner").hidden`))
	shot(b, "gone", 1280, 260)
}
