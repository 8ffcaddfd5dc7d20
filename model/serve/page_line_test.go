package serve

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// onLine opens the page on an untrained model on the line.
func onLine(t *testing.T) tab {
	t.Helper()
	b := openTab(t, "")
	b.Address = serveOn(t, "127.0.0.1:0", "", "vn1d").address
	b.visit("")
	return b
}

const unprocessable = "status of 422"

// A formula with an error shows the message and a mark below the place; the curve comes when it
// is mended.
func TestPageFormulaErrors(t *testing.T) {
	b := onLine(t)
	b.Expect(unprocessable)
	b.Do("type a wrong drift", fill("#drift-0", "x-x^^3"), text("drift-0-error", "unexpected token"))
	if got := evaluate[string](b, `document.querySelector("#drift-0-error pre").textContent`); got != "x-x^^3\n....^" {
		t.Errorf("the mark is %q", got)
	}
	if got := evaluate[string](b, `document.getElementById("drift-0").getAttribute("aria-invalid") + ", old: " + document.body.classList.contains("old")`); got != "true, old: true" {
		t.Errorf("the field is invalid and the plot is old: %s", got)
	}
	if font := evaluate[string](b, `getComputedStyle(document.querySelector("#drift-0-error pre")).fontFamily`); !strings.Contains(font, "mono") {
		t.Errorf("the mark is in %s", font)
	}
	b.Do("mend it", fill("#drift-0", "x-x^3"), until(`document.getElementById("drift-0-error").hidden`), answered,
		until(`document.querySelector("#chart canvas")`))
	b.Do("type a wrong diffusion", fill("#diffusion-0", "x"), text("diffusion-0-error", "diffusion"))
	b.Do("leave it empty", fill("#diffusion-0", kb.Delete), until(`!document.getElementById("diffusion-0-error").hidden`))
}

// Names become sliders; a slider changes the law, and its bounds can be typed.
func TestPageSliders(t *testing.T) {
	b := onLine(t)
	b.Do("type a formula with a name", fill("#drift-0", "-kappa*(x-1)"), fill("#diffusion-0", "0.5+0*sin(pi*x)"), until(`document.getElementById("parameter-kappa")`), answered)
	if names := evaluate[string](b, `document.getElementById("sliders").dataset.names`); names != `["kappa"]` {
		t.Errorf("the parameters are %s", names)
	}
	variance := func() string {
		return evaluate[string](b, `document.querySelector("#moments tr:nth-child(3)").innerText.split(/\s+/).at(-1)`)
	}
	if got := variance(); got != "0.125" { // σ²/2κ at κ = 1
		t.Errorf("the exact variance is %s", got)
	}
	b.Do("move the slider to its end by the keyboard", focus("#parameter-kappa"), press(kb.End),
		until(`document.querySelector("#moments tr:nth-child(3)").innerText.includes("0.0312")`))
	b.Do("widen its range", fill(".slider .max", "8"), until(`document.getElementById("parameter-kappa").max === "8"`),
		focus("#parameter-kappa"), press(kb.End),
		until(`document.querySelector("#moments tr:nth-child(3)").innerText.includes("0.0156")`))
}

// An example fills the fields.
func TestPageExample(t *testing.T) {
	b := onLine(t)
	b.Do("choose an example", focus("#preset"), press("Tilted"),
		until(`document.getElementById("drift-0").value === "x-x^3+c"`), until(`document.getElementById("parameter-c")`), answered)
}

// The repair changes the verdict, and the page says what it did.
func TestPageRepair(t *testing.T) {
	b := onLine(t)
	b.Do("see the verdict", text("verdict", "do not use"), text("certificate", "Advice"))
	b.Do("repair", click("#mend"), text("verdict", "good"), text("repaired", "The repair moved the samples"),
		text("name-samples", "samples after repair"), text("mend", "Undo"))
	b.Do("undo it", click("#mend"), text("verdict", "do not use"), until(`document.getElementById("repaired").innerText === ""`))
	b.Do("repair by weights", focus("#repair"), press("weights"), text("repaired", "importance weights"))
	b.Do("undo it again", click("#mend"), until(`document.getElementById("repaired").innerText === ""`), // a select joins keys within a second
		script(`document.getElementById("repair").blur()`))
	b.Do("repair by steps", focus("#repair"), press("steps"), text("repaired", "1,000 steps"))
	b.Do("see the checks", click("#checks summary"), text("checkrows", "ks"), text("checkrows", "pass"))
}

// The link to share restores everything in another tab, and the fragment of an open page too.
func TestPageShare(t *testing.T) {
	b := onLine(t)
	b.Do("set everything", fill("#drift-0", "-a*x"), fill("#diffusion-0", "1"), until(`document.querySelector("#parameter-a")`),
		click("#settings summary"), fill("#n", "1234"), fill("#seed", "7"), answered,
		fill(".slider .value", "2.5"),
		click("#mend"), text("made", "1,234 samples"), text("repaired", "moved"), until(`location.hash.includes("2.5")`))
	b.Do("copy the link", click("#share"), until(`document.getElementById("copied").value === location.href && document.getElementById("taken").innerText`))
	link := evaluate[string](b, `location.hash`)
	other := tab{b.Another()}
	other.visit(link)
	other.Do("see the state", text("made", "1,234 samples of vn1d@untrained with seed 7"), text("repaired", "moved"))
	if got := evaluate[string](other, `["drift-0", "diffusion-0", "parameter-a", "n", "seed", "repair"].map((id) => document.getElementById(id).value).join()`); got != "-a*x,1,2.5,1234,7,auto" {
		t.Errorf("the other tab has %s", got)
	}
	other.Do("change the fragment", script(`location.hash = location.hash.replace("seed=7", "seed=8")`), text("made", "seed 8"))
}

// Chains run until they are stopped, and begin anew when the equation changes.
func TestPageChains(t *testing.T) {
	b := onLine(t)
	b.Do("start the chains", click("#chain"), text("chainstate", "steps of"), text("chain", "Stop chains"))
	b.Do("change the equation", fill("#drift-0", "-b*x"), until(`document.querySelector("#parameter-b")`), answered, text("chainstate", "steps of"))
	b.Do("stop them", click("#chain"), text("chain", "Start chains"), text("chainstate", "have stopped"))
}
