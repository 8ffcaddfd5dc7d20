package report

import (
	"bytes"
	"context"
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
)

// dataOf reads a figure's data.
func dataOf(t *testing.T, dir, name string) [][]string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	cells, err := csv.NewReader(bytes.NewReader(raw)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return cells
}

func captions(t *testing.T, in Input) (dir string, names []string) {
	t.Helper()
	dir = t.TempDir()
	if _, err := Write(context.Background(), dir, in); err != nil {
		t.Fatal(err)
	}
	figures, err := Captions(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range figures {
		names = append(names, f.Name)
	}
	return dir, names
}

// Only where a Sinkhorn divergence is drawn does the caption speak of it.
func TestCaptionOfFunctions(t *testing.T) {
	const warning = "the annealed Sinkhorn divergence may be negative"
	for _, c := range []struct {
		distances [2]evaluate.Distance
		want      bool
	}{
		{[2]evaluate.Distance{evaluate.Sinkhorn, evaluate.W2}, true},
		{[2]evaluate.Distance{evaluate.Features, evaluate.Radial}, false},
	} {
		got := functionsCaption(c.distances)
		if strings.Contains(got, warning) != c.want || !strings.HasSuffix(got, ".") || !strings.Contains(got, c.distances[1].Name) {
			t.Errorf("caption of %s: %s", c.distances[0].Name, got)
		}
	}
}

// In the plane the samples of the percentile functions are shown.
func TestFiguresOfThePlane(t *testing.T) {
	in := syntheticInput(t)
	in.Results.Dim = 2
	for i := range in.FigureData.Percentiles { // an even number of numbers is points too
		in.FigureData.Percentiles[i].X, in.FigureData.Percentiles[i].PDF, in.FigureData.Percentiles[i].CDF = nil, nil, nil
	}
	dir, names := captions(t, in)
	if want := []string{"loss", "samples", "functions", "spread"}; !slices.Equal(names, want) {
		t.Errorf("figures %q, want %q", names, want)
	}
	sets := map[string]int{}
	for _, l := range dataOf(t, dir, "samples.csv")[1:] {
		sets[l[2]]++
	}
	n := 0
	for _, p := range in.FigureData.Percentiles {
		n += len(p.Model) / 2
	}
	if len(sets) != 3 || sets["target"] != n || sets["generated"] != n || sets[in.FigureData.Percentiles[0].MCMCName] != n {
		t.Errorf("samples of %v, want %d each", sets, n)
	}
}

// Of particles g(r) and energies are shown, by kinds of kernels, and the leading
// distance is that of features.
func TestFiguresOfParticles(t *testing.T) {
	in := syntheticInput(t)
	in.Results.Dim = 64
	for k := range in.Results.Rows {
		for i := range in.Results.Rows[k].Functions {
			f := &in.Results.Rows[k].Functions[i]
			f.Observables = &evaluate.Observables{FeatureW2: 10 * f.W2, RadialError: f.W2, MarginalKL: 0.25}
			f.Sinkhorn, f.W2 = 0, 0
		}
	}
	r, g := []float64{0.5, 1, 1.5}, []float64{0, 2, 1}
	in.FigureData = evaluate.FigureData{Kernels: []evaluate.KernelKind{
		{Name: "double_gaussian", Functions: 40, R: r, ReferenceG: g, ModelG: g, ReferenceEnergies: []float32{1, 2, 3}, ModelEnergies: []float32{2, 3, 4}},
		{Name: "wca", Functions: 1, R: r, ReferenceG: g, ModelG: g, ReferenceEnergies: []float32{5, 6}, ModelEnergies: []float32{5, 7}},
	}}
	dir, names := captions(t, in)
	if want := []string{"loss", "radial", "energy", "functions", "spread"}; !slices.Equal(names, want) {
		t.Errorf("figures %q, want %q", names, want)
	}
	for name, want := range map[string][]string{
		"radial.csv": {"double gaussian, 40 kernels", "wca, 1 kernel"},
		"energy.csv": {"all kernels", "double gaussian, 40 kernels", "wca, 1 kernel"},
	} {
		var sets []string
		for _, l := range dataOf(t, dir, name)[1:] {
			sets = append(sets, l[0])
		}
		if sets = slices.Compact(sets); !slices.Equal(sets, want) {
			t.Errorf("%s has %q, want %q", name, sets, want)
		}
	}
	functions := dataOf(t, dir, "functions.csv")
	if head := strings.Join(functions[0], ","); head != "row,function,sliced_w2,variance_ratio,feature_w2,radial_error,marginal_kl,energy_ks,energy_mean,energy_std,energy_mean_reference,energy_std_reference" {
		t.Errorf("functions.csv has the columns %s", head)
	}
	if spread := dataOf(t, dir, "spread.csv"); spread[1][1] != functions[1][4] {
		t.Errorf("spread of %s, the first feature distance is %s", spread[1][1], functions[1][4])
	}
	in.FigureData.Kernels = in.FigureData.Kernels[:1]
	if panels := energyPanels(in.FigureData.Kernels); len(panels) != 1 || panels[0].Name == "all kernels" {
		t.Errorf("panels of one kind of kernel: %+v", panels)
	}
}
