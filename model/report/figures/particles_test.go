package figures

import (
	"bytes"
	"encoding/csv"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// drawn decodes a figure that must have worked, looks for the colour of what
// matters in it, and keeps it where asked to.
func drawn(t *testing.T, name string, want color.RGBA, draw func(io.Writer) error) {
	t.Helper()
	var picture bytes.Buffer
	if err := draw(&picture); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(picture.Bytes()))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if b := img.Bounds(); b.Dx() < 700 || b.Dy() < 250 {
		t.Errorf("%s: %v pixels is too small to print", name, b)
	}
	opaque, ok := img.(*image.RGBA)
	if !ok {
		t.Fatalf("%s: %T, want an opaque picture", name, img)
	}
	pixels := 0
	for i := 0; i < len(opaque.Pix); i += 4 {
		if [4]uint8(opaque.Pix[i:i+4]) == [4]uint8{want.R, want.G, want.B, want.A} {
			pixels++
		}
	}
	if pixels < 50 {
		t.Errorf("%s: %d pixels of the colour %v", name, pixels, want)
	}
	if dir := os.Getenv("ERGOFLOW_FIGURES"); dir != "" {
		if err := os.WriteFile(dir+"/"+name+".png", picture.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// lines reads back a CSV that must have worked.
func lines(t *testing.T, data func(io.Writer) error) [][]string {
	t.Helper()
	var b bytes.Buffer
	if err := data(&b); err != nil {
		t.Fatal(err)
	}
	all, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// syntheticRadials look like gases with a core, a bond, and none.
func syntheticRadials() []radialPanel {
	rng := rand.New(rand.NewPCG(4, 4))
	var panels []radialPanel
	for k, family := range []string{"Morse", "Gaussian", "double Gaussian", "WCA"} {
		p := radialPanel{Family: family}
		for i := range 100 {
			r := (float64(i) + 0.5) * 0.08
			g := 16 * math.Exp(-r*r/4)
			switch k {
			case 0:
				g *= 1 + 3*math.Exp(-50*(r-0.9)*(r-0.9))
			case 2:
				g *= 1 - 0.6*math.Exp(-4*r*r) + 0.4*math.Exp(-10*(r-1.2)*(r-1.2))
			case 3:
				g /= 1 + math.Exp(-20*(r-0.8))
			}
			p.R = append(p.R, r)
			p.Target = append(p.Target, g)
			p.Model = append(p.Model, g*(1+0.1*math.Sin(4*r))*(1+0.01*rng.NormFloat64()))
		}
		panels = append(panels, p)
	}
	return panels
}

func TestRadials(t *testing.T) {
	panels := syntheticRadials()
	drawn(t, "radial", vermilion, func(w io.Writer) error { return drawRadials(w, panels) })
	drawn(t, "radial-three", vermilion, func(w io.Writer) error { return drawRadials(w, panels[:3]) })
	drawn(t, "radial-one", vermilion, func(w io.Writer) error { return drawRadials(w, panels[:1]) })
	all := lines(t, func(w io.Writer) error { return radialData(w, panels) })
	if len(all) != 1+4*100 || all[101][0] != "Gaussian" || all[101][2] != number(panels[1].Target[0]) {
		t.Errorf("%d lines of g(r), %v", len(all), all[101])
	}
	short, nan, empty := panels[0], panels[0], panels[0]
	short.Model = short.Model[1:]
	nan.Target = slices.Clone(nan.Target)
	nan.Target[7] = math.NaN()
	empty.Target, empty.Model = make([]float64, 100), make([]float64, 100)
	for says, bad := range map[string][]radialPanel{"no families": nil, "99 of the model": {short}, "not finite at distance 0.6": {nan}, "no pairs": {empty}} {
		if err := drawRadials(io.Discard, bad); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want an error with %q: %v", says, err)
		}
	}
}

func TestEnergies(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 5))
	draws := func(n int, scale float64) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(scale * (rng.ExpFloat64()*900 - 400 + 200*rng.NormFloat64()))
		}
		return x
	}
	panels := []energyPanel{{"all kernels", draws(40000, 1), draws(40000, 0.9)}}
	panels[0].Model[3] = 1e9 // a stray state
	drawn(t, "energy", vermilion, func(w io.Writer) error { return drawEnergies(w, panels) })
	for _, family := range []string{"Morse", "Gaussian", "double Gaussian", "WCA"} {
		panels = append(panels, energyPanel{family, draws(8000, 0.2), draws(8000, 0.25)})
	}
	drawn(t, "energy-families", vermilion, func(w io.Writer) error { return drawEnergies(w, panels) })
	h, err := panels[0].histogram()
	if err != nil {
		t.Fatal(err)
	}
	if !(h.lo <= -700 && h.hi >= 3000 && h.hi <= 8000) {
		t.Errorf("range %v to %v", h.lo, h.hi)
	}
	var mass float64
	for _, d := range h.model {
		mass += d * (h.hi - h.lo) / energyBins
	}
	if !(mass > 0.98 && mass <= 1) {
		t.Errorf("the histogram has mass %v", mass)
	}
	if all := lines(t, func(w io.Writer) error { return energyData(w, panels) }); len(all) != 1+5*energyBins {
		t.Errorf("%d lines of energies", len(all))
	}
	equal := []energyPanel{{"equal", []float32{3, 3}, []float32{3, 3, 3}}}
	drawn(t, "energy-equal", vermilion, func(w io.Writer) error { return drawEnergies(w, equal) })
	nan := []energyPanel{{"nan", []float32{3, float32(math.NaN())}, []float32{3}}}
	for says, bad := range map[string][]energyPanel{"no states": nil, "no energies": {{"x", nil, nil}}, "not finite": nan} {
		if err := drawEnergies(io.Discard, bad); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want an error with %q: %v", says, err)
		}
	}
}
