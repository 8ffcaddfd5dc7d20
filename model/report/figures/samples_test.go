package figures

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func normals(n int, mean, deviation float64) []float64 {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	x := make([]float64, n)
	for i := range x {
		x[i] = mean + deviation*rng.NormFloat64()
	}
	return x
}

func bell() *Curve {
	c := &Curve{Name: "exact law"}
	for x := -5.; x <= 5; x += 0.01 {
		c.X, c.PDF = append(c.X, x), append(c.PDF, math.Exp(-x*x/2)/math.Sqrt(2*math.Pi))
	}
	return c
}

// Pictures of both kinds are well-formed, and those of the line name what they draw.
func TestDrawSamples(t *testing.T) {
	for name, sets := range map[string][]SampleSet{
		"one":    {{"x.npy", normals(4000, 0, 1), 1}},
		"two":    {{"x.npy", normals(4000, 0, 1), 1}, {"y.npy", normals(100, 1, 1), 1}},
		"single": {{"x.npy", []float64{7}, 1}},
		"plane":  {{"x.npy", normals(4000, 0, 1), 2}, {"y.npy", normals(3000, 0, 1), 2}},
	} {
		law := bell()
		if name == "plane" {
			law = nil
		}
		var picture bytes.Buffer
		if err := DrawSamples(&picture, ".png", sets, law); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if image, err := png.Decode(&picture); err != nil || image.Bounds().Dx() < 500 {
			t.Errorf("%s: %v", name, err)
		}
		picture.Reset()
		if err := DrawSamples(&picture, ".svg", sets, law); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text, decoder := picture.String(), xml.NewDecoder(&picture)
		for {
			_, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		for _, s := range sets {
			if !strings.Contains(text, s.Name) {
				t.Errorf("%s: the picture does not name %s", name, s.Name)
			}
		}
		if law != nil != strings.Contains(text, "exact law") {
			t.Errorf("%s: the law is named: %t", name, law == nil)
		}
	}
}

// The frame has nearly all samples, also of two narrow wells, and leaves out the far ones of a
// law without moments.
func TestLineFrame(t *testing.T) {
	wells := append(normals(950, -1, 0.01), normals(50, 1, 0.01)...)
	cauchy := make([]float64, 10_000)
	for i := range cauchy {
		cauchy[i] = math.Tan(math.Pi * ((float64(i)+0.5)/float64(len(cauchy)) - 0.5))
	}
	for _, c := range []struct {
		name   string
		x      []float64
		lo, hi float64
	}{{"wells", wells, -1.05, 1.05}, {"Cauchy", cauchy, -64, 64}, {"equal", []float64{3, 3, 3}, 1.5, 4.5}} {
		lo, hi, bins := lineFrame([]SampleSet{{c.name, c.x, 1}})
		if math.Abs(lo-c.lo) > 0.02*(c.hi-c.lo) || math.Abs(hi-c.hi) > 0.02*(c.hi-c.lo) || bins < 20 || bins > 120 {
			t.Errorf("%s: %g to %g in %d bins, want %g to %g", c.name, lo, hi, bins, c.lo, c.hi)
		}
	}
}

// In a terminal the blocks are as high as the density, with one scale for samples and law.
func TestTerminalSamples(t *testing.T) {
	uniform := make([]float64, 8000)
	for i := range uniform {
		uniform[i] = (float64(i) + 0.5) / float64(len(uniform))
	}
	law := &Curve{"exact law", []float64{0, 1}, []float64{0.5, 0.5}}
	got, err := TerminalSamples(42, []SampleSet{{"x.npy", uniform, 1}}, law)
	if err != nil {
		t.Fatal(err)
	}
	full, half := strings.Repeat(" "+strings.Repeat("█", 40)+"\n", 8), strings.Repeat("\n", 4)+strings.Repeat(" "+strings.Repeat("█", 40)+"\n", 4)
	ends := " " + strings.Repeat("─", 40) + "\n 6.25e-05" + strings.Repeat(" ", 10) + "0.5" + strings.Repeat(" ", 13) + "0.9999\n"
	if want := "x.npy: 8,000 samples\n" + full + ends + "exact law\n" + half + ends; !strings.HasPrefix(got, want) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	plane, err := TerminalSamples(42, []SampleSet{{"x.npy", normals(4000, 0, 1), 2}}, nil)
	if err != nil || strings.Count(plane, "\n") != 23 || !strings.Contains(plane, "█") {
		t.Errorf("%v\n%s", err, plane)
	}
}

func TestSetsThatCannotBeDrawn(t *testing.T) {
	line, plane := SampleSet{"x", []float64{1, 2}, 1}, SampleSet{"y", []float64{1, 2}, 2}
	for name, sets := range map[string][]SampleSet{
		"none": {}, "many": {line, line, line, line, line, line, line}, "mixed": {line, plane}, "space": {{"z", []float64{1, 2, 3}, 3}}, "empty": {{"x", nil, 1}}, "law in the plane": {plane},
	} {
		if err := DrawSamples(io.Discard, ".png", sets, bell()); !errors.Is(err, ErrSets) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := TerminalSamples(80, sets, bell()); !errors.Is(err, ErrSets) {
			t.Errorf("%s in a terminal: %v", name, err)
		}
	}
}
