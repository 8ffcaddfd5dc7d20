package serve

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/ergoflow/ergoflow/internal/webpage/webpagetest"
)

// The switch turns the page dark and light; without a choice the page follows the system.
func TestPageDark(t *testing.T) {
	b := onLine(t)
	dark := `getComputedStyle(document.body).backgroundColor === "rgb(20, 23, 28)"`
	if evaluate[bool](b, dark) {
		t.Error("the page is dark at first")
	}
	b.Do("let the system be dark", webpagetest.System("dark"), until(dark),
		until(`document.getElementById("theme").getAttribute("aria-pressed") === "true"`))
	b.Do("switch", click("#theme"), until("!("+dark+")"))
	b.Do("switch back", click("#theme"), until(dark))
	b.Do("let the system be light", webpagetest.System("light"), chromedp.Reload(), answered, until(dark))
}

// A screen of 375 pixels needs no scrolling to the side, with everything open.
func TestPageNarrow(t *testing.T) {
	b := onLine(t)
	b.Expect(unprocessable)
	b.Do("narrow", webpagetest.Screen(375, 700, 2), until(`innerWidth === 375 && document.querySelector("#chart canvas").clientWidth < 375`),
		script(`document.querySelectorAll("details").forEach((d) => { d.open = true; })`))
	check := func(when string) {
		t.Helper()
		if wide := evaluate[string](b, `document.documentElement.scrollWidth <= 375 ? "" : [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > 375 && !e.closest(".scroll")).map((e) => e.tagName + "#" + e.id + "." + e.className).join()`); wide != "" {
			t.Errorf("%s: %s", when, wide)
		}
	}
	check("after an answer")
	b.Do("copy the command", click("#curl"), until(`!document.getElementById("copied").hidden`))
	b.Do("type a long wrong formula", fill("#drift-0", "-x+0*averylongnameindeed*averylongnameindeed2*averylongnameindeed3*sin(x))"), until(`!document.getElementById("drift-0-error").hidden`))
	check("after an error")
}

// The keyboard alone reaches everything, and the focus can be seen.
func TestPageKeyboard(t *testing.T) {
	b := onLine(t)
	b.Do("focus the page", script(`document.activeElement.blur()`))
	reached := map[string]bool{}
	for range 60 {
		b.Do("press Tab", press(kb.Tab))
		id := evaluate[string](b, `document.activeElement.id || document.activeElement.parentElement?.id || document.activeElement.className`)
		if reached[id] && id == "skip" {
			break
		}
		reached[id] = true
		if outline := evaluate[string](b, `document.activeElement === document.body ? "3px" : getComputedStyle(document.activeElement).outlineWidth`); outline != "3px" {
			t.Errorf("the focus on %s has an outline of %s", id, outline)
		}
	}
	for _, id := range []string{"skip", "model", "theme", "preset", "drift-0", "diffusion-0", "parameter-theta", "settings", "run", "repair", "mend", "checks", "curve-exact", "chain", "share", "csv", "npy", "png", "curl"} {
		if !reached[id] {
			t.Errorf("Tab does not reach %s (it reaches %v)", id, reached)
		}
	}
	b.Do("run by Enter", script(`document.getElementById("made").textContent = ""`), focus("#drift-0"), press(kb.Enter), text("made", "4,096 samples"))
	b.Do("hide a curve by Space", focus("#curve-exact"), press(" "), until(`!document.getElementById("curve-exact").checked`))
}

// Every control has a name, and every change is told to a screen reader.
func TestPageNames(t *testing.T) {
	b := onLine(t)
	nameless := evaluate[string](b, `[...document.querySelectorAll("input, select, button, textarea")].filter((e) => !(e.labels?.length || e.getAttribute("aria-label") || e.innerText.trim()) && !e.closest("dialog")).map((e) => e.outerHTML).join("\n")`)
	if nameless != "" {
		t.Errorf("without a name:\n%s", nameless)
	}
	for id, live := range map[string]string{"certificate": "polite", "working": "polite", "drift-0-error": "polite"} {
		if got := evaluate[string](b, `document.getElementById("`+id+`").getAttribute("aria-live")`); got != live {
			t.Errorf("aria-live of %s is %q", id, got)
		}
	}
}

// A server that goes is named, and when it comes back the page goes on.
func TestPageServerGone(t *testing.T) {
	b := openTab(t, "")
	server := serveOn(t, "127.0.0.1:0", "", "vn1d")
	b.Address = server.address
	b.visit("")
	b.Expect("ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_INCOMPLETE_CHUNKED_ENCODING", "status of 503", "ERR_EMPTY_RESPONSE")
	b.Do("start the chains", click("#chain"), text("chainstate", "steps of"))
	server.stop(t)
	b.Do("ask", fill("#drift-0", "-2*x"), text("banner", "asks again"), text("chain", "Start chains"))
	serveOn(t, server.address, "", "vn1d")
	b.Do("wait for the server", until(`document.getElementById("banner").hidden`), answered)
	if got := evaluate[string](b, `document.getElementById("drift-0").value`); got != "-2*x" {
		t.Errorf("the drift is %s", got)
	}
}

