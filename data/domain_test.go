package data

import (
	"errors"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// A family in a domain starts inside, says which boundaries its equations reach, and is refused
// where samples of its table are outside.
func TestFamilyInADomain(t *testing.T) {
	for _, c := range []struct {
		grid, drift, diffusion string
		start                  simulate.Start
		want                   error
	}{
		{"0.05, hi: 3", "a*x*(1-x)", "0.5*x", "", nil},
		{"0.05, hi: 3", "a*x*(1-x)", "0.5*x", "uniform(0.5, 1.5)", nil},
		{"0.05, hi: 6", "0.2*a - x", "sqrt(x)", "", ErrLeavesDomain},
		{"0.001, hi: 6", "0.4*a - x", "sqrt(x)/2", "", nil},
	} {
		definition, err := family.Parse([]byte("name: confined\ndim: 1\ndomain: (0, inf)\ngrid: {lo: " + c.grid + ", nodes: 64}\n" +
			"parameters: {a: \"uniform(1, 1.1)\"}\ndrift: " + c.drift + "\ndiffusion: " + c.diffusion))
		if err != nil {
			t.Fatal(err)
		}
		d := tiny()
		d.Family, d.Samples = definition.String(), 64
		d.Training = simulate.Scheme{DT: 0.002, BurnIn: 1000, Thin: 10, Chains: 16, Start: c.start}
		f, err := definition.Family()
		if err != nil {
			t.Fatal(err)
		}
		if c.start == "" {
			if err := d.validate(f); err == nil || !strings.Contains(err.Error(), "data.training.start: the start normal(0, 1) reaches") {
				t.Errorf("%s from N(0, 1): %v", c.drift, err)
			}
			if d.Training.Start = d.DefaultStart(f); !strings.HasPrefix(string(d.Training.Start), "uniform(") {
				t.Errorf("%s: the default start is %q", c.drift, d.Training.Start)
			}
		}
		d.Reference = d.Training
		if err := d.validate(f); err != nil {
			t.Errorf("%s from %s: %v", c.drift, d.Training.Start, err)
		}
		warnings, err := d.PilotRun(t.Context(), f)
		if !errors.Is(err, c.want) || len(warnings) > 0 {
			t.Errorf("%s: warnings %q, error %v", c.drift, warnings, err)
		}
	}
	if err := within(confined(t), []float32{1, 2, 0.5, -1e-9}, 7, 2); !errors.Is(err, ErrLeavesDomain) || !strings.Contains(err.Error(), "function 8 has the sample -1e-09, outside (0, inf)") {
		t.Errorf("a sample outside: %v", err)
	}
	if warnings := boundaryWarnings(confined(t), confined(t).(gridded).Grid(), 1); len(warnings) != 1 || !strings.Contains(warnings[0], "0 is a boundary (regular)") {
		t.Errorf("a regular boundary: %q", warnings)
	}
}

func confined(t *testing.T) family.Family {
	t.Helper()
	f, err := family.ByName(`{"name": "confined", "dim": 1, "domain": "(0, inf)", "grid": {"lo": 0.01, "hi": 6, "nodes": 64}, "drift": "0.2 - x", "diffusion": "sqrt(x)"}`)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestDomainOfADefinition(t *testing.T) {
	const text = "name: d\ndim: 1\ngrid: {lo: 0.1, hi: 3, nodes: 8}\ndrift: 1 - x\ndiffusion: 1\n"
	for domain, want := range map[string]string{
		"(0, 3)": "", "(-inf, inf)": "", "(0.1, inf)": "",
		"(0.2, inf)": "must be within the domain (0.2, inf)", "(0, 2)": "must be within", "(3, 0)": "first end", "all": "is not a domain",
	} {
		if _, err := family.Parse([]byte(text + "domain: " + domain)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", domain, err, want)
		}
	}
	plain, err := family.Parse([]byte(text))
	if err != nil || strings.Contains(plain.String(), "domain") {
		t.Errorf("a definition without a domain is %s, %v", plain, err)
	}
	if _, err := family.Parse([]byte("name: d\ndim: 2\ngrid: {lo: 0.1, hi: 3, nodes: 8}\ndrift: [1 - x, 1 - y]\ndiffusion: 1\ndomain: (0, 4)\n")); err == nil || !strings.Contains(err.Error(), "one dimension") {
		t.Errorf("a domain in the plane: %v", err)
	}
}

// The pilot run knows the ends of domains by formulas: it refuses chains that leave an open one and
// steps that are too large, wants starts inside, and does not take the cut of a circle for a memory.
func TestPilotRunOnDomains(t *testing.T) {
	for name, c := range map[string]struct {
		domain, drift, diffusion, box, start string
		dt                                   float64
		want                                 error
		warning                              string
	}{
		"circle":                    {"circle [-pi, pi)", "1 - 2*sin(x[i])", "1", "[-3, 3]", "", 0.005, nil, ""},
		"uniform on a circle":       {"circle [0, 1)", "5 + 0*x[i]", "1", "[0, 1]", "", 0.005, nil, ""},
		"circle, large steps":       {"circle [-pi, pi)", "-300*sin(x[i])", "1", "[-3, 3]", "", 0.02, ErrTimeStep, ""},
		"floor":                     {"reflect [0, inf)", "-1.5 + 0*x[i]", "1", "[0, 3]", "", 0.005, nil, ""},
		"floor, start below":        {"reflect [0, inf)", "-1.5 + 0*x[i]", "1", "[0, 3]", "normal(1, 1)", 0.005, simulate.ErrLeftDomain, ""},
		"positive":                  {"(0, inf)", "2*(1 - x[i])", "0.7*sqrt(x[i])", "[0.2, 3]", "", 0.005, nil, ""},
		"positive, reaches the end": {"(0, inf)", "-1 + 0*x[i]", "1", "[0.2, 3]", "", 0.005, simulate.ErrLeftDomain, ""},
		"walls":                     {"reflect [0, 1]", "0*x[i]", "1", "[0, 1]", "", 0.005, nil, ""},
		"slow walls":                {"reflect [0, 1]", "0*x[i]", "0.05", "[0, 1]", "", 0.005, nil, "remember their start"},
	} {
		if testing.Short() && name != "circle" { // the others take minutes under the race detector
			continue
		}
		d := tiny()
		d.Family = `{"name":"a","dim":2,"box":` + c.box + `,"domain":"` + c.domain + `","drift":"` + c.drift + `","diffusion":"` + c.diffusion + `"}`
		d.Training = simulate.Scheme{DT: c.dt, BurnIn: 800, Thin: 10, Chains: 64, Start: simulate.Start(c.start)}
		f, err := family.ByName(d.Family)
		if err != nil {
			t.Fatal(name, err)
		}
		if c.start == "" {
			d.Training.Start = d.DefaultStart(f)
		}
		d.Reference = d.Training
		if err := d.validate(f); (err != nil) != (name == "floor, start below") {
			t.Errorf("%s: validate: %v", name, err)
		}
		warnings, err := d.PilotRun(t.Context(), f)
		warning := strings.Join(warnings, "; ")
		if !errors.Is(err, c.want) || (warning == "") != (c.warning == "") || !strings.Contains(warning, c.warning) {
			t.Errorf("%s: warning %q, error %v", name, warning, err)
		}
	}
	f, err := family.ByName(`{"name":"a","dim":2,"box":[0,1],"domain":["circle [0, 1)","reflect [0, inf)"],"drift":["1","-1"],"diffusion":"1"}`)
	if err != nil {
		t.Fatal(err)
	}
	if err := within(f, []float32{0.5, 7, 0.5, -1e-9}, 7, 4); !errors.Is(err, ErrLeavesDomain) || !strings.Contains(err.Error(), "function 7 has the sample -1e-09, outside reflect [0, inf)") {
		t.Errorf("a sample outside: %v", err)
	}
	if err := within(f, []float32{0.5, 7, 1, 0}, 7, 2); !errors.Is(err, ErrLeavesDomain) || !strings.Contains(err.Error(), "function 8 has the sample 1, outside circle [0, 1)") {
		t.Errorf("a sample outside: %v", err)
	}
}
