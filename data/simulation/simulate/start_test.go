package simulate

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// A scheme without a start, or with a deviation, is written as ever: hashes depend on it.
func TestStartIsWrittenAsEver(t *testing.T) {
	for _, test := range []struct {
		yaml, json string
		start      Start
	}{
		{"dt: 1", `{"dt":1,"burn_in":0,"thin":0,"chains":0}`, ""},
		{"{dt: 1, start: 0}", `{"dt":1,"burn_in":0,"thin":0,"chains":0}`, ""},
		{"{dt: 1, start: 1}", `{"dt":1,"burn_in":0,"thin":0,"chains":0,"start":1}`, "1"},
		{"{dt: 1, start: 1.5}", `{"dt":1,"burn_in":0,"thin":0,"chains":0,"start":1.5}`, "1.5"},
		{"dt: 1\nstart: normal(1000, 2)", `{"dt":1,"burn_in":0,"thin":0,"chains":0,"start":"normal(1000, 2)"}`, "normal(1000, 2)"},
		{"{dt: 1, start: box}", `{"dt":1,"burn_in":0,"thin":0,"chains":0,"start":"box"}`, InBox},
		{"dt: 1\nstart: [\" uniform( 0,1.0 )\"]", `{"dt":1,"burn_in":0,"thin":0,"chains":0,"start":"uniform(0, 1)"}`, "uniform(0, 1)"},
		{"dt: 1\nstart: [\"uniform(0, 1)\", \"normal(-3, 2)\"]", `{"dt":1,"burn_in":0,"thin":0,"chains":0,"start":["uniform(0, 1)","normal(-3, 2)"]}`, "uniform(0, 1); normal(-3, 2)"},
	} {
		var s, again Scheme
		if err := yaml.UnmarshalWithOptions([]byte(test.yaml), &s, yaml.Strict()); err != nil || s.Start != test.start {
			t.Errorf("%q: start %q, %v: want %q", test.yaml, s.Start, err, test.start)
		}
		raw, err := json.Marshal(s)
		if err != nil || string(raw) != test.json {
			t.Errorf("%q: %s, %v: want %s", test.yaml, raw, err, test.json)
		}
		if err := json.Unmarshal(raw, &again); err != nil || again != s {
			t.Errorf("%s was read as %+v, %v: want %+v", raw, again, err, s)
		}
	}
	for _, bad := range []string{"start: {a: 1}", "start: []", "start: [[1]]"} {
		if err := yaml.Unmarshal([]byte(bad), new(Scheme)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
	for _, bad := range []Start{
		"normal(0, 0)", "normal(0, -1)", "uniform(1, 1)", "field(1, 1)", "normal(1, NaN)", "5 5", "normal(9e5, 2e4)", "uniform(0, 1e6001)", "uniform(0, 1.1e6)", ";",
		"normal(0, 1); ", "normal(0, 1)" + Start(strings.Repeat("; normal(0, 1)", 64)),
	} {
		if err := (Scheme{DT: 1, Thin: 1, Chains: 1, Start: bad}).Validate(); err == nil {
			t.Errorf("start %q is accepted", bad)
		}
	}
}

// First states have the law, along each axis, in every system and on every engine. The noise
// that follows does not depend on it.
func TestStartsHaveTheirLaw(t *testing.T) {
	const chains = 4096
	start := Start("uniform(4, 10); normal(-20, 0.5)")
	line := tabulate(sde.Grid{Lo: -30, Hi: 30, N: 8}, func(float64) float64 { return 0 }, func(float64) float64 { return 1 })
	axis := sde.Grid{Lo: -30, Hi: 30, N: 3}
	plane := sde.Plane{X: axis, Y: axis, Drift: make([]float32, 18), Diffusion: []float32{1}}
	particles := sde.Particles{N: 2, Noise: 1, Force: sde.RadialForce{Core: 0.1, Range: 1}}
	for _, test := range []struct {
		system sde.System
		start  Start
		name   string
	}{{line, "uniform(4, 10)", "line"}, {plane, start, "plane"}, {particles, start, "particles"}} {
		d := test.system.Dim()
		draw := func(e *Engine, start Start, burnIn int) []float32 {
			dst := make([]float32, chains*d)
			s := Scheme{DT: 0.01, BurnIn: burnIn, Thin: 1, Chains: chains, Start: start}
			if err := e.Chains(context.Background(), dst, test.system, s, 1, 2, "p"); err != nil {
				t.Fatalf("%s: %v", test.name, err)
			}
			return dst
		}
		first := draw(plain, test.start, 0)
		for k := range d {
			var sum, squares, lo, hi float64
			lo, hi = math.Inf(1), math.Inf(-1)
			for at := k; at < len(first); at += d {
				v := float64(first[at])
				sum, squares, lo, hi = sum+v, squares+v*v, min(lo, v), max(hi, v)
			}
			mean := sum / chains
			deviation := math.Sqrt(squares/chains - mean*mean)
			wantMean, want := 7., 6/math.Sqrt(12)
			if k%2 == 1 {
				wantMean, want = -20, 0.5
			} else if lo < 4 || hi >= 10 || lo > 4.02 || hi < 9.98 {
				t.Errorf("%s: coordinate %d is uniform on %v … %v, want 4 … 10", test.name, k, lo, hi)
			}
			// Five standard errors.
			if math.Abs(mean-wantMean) > 5*want/64 || math.Abs(deviation/want-1) > 5/math.Sqrt(2*chains) {
				t.Errorf("%s: coordinate %d starts with mean %v and deviation %v, want %v and %v", test.name, k, mean, deviation, wantMean, want)
			}
		}
		moved, standard, unmoved := draw(plain, test.start, 5), draw(plain, "", 5), draw(plain, "", 0)
		for i, v := range moved {
			if step, want := v-first[i], standard[i]-unmoved[i]; math.Abs(float64(step-want)) > 1e-4 {
				t.Fatalf("%s: five steps move value %d by %v, from N(0, 1) by %v", test.name, i, step, want)
			}
		}
		for _, e := range engines {
			for i, v := range draw(e, test.start, 5) {
				if v != moved[i] {
					t.Fatalf("%s: value %d is %v on %v, %v on go", test.name, i, v, e, moved[i])
				}
			}
		}
	}
}

func TestStartLawWords(t *testing.T) {
	law, err := Start("normal(1000, 2)").Along(1)
	if err != nil || law.String() != "normal(1000, 2)" || law.Mean() != 1000 {
		t.Errorf("%v, %v", law, err)
	}
	if lo, hi := Support(law); lo != 986 || hi != 1014 {
		t.Errorf("%v … %v", lo, hi)
	}
}
