package family

import (
	"math"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// Every kind of range is read and written again, alone and for each coordinate.
func TestRanges(t *testing.T) {
	inf := math.Inf(1)
	for text, want := range map[string]sde.Range{
		"line":                  sde.WholeLine,
		"(-inf, inf)":           sde.WholeLine,
		"(0, inf)":              {Ends: sde.Open, Lo: 0, Hi: inf},
		" ( -1 , 2.5 ) ":        {Ends: sde.Open, Lo: -1, Hi: 2.5},
		"reflect [0, inf)":      {Ends: sde.Reflecting, Lo: 0, Hi: inf},
		"reflect (-inf, 1]":     {Ends: sde.Reflecting, Lo: -inf, Hi: 1},
		"reflect [-1e3, 1/2]":   {Ends: sde.Reflecting, Lo: -1000, Hi: 0.5},
		"circle [-pi, pi)":      {Ends: sde.Joined, Lo: -math.Pi, Hi: math.Pi},
		"circle [0, 2*pi)":      {Ends: sde.Joined, Lo: 0, Hi: 2 * math.Pi},
		"circle [0,360)":        {Ends: sde.Joined, Lo: 0, Hi: 360},
		"reflect [0, sqrt(16)]": {},
	} {
		got, err := parseRange(text)
		if want == (sde.Range{}) {
			if err == nil {
				t.Errorf("%q is read: %v", text, got)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("%q is %+v, %v, want %+v", text, got, err, want)
		}
		again, err := parseRange(got.String())
		if err != nil || again.Ends != got.Ends || math.Abs(again.Lo-got.Lo) > 1e-8 || math.Abs(again.Hi-got.Hi) > 1e-8 {
			t.Errorf("%q is written %q, which is %+v, %v", text, got, again, err)
		}
	}
}

// What a domain cannot be is refused with what to write.
func TestRefusedDomains(t *testing.T) {
	for _, c := range []struct{ domain, box, drift, diffusion, want string }{
		{"(1, 0)", "[-1, 1]", "-x", "1", "the first end must be below the second"},
		{"(0, nan)", "[-1, 1]", "-x", "1", `"nan" is not inf, -inf or a number`},
		{"circle [0, inf)", "[0, 1]", "-x", "1", "a circle needs finite ends"},
		{"circle [0, 1]", "[0, 1]", "-x", "1", `write it "circle [0, 1)"`},
		{"reflect (0, inf)", "[0, 1]", "-x", "1", `write it "reflect [0, inf)"`},
		{`"[0, inf)"`, "[0.1, 1]", "-x", "1", `write it "(0, inf)"`},
		{"torus", "[0, 1]", "-x", "1", `"torus" is no range: must be line, (LO, HI)`},
		{"circle [0, 1e9)", "[0, 1]", "-x", "1", "must be within ±100000 or infinite"},
		{"(0, inf)", "[0, 1]", "1 - x", "x", "and not touch its ends"},
		{"(0, inf)", "[-1, 1]", "1 - x", "x", "box of coordinate 0 is [-1, 1]"},
		{"reflect [0, inf)", "[-1, 1]", "-x", "1", "must be within the domain reflect [0, inf)"},
		{"circle [0, 1)", "[0, 2]", "0*x", "1", "must be within the domain circle [0, 1)"},
		{"circle [-pi, pi)", "[-3, 3]", "-x", "1", "component 0 of the drift is 3.14159 at x = [-3.142"},
		{"circle [-pi, pi)", "[-3, 3]", "sin(x)", "2 + x/4", "component 0 of the noise S·Sᵀ"},
		{"reflect [0, inf)", "[0, 3]", "-1 - x", "x", "a state would stay at the end"},
		{"reflect [0, inf)", "[0, 3]", "-x", "1/x", "an end of reflect [0, inf)"},
		{`["(0, inf)", "line", "line"]`, "[0.1, 3]", "-x", "1", "domain has 3 ranges in 2 dimensions"},
		{`["reflect [0, inf)", "line"]`, "[0, 3]", "-x", `["1", "0.5", "0", "1"]`, "reflect with a matrix as diffusion is not supported"},
		{"{lo: 0}", "[0, 3]", "-x", "1", "want a range such as (0, inf)"},
	} {
		definition := "name: bad\ndim: 2\nbox: " + c.box + "\ndomain: " + c.domain + "\ndrift: " + c.drift + "\ndiffusion: " + c.diffusion
		if _, err := Parse([]byte(definition)); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s, box %s: %v, want %q", c.domain, c.box, err, c.want)
		}
	}
	for domain, want := range map[string]string{
		"circle [0, 1)":            "reflecting ends and circles need a family with a box",
		`["(0, inf)", "(0, inf)"]`: "with a box instead",
	} {
		definition := "name: bad\ndim: 1\ngrid: {lo: 0.1, hi: 1, nodes: 8}\ndomain: " + domain + "\ndrift: -x\ndiffusion: \"1\""
		if _, err := Parse([]byte(definition)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with a grid, %s: %v, want %q", domain, err, want)
		}
	}
}

// A domain is part of a family's name. One on the line has the name that it had before other families
// had domains.
func TestDomainInTheName(t *testing.T) {
	for definition, want := range map[string]string{
		"name: a\ndim: 1\ndomain: (0, inf)\ngrid: {lo: 0.05, hi: 3, nodes: 64}\ndrift: x*(1-x)\ndiffusion: 0.5*x": `"domain":"(0, inf)"`,
		"name: a\ndim: 2\nbox: [0.1, 1]\ndomain: [(0, inf)]\ndrift: x*(1-x)\ndiffusion: 0.5*x[i]":                 "",
		"name: a\ndim: 1\nbox: [0.1, 1]\ndomain: (0, inf)\ndrift: x*(1-x)\ndiffusion: 0.5*x":                      `"domain":"(0, inf)"`,
	} {
		d, err := Parse([]byte(definition))
		if want == "" {
			if err == nil {
				t.Errorf("%s is read", definition)
			}
			continue
		}
		if err != nil || !strings.Contains(d.String(), want) {
			t.Errorf("%v, %v, want %s", d, err, want)
			continue
		}
		again, err := ByName(d.String())
		if err != nil {
			t.Errorf("%v: %v", d, err)
			continue
		}
		if f, _ := d.Family(); f.Name() != again.Name() {
			t.Errorf("%s and %s", f.Name(), again.Name())
		}
	}
}

// The means of linear drifts are known, and stay so with noise that grows with the state.
func TestCoxIngersollRoss(t *testing.T) {
	long(t)
	const chains = 8192
	f := example(t, "cox_ingersoll_ross").(*spatial)
	x := drawn(t, f, 2, chains, simulate.Scheme{DT: 0.005, BurnIn: 1500, Thin: 1, Chains: chains, Start: "uniform(0.5, 2)"})
	if at := f.Domain().Outside(x); at >= 0 {
		t.Fatalf("the sample %g is outside", x[at])
	}
	for i := range 2 {
		want := f.draw(1, i)["level"][0]
		mean, square, n := 0., 0., float64(chains*f.Dim())
		for _, v := range x[i*chains*f.Dim():][:chains*f.Dim()] {
			mean, square = mean+float64(v)/n, square+float64(v)*float64(v)/n
		}
		if most := 5*math.Sqrt((square-mean*mean)/n*3) + 0.003; math.Abs(mean-want) > most {
			t.Errorf("function %d: the mean is %.4f, want %.4f ± %.4f", i, mean, want, most)
		}
	}
}

// Heights of the grain have an exponential law, whatever moves it along the circle.
func TestSediment(t *testing.T) {
	long(t)
	const chains = 8192
	f := example(t, "sediment").(*spatial)
	x := drawn(t, f, 1, chains, simulate.Scheme{DT: 0.005, BurnIn: 2500, Thin: 1, Chains: chains, Start: "uniform(0, 2)"})
	if at := f.Domain().Outside(x); at >= 0 {
		t.Fatalf("the sample %g is outside", x[at])
	}
	p := f.draw(1, 0)
	noise, sink := p["noise"][0], p["sink"][0]
	mean := 0.
	for at := 1; at < len(x); at += 2 {
		mean += float64(x[at]) / chains
	}
	want := noise*noise/2/sink + sink*0.005/2 // with that of Euler's steps
	if most := 5 * want / math.Sqrt(chains); math.Abs(mean-want) > most {
		t.Errorf("the mean height is %.4f, want %.4f ± %.4f", mean, want, most)
	}
}
