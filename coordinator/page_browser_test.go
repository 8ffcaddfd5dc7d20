package coordinator

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/webpage/webpagetest"
)

// A page that is open while a worker is killed, another is drained by a click, and the coordinator
// starts again, shows all of that and goes on.
func TestPageInABrowser(t *testing.T) {
	dir := t.TempDir()
	open := func(c *Config) { c.HTTP = "127.0.0.1:0" }
	s := startWith(t, dir, open)
	makeShards(t, dir, 0, 1, 2, 3, 4)
	a, b, c := connect(t, s, "a", -1), connect(t, s, "b", -1), connect(t, s, "c", -1)
	s.submit(endless, wire.Stage_STAGE_TRAIN)
	tab := webpagetest.Open(t, s.HTTP)
	tab.Expect("ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_EMPTY_RESPONSE")
	text := func(id, part string) webpagetest.Action {
		return webpagetest.Until(fmt.Sprintf(`document.getElementById(%q)?.textContent.includes(%q)`, id, part))
	}
	rows := func(n int) webpagetest.Action {
		return webpagetest.Until(fmt.Sprintf(`document.querySelectorAll("#workers tbody tr").length === %d && document.querySelectorAll("#map .node").length === %d`, n, n))
	}
	act := func(label, done string) webpagetest.Action {
		return chromedp.Steps(webpagetest.Until(fmt.Sprintf(`document.querySelector('[aria-label=%q]')`, label)), webpagetest.Click(fmt.Sprintf(`[aria-label=%q]`, label)),
			webpagetest.Until(`document.getElementById("ask").open`), webpagetest.Click("#ask-yes"), text("done", done))
	}
	tab.Do("open the page", chromedp.Navigate("http://"+s.HTTP), rows(3), text("runstate", "training"), text("facts", "3 workers"))
	b.kill()
	tab.Do("see the loss", rows(2), text("log", "lost worker b"), text("facts", "2 workers"))
	tab.Do("drain c", act("Drain c", "worker c leaves"), rows(1), text("log", "somebody at the page drains worker c"))
	<-c.done

	a.kill()
	s.close()
	tab.Do("the coordinator is gone", webpagetest.Until(`!document.getElementById("banner").hidden`))
	s = startWith(t, dir, open)
	connect(t, s, "a", 10)
	tab.Do("it is back", webpagetest.Until(`document.getElementById("banner").hidden`), text("log", "has started again"), text("log", "lost worker b"), rows(1), text("runstate", "training"))
	tab.Do("cancel the run", act("Cancel run 1", "run 1 is cancelled"), text("log", "somebody at the page cancels run 1"), text("queue", "cancelled"))
	s.awaitRun(1, queue.Ended, queue.Cancelled)
}
