package sde

import (
	"errors"
	"math"
	"strings"
	"testing"
)

var nan = float32(math.NaN())

func plane(drift, diffusion []float32) Plane {
	return Plane{X: Grid{-1, 1, 2}, Y: Grid{0, 3, 3}, Drift: drift, Diffusion: diffusion}
}

// with returns n ones with one of them replaced.
func with(n, at int, v float32) []float32 {
	values := make([]float32, n)
	for i := range values {
		values[i] = 1
	}
	values[at] = v
	return values
}

func TestPlaneValidate(t *testing.T) {
	fine := with(12, 0, 1)
	for _, diffusion := range [][]float32{{2}, {1, 2}, {1, -1, 0, 3}, {0, 2}, {1, 2, 2, 4}, with(6, 0, 1), with(12, 0, 1)} {
		if err := plane(fine, diffusion).Validate(); err != nil {
			t.Errorf("diffusion %v: %v", diffusion, err)
		}
	}
	for _, c := range []struct {
		name  string
		plane Plane
		want  string
	}{
		{"no grid", Plane{}, "x axis"},
		{"short drift", plane(fine[1:], []float32{1}), "drift has 11 values on 2×3 nodes"},
		{"no diffusion", plane(fine, nil), "diffusion has 0 values"},
		{"odd diffusion", plane(fine, fine[:5]), "diffusion has 5 values"},
		{"zero diffusion", plane(fine, with(6, 3, 0)), "diffusion [0] at (1, 1.5) is zero"},
		{"negative diagonal", plane(fine, with(12, 5, -1)), "diffusion [1 -1] at (-1, 1.5) is negative"},
		{"zero everywhere", plane(fine, []float32{0}), "diffusion [0] at all nodes is zero"},
		{"zero diagonal", plane(fine, []float32{0, 0}), "diffusion [0 0] at all nodes is zero"},
		{"zero matrix", plane(fine, []float32{0, 0, 0, 0}), "is zero"},
	} {
		if err := c.plane.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
	for _, p := range []Plane{plane(with(12, 7, nan), []float32{1}), plane(fine, with(12, 9, nan)), plane(fine, []float32{nan})} {
		if err := p.Validate(); !errors.Is(err, ErrNotFinite) {
			t.Errorf("NaN in %v: error %v", p, err)
		}
	}
}

func TestParticlesValidate(t *testing.T) {
	force := Tabulate(func(r2 float64) float64 { return math.Exp(-r2) }, 0.5, 4)
	fine := Particles{N: 32, Trap: 0.5, Noise: 1, Force: force}
	if err := fine.Validate(); err != nil || fine.Dim() != 64 {
		t.Errorf("dimension %d, error %v", fine.Dim(), err)
	}
	for name, change := range map[string]func(p *Particles){
		"0 particles":    func(p *Particles) { p.N = 0 },
		"1025 particles": func(p *Particles) { p.N = MaxParticles + 1 },
		"trap":           func(p *Particles) { p.Trap = -1 },
		"noise":          func(p *Particles) { p.Noise = 0 },
		"range +Inf":     func(p *Particles) { p.Force.Range = math.Inf(1) },
		"range 0":        func(p *Particles) { p.Force = RadialForce{} },
		"range NaN":      func(p *Particles) { p.Force.Range = math.NaN() },
		"core of 4":      func(p *Particles) { p.Force.Core = 4 },
		"core of -1":     func(p *Particles) { p.Force.Core = -1 },
		"core of NaN":    func(p *Particles) { p.Force.Core = math.NaN() },
		"in cell 30":     func(p *Particles) { p.Force.Cells[30][2] = nan },
	} {
		p := fine
		change(&p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