// The token is asked for once, and again if it is wrong.
func TestPageToken(t *testing.T) {
	b := openTab(t, "")
	b.Address = serveOn(t, "127.0.0.1:0", "a-token-for-the-test", "vn1d").address
	b.Expect("status of 401")
	b.Do("open the page", chromedp.Navigate("http://"+b.Address+"/"), until(`document.getElementById("token").open`))
	b.Do("give a wrong token", press("wrong"), press(kb.Enter), until(`document.getElementById("token").open && !document.getElementById("tokenwrong").hidden`))
	b.Do("give the right one", fill("#tokenvalue", "a-token-for-the-test"), press(kb.Enter), answered, until(`!document.getElementById("token").open`))
	b.Do("start the chains", click("#chain"), text("chainstate", "steps of"), click("#chain"))
	b.Do("load the page again", chromedp.Reload(), answered)
}

// Samples, plot and command can be taken away.
func TestPageTake(t *testing.T) {
	b := onLine(t)
	b.Do("note what is saved", script(`const make = URL.createObjectURL; URL.createObjectURL = (blob) => { blob.arrayBuffer().then((a) => { window.saved = String.fromCharCode(...new Uint8Array(a)); }); return make(blob); }`),
		click("#settings summary"), fill("#n", "100"), text("made", "100 samples"))
	for button, begin := range map[string]string{"csv": `x\n`, "npy": `\x93NUMPY`, "png": `\x89PNG`} {
		b.Do("save "+button, script(`window.saved = ""`), click("#"+button), until(`window.saved.startsWith("`+begin+`")`), text("taken", "is saved"))
		if button == "csv" {
			if lines := evaluate[int](b, `window.saved.trim().split("\n").length`); lines != 101 {
				t.Errorf("the CSV has %d lines", lines)
			}
		}
	}
	b.Do("copy the command", click("#curl"), until(`document.getElementById("copied").value.startsWith("curl")`))
	body := evaluate[string](b, `/-d '(.*)'/.exec(document.getElementById("copied").value)[1]`)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+b.Address+"/v1/sample", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("the command %s is answered by %s", body, answer.Status)
	}
}

// Samples of a flow that gives no density are shown alone.
func TestPageNoDensity(t *testing.T) {
	b := onLine(t)
	b.Do("refuse densities", script(`const all = fetch; window.fetch = (path, options) => path !== "/v1/density" ? all(path, options) :
		Promise.resolve(new Response('{"status": 422, "detail": "there is none"}', { status: 422 }))`),
		fill("#drift-0", "-3*x"), text("nodensity", "the samples alone: there is none"), answered, until(`document.querySelector("#chart canvas")`))
	b.Do("see the numbers", text("moments", "0.167")) // 1/(2·3)
}

// A model of laws at a time takes one, and has no chains.
func TestPageTime(t *testing.T) {
	b := openTab(t, "")
	b.Address = serveOn(t, "127.0.0.1:0", "", "vn1d_time").address
	b.visit("")
	b.Do("give a time", until(`!document.getElementById("timerow").hidden && document.getElementById("chain").disabled`), fill("#time", "0.5"), until(`location.hash.includes("time=0.5")`), answered)
}

// A model in the plane has two drifts, maps, and examples that it can read.
func TestPagePlane(t *testing.T) {
	b := openTab(t, "")
	b.Address = serveOn(t, "127.0.0.1:0", "", "vn1d", "cn2d_grid").address
	b.Expect(unprocessable)
	b.visit("#model=vn1d")
	b.Do("choose the model in the plane", focus("#model"), script(`document.getElementById("model").value = "cn2d_grid"`),
		script(`document.getElementById("model").dispatchEvent(new Event("change"))`), text("made", "cn2d_grid"), answered)
	b.Do("choose an example", focus("#preset"), press("Van"), until(`document.getElementById("drift-1").value === "mu*(1-x^2)*y-x"`), answered)
	painted := func(id string) string {
		return `(() => { const c = document.getElementById("` + id + `"), d = c.getContext("2d").getImageData(60, 20, c.width - 90, c.height - 80).data;
			return new Set(Array.from({ length: d.length / 4 }, (_, i) => d[4 * i + 1])).size > 20; })()`
	}
	b.Do("see the samples", until(painted("samples-map")))
	b.Do("see the chains", click("#chain"), text("chainstate", "steps of"), until(painted("chains-map")))
	b.Do("stop them", click("#chain"), text("chain", "Start chains"))
	b.Do("err in the second drift", fill("#drift-1", "mu*(1-x^2))"), until(`document.querySelector("#drift-1-error pre") && document.getElementById("drift-0-error").hidden`))
	b.Do("give a diagonal", fill("#drift-1", "-y"), answered, focus("#form-of-diffusion"), press("a d"), until(`document.getElementById("diffusion-1")`), answered)
}
