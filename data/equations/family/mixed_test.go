package family

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

const twoFamilies = `{name: two, dim: 2, mixture: [{family: FIRST, weight: 3}, {family: SECOND}]}`

const (
	pulled = `{name: pulled, dim: 2, box: [-1, 2], parameters: {a: "uniform(1, 2)"}, drift: -a*x, diffusion: 1}`
	turned = `{name: turned, dim: 2, box: [[-3, 1], [0, 1]], parameters: {a: "uniform(1, 2)"}, drift: ["a*x1 - x0", "-a*x0 - x1"], diffusion: ["0", a]}`
)

func two(t *testing.T, replace ...string) Family {
	t.Helper()
	text := strings.NewReplacer(append(replace, "FIRST", pulled, "SECOND", turned)...).Replace(twoFamilies)
	return defined(t, text)
}

// A function of a mixture is one of the component's, with the widest diffusion. Components have the
// shares of their weights.
func TestMixtureOfFamilies(t *testing.T) {
	f := two(t)
	m, s := f.(Mixed), f.(Spatial)
	if box := s.Box(); !slices.Equal(box, []sde.Interval{{Lo: -3, Hi: 2}, {Lo: -1, Hi: 2}}) || s.Terms() != 2 || f.Dim() != 2 {
		t.Errorf("box %v, %d terms, %d dimensions", box, s.Terms(), f.Dim())
	}
	states, first := []float64{1, 0.5}, 0
	const functions = 4000
	for i := range functions {
		component := m.Component(7, i)
		if component == 0 {
			first++
		}
		if i >= 20 {
			continue
		}
		made, err := f.Function(7, i)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Check(7, i); err != nil {
			t.Error(err)
		}
		drift, diffusion := made.System.(sde.Space).Coefficients(states)
		if component == 0 {
			if a := -drift[0]; !(a >= 1 && a <= 2) || drift[1] != -a/2 || !slices.Equal(diffusion, []float64{1, 1}) {
				t.Errorf("pulled: drift %v, diffusion %v", drift, diffusion)
			}
		} else if a := diffusion[1]; !(a >= 1 && a <= 2) || diffusion[0] != 0 || math.Abs(drift[1]+a+0.5) > 1e-12 {
			t.Errorf("turned: drift %v, diffusion %v", drift, diffusion)
		}
		own, err := m.Components()[component].Family.Function(7, i)
		if err != nil {
			t.Fatal(err)
		}
		if theirs, _ := own.System.(sde.Space).Coefficients(states); slices.Equal(theirs, drift) {
			t.Errorf("function %d is also one of the component's family, which may hold it out", i)
		}
	}
	// 3/4 ± five standard deviations.
	if part := float64(first) / functions; math.Abs(part-0.75) > 5*math.Sqrt(0.75*0.25/functions) {
		t.Errorf("the first component has %g of the functions, its weight is 3 of 4", part)
	}
}

// A mixture is in one line what it was in several files, whose paths are relative to its own.
func TestMixtureOfFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("parts/pulled.yaml", pulled)
	write("mixed.yaml", strings.NewReplacer("FIRST", "parts/pulled.yaml", "SECOND", turned).Replace(twoFamilies))
	write("self.yaml", "{name: self, dim: 2, mixture: [{family: self.yaml}]}")
	line, err := Resolve("mixed.yaml", dir)
	if err != nil {
		t.Fatal(err)
	}
	read, err := ByName(line)
	if err != nil {
		t.Fatal(err)
	}
	if inPlace := two(t); read.Name() != inPlace.Name() {
		t.Errorf("%s of files, %s in place", read.Name(), inPlace.Name())
	}
	if other := two(t, "weight: 3", "weight: 2"); other.Name() == read.Name() {
		t.Error("another weight makes no other family")
	}
	if _, err := Resolve("self.yaml", dir); err == nil || !strings.Contains(err.Error(), "the component is a mixture") {
		t.Errorf("a mixture of itself: %v", err)
	}
	write("missing.yaml", "{name: missing, dim: 2, mixture: [{family: nowhere.yaml}]}")
	if _, err := Resolve("missing.yaml", dir); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "mixture[0]") {
		t.Errorf("a component that does not exist: %v", err)
	}
	// What comes from another machine names no files of this one.
	if _, err := ByName(`{"name":"two","dim":2,"mixture":[{"family":"` + filepath.Join(dir, "parts/pulled.yaml") + `"}]}`); err == nil || !strings.Contains(err.Error(), "is a path") {
		t.Errorf("a path in a configuration: %v", err)
	}
}

func TestRefusedMixtures(t *testing.T) {
	many := "{name: many, dim: 2, mixture: ["
	for k := range maxComponents + 1 {
		many += strings.Replace(fmt.Sprintf("{family: %s}, ", pulled), "pulled", fmt.Sprintf("p%d", k), 1)
	}
	large := "{name: large, dim: 2, mixture: ["
	for k := range maxComponents {
		large += fmt.Sprintf("{family: {name: p%d, dim: 2, box: [-1, 1], drift: %q, diffusion: 1}}, ", k, "-x"+strings.Repeat(" + 0*x", 200))
	}
	for name, c := range map[string]struct{ text, want string }{
		"no components": {"{name: none, dim: 2, mixture: []}", "no components"},
		"too many":      {many + "]}", "65 components, must be at most 64"},
		"too large":     {large + "]}", "bytes"},
		"weight 0":      {replaced("weight: 3", "weight: 0"), "weight is 0: must be a positive number"},
		"weight < 0":    {replaced("weight: 3", "weight: -1"), "must be a positive number"},
		"weight nan":    {replaced("weight: 3", "weight: .nan"), "must be a positive number"},
		"weight inf":    {replaced("weight: 3", "weight: .inf"), "must be a positive number"},
		"weights":       {replaced("weight: 3", "weight: 1e308", "SECOND}", turned+", weight: 1e308}"), "not finite"},
		"dimension":     {replaced("SECOND", "{name: line, dim: 1, box: [-1, 1], drift: -x, diffusion: 1}"), "line has dim 1, the mixture 2"},
		"grid":          {replaced("SECOND", `{name: g, dim: 2, grid: {lo: -1, hi: 1, nodes: 8}, drift: ["-x", "-y"], diffusion: 1}`), "g has a grid"},
		"twice":         {replaced("SECOND", pulled), "another component is called pulled"},
		"domain":        {replaced("SECOND", `{name: g, dim: 2, box: [0.1, 1], domain: "(0, inf)", drift: 1 - x, diffusion: x}`), "g has the domain"},
		"nested":        {replaced("SECOND", "{name: in, dim: 2, mixture: [{family: "+turned+"}]}"), "the component is a mixture"},
		"own drift":     {replaced("mixture:", "drift: -x, mixture:"), "components alone"},
		"own box":       {replaced("mixture:", "box: [-1, 1], mixture:"), "components alone"},
		"unknown field": {replaced("weight: 3", "weigth: 3"), "weigth"},
		"in the family": {replaced("SECOND", "{name: g, dim: 2, boxes: 1}"), "boxes"},
		"no family":     {replaced("family: SECOND", "weight: 1"), "name"},
		"no equation":   {replaced("SECOND", "{name: g, dim: 2, box: [-1, 1], drift: -log(x), diffusion: 1}"), "no equation that can be simulated"},
	} {
		_, err := Parse([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "quote the formula") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// replaced is twoFamilies with other parts.
func replaced(pairs ...string) string {
	return strings.NewReplacer("FIRST", pulled, "SECOND", turned).Replace(strings.NewReplacer(pairs...).Replace(twoFamilies))
}
