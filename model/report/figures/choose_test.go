package figures

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
	"github.com/ergoflow/ergoflow/model/report/reporttest"
)

// drawAll draws every figure and returns their names in order and their data.
func drawAll(t *testing.T, r *evaluate.Results, data evaluate.FigureData) (names []string, csvs map[string][][]string) {
	t.Helper()
	csvs = map[string][][]string{}
	for _, f := range Of(r, data, reporttest.Losses(2000)) {
		d, err := f.Draw()
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, d.Name)
		if csvs[d.Name], err = csv.NewReader(bytes.NewReader(d.CSV)).ReadAll(); err != nil {
			t.Fatal(err)
		}
	}
	return names, csvs
}

// The caption warns of negative values where it draws a Sinkhorn divergence, and only
// there.
func TestCaptionOfFunctions(t *testing.T) {
	const warning = "the annealed Sinkhorn divergence may be negative"
	for _, c := range []struct {
		distances [2]evaluate.Distance
		want      bool
	}{
		{[2]evaluate.Distance{evaluate.Sinkhorn, evaluate.W2}, true},
		{[2]evaluate.Distance{evaluate.Features, evaluate.Radial}, false},
	} {
		got := functionsFigure(&evaluate.Results{}, c.distances).caption
		if strings.Contains(got, warning) != c.want || !strings.HasSuffix(got, ".") || !strings.Contains(got, c.distances[1].Name) {
			t.Errorf("caption of %s: %s", c.distances[0].Name, got)
		}
	}
}

// In the plane the samples of the percentile functions are shown.
func TestFiguresOfThePlane(t *testing.T) {
	r, data := reporttest.Results(t), reporttest.FigureData()
	r.Dim = 2
	for i := range data.Percentiles { // an even number of numbers is points too
		data.Percentiles[i].X, data.Percentiles[i].PDF, data.Percentiles[i].CDF = nil, nil, nil
	}
	names, csvs := drawAll(t, r, data)
	if want := []string{"loss", "samples", "functions", "spread"}; !slices.Equal(names, want) {
		t.Errorf("figures %q, want %q", names, want)
	}
	sets := map[string]int{}
	for _, l := range csvs["samples"][1:] {
		sets[l[2]]++
	}
	n := 0
	for _, p := range data.Percentiles {
		n += len(p.Model) / 2
	}
	if len(sets) != 3 || sets["target"] != n || sets["generated"] != n || sets[data.Percentiles[0].MCMCName] != n {
		t.Errorf("samples of %v, want %d each", sets, n)
	}
}

// Of particles g(r) and energies are shown, by kinds of kernels, and the leading
// distance is that of features.
func TestFiguresOfParticles(t *testing.T) {
	r := reporttest.Results(t)
	r.Dim = 64
	for k := range r.Rows {
		for i := range r.Rows[k].Functions {
			f := &r.Rows[k].Functions[i]
			f.Observables = &evaluate.Observables{FeatureW2: 10 * f.W2, RadialError: f.W2, MarginalKL: 0.25}
			f.Sinkhorn, f.W2 = 0, 0
		}
	}
	radii, g := []float64{0.5, 1, 1.5}, []float64{0, 2, 1}
	data := evaluate.FigureData{Kernels: []evaluate.KernelKind{
		{Name: "double_gaussian", Functions: 40, R: radii, ReferenceG: g, ModelG: g, ReferenceEnergies: []float32{1, 2, 3}, ModelEnergies: []float32{2, 3, 4}},
		{Name: "wca", Functions: 1, R: radii, ReferenceG: g, ModelG: g, ReferenceEnergies: []float32{5, 6}, ModelEnergies: []float32{5, 7}},
	}}
	names, csvs := drawAll(t, r, data)
	if want := []string{"loss", "radial", "energy", "functions", "spread"}; !slices.Equal(names, want) {
		t.Errorf("figures %q, want %q", names, want)
	}
	for name, want := range map[string][]string{
		"radial": {"double gaussian, 40 kernels", "wca, 1 kernel"},
		"energy": {"all kernels", "double gaussian, 40 kernels", "wca, 1 kernel"},
	} {
		var sets []string
		for _, l := range csvs[name][1:] {
			sets = append(sets, l[0])
		}
		if sets = slices.Compact(sets); !slices.Equal(sets, want) {
			t.Errorf("%s has %q, want %q", name, sets, want)
		}
	}
	functions := csvs["functions"]
	if head := strings.Join(functions[0], ","); head != "row,function,sliced_w2,variance_ratio,feature_w2,radial_error,marginal_kl,energy_ks,energy_mean,energy_std,energy_mean_reference,energy_std_reference" {
		t.Errorf("functions.csv has the columns %s", head)
	}
	if spread := csvs["spread"]; spread[1][1] != functions[1][4] {
		t.Errorf("spread of %s, the first feature distance is %s", spread[1][1], functions[1][4])
	}
	data.Kernels = data.Kernels[:1]
	if panels := energyPanels(data.Kernels); len(panels) != 1 || panels[0].Name == "all kernels" {
		t.Errorf("panels of one kind of kernel: %+v", panels)
	}
}
