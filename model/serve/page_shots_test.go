package serve

import (
	"context"
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ergoflow/ergoflow/internal/webpage/webpagetest"
)

var (
	shots      = flag.String("page.shots", "", "directory for pictures of the page, for docs/page.md")
	onTheLine  = flag.String("page.line", "", "state of a trained model on the line, for the pictures")
	inThePlane = flag.String("page.plane", "", "state of a trained model in the plane, for the pictures")
)

// shot takes a picture of the page, whose height is that of its content up to a limit.
func (b tab) shot(name string, width, most int64, scale float64) {
	b.Helper()
	b.Shot(filepath.Join(*shots, name+".png"), width, most, scale, answered)
}

// The pictures of docs/page.md, of trained models.
func TestPageShots(t *testing.T) {
	if *shots == "" || *onTheLine == "" {
		t.Skip("no pictures are wanted: -page.shots DIR -page.line STATE -page.plane STATE")
	}
	b := openTab(t, "")
	b.Address = serveWith(t, "127.0.0.1:0", "", func(ctx context.Context, s *Server) error {
		for name, path := range map[string]string{"vn1d": *onTheLine, "cn2d_grid": *inThePlane} {
			if path == "" {
				continue
			}
			encoded, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if err := s.Add(ctx, Source{Name: name, Version: "1", Encoded: encoded}); err != nil {
				return err
			}
		}
		return nil
	}).address
	fragment := func(model, n, repair string, formulas ...string) string {
		v := url.Values{"model": {model}, "n": {n}, "repair": {repair}}
		half := len(formulas) - 1 // one diffusion
		v["drift"], v["diffusion"] = formulas[:half], formulas[half:]
		return "#" + v.Encode()
	}
	steps := func(n string) webpagetest.Action {
		return until(`Number(/([\d,]+) steps/.exec(document.getElementById("chainstate").innerText)?.[1].replace(",", "")) >= ` + n)
	}
	b.visit(fragment("vn1d", "16384", "none", "-theta*(x-mu)", "sigma") + "&p=theta:1:0.1:4&p=mu:0.5:-2:2&p=sigma:1:0.3:2")
	b.Do("watch chains", click("#chain"), steps("200"), click("#chain"))
	b.shot("light", 1280, 1000, 1)
	b.Do("switch to dark", click("#theme"))
	b.shot("dark", 1280, 1000, 1)
	b.Do("switch to light", click("#theme"))
	b.Do("leave the page", chromedp.Navigate("about:blank"))
	b.visit(fragment("vn1d", "16384", "auto", "x-x^3+c", "0.8") + "&p=c:0.2:-1:1")
	b.shot("narrow", 375, 1500, 1)
	b.Do("leave the page", chromedp.Navigate("about:blank"))
	b.visit(fragment("vn1d", "16384", "none", "-5*x", "4"))
	b.Do("see the checks", click("#checks summary"))
	b.shot("out-of-range", 1280, 1150, 1)
	if *inThePlane == "" {
		return
	}
	b.Do("leave the page", chromedp.Navigate("about:blank"))
	b.visit(fragment("cn2d_grid", "16384", "auto", "a*(x-x^3)", "-2*y", "sqrt(2)") + "&p=a:2:0.5:4")
	b.Do("watch chains", click("#chain"), steps("300"), click("#chain"))
	b.shot("plane", 1280, 900, 1)
}
