package evaluate

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/model/evaluation/metrics"
	"github.com/ergoflow/ergoflow/model/evaluation/observables"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

func TestDescribe(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		want   Statistic
	}{
		{nil, Statistic{}},
		{[]float64{3}, Statistic{Mean: 3, Median: 3}},
		{[]float64{2, 2, 2}, Statistic{Mean: 2, Median: 2}},
		{[]float64{4, 1}, Statistic{Mean: 2.5, StdErr: 1.5, Median: 2.5, MeanInterval: new([2]float64)}},
		// s² = (16+0+1+1+4)/4 = 5.5, s.e. = √(5.5/5)
		{[]float64{9, 5, 4, 4, 3}, Statistic{Mean: 5, StdErr: math.Sqrt(1.1), Median: 4, MeanInterval: new([2]float64)}},
	} {
		got := describe(tt.values, nil)
		if !(math.Abs(got.Mean-tt.want.Mean) <= 1e-12) || got.Median != tt.want.Median || !(math.Abs(got.StdErr-tt.want.StdErr) <= 1e-12) {
			t.Errorf("%v: %+v, want %+v", tt.values, got, tt.want)
		}
		for _, i := range []struct {
			ends  *[2]float64
			about float64
		}{{got.MeanInterval, got.Mean}, {got.MedianInterval, got.Median}} {
			if (i.ends != nil) != (tt.want.MeanInterval != nil) || i.ends != nil && !(i.ends[0] <= i.about && i.about <= i.ends[1]) {
				t.Errorf("%v: interval %v about %v", tt.values, i.ends, i.about)
			}
		}
	}
}

// onLine is N(m, s²) as a family.Law with what w2Exact needs.
type onLine struct{ m, s float64 }

func (g onLine) Quantile(u float64) float64           { return g.m + g.s*math.Sqrt2*math.Erfinv(2*u-1) }
func (g onLine) PDF(x float64) float64                { return math.NaN() }
func (g onLine) CDF(x float64) float64                { return math.NaN() }
func (g onLine) Mean() float64                        { return g.m }
func (g onLine) Variance() float64                    { return g.s * g.s }
func (g onLine) Sample(dst []float32, rng *rand.Rand) {}

var _ family.Law = onLine{}

// W2² of N(0,1) from N(m,s²) is m² + (s−1)².
func TestW2Exact(t *testing.T) {
	n := 4096
	quantiles := make([]float32, n)
	for i := range quantiles {
		// Shuffled: the order of samples must not matter.
		quantiles[(i*2731)%n] = float32(onLine{0, 1}.Quantile((float64(i) + 0.5) / float64(n)))
	}
	for _, g := range []onLine{{0, 1}, {2, 1}, {-1, 0.5}, {3, 2}} {
		want := math.Hypot(g.m, g.s-1)
		if got := w2Exact(quantiles, g); !(math.Abs(got-want) <= 1e-3*max(want, 0.01)) {
			t.Errorf("W2 from N(%v, %v²) is %v, want %v", g.m, g.s, got, want)
		}
	}
}

// Zero mixed functions is in the JSON; without exact laws the field is missing.
func TestMixedInJSON(t *testing.T) {
	here, far := []float32{-1, 0, 1}, onLine{9, 1}
	for _, tt := range []struct {
		functions []heldOutFunction
		want      string
	}{
		{[]heldOutFunction{{reference: here, law: far}}, `"mixed":0,`},
		{[]heldOutFunction{{reference: here, law: far}, {reference: here, law: onLine{0, 1}}}, `"mixed":1,`},
		{[]heldOutFunction{{reference: here}}, ""},
	} {
		var r Results
		r.describeReference(tt.functions)
		encoded, err := json.Marshal(r)
		if err != nil || !strings.Contains(string(encoded), tt.want) || strings.Contains(string(encoded), `"mixed":`) != (tt.want != "") {
			t.Errorf("error %v, want %q in %s", err, tt.want, encoded)
		}
	}
}

func TestSubsampleTakesFromAllChains(t *testing.T) {
	stored := make([]float32, 4096) // 1,024 chains of 4, chain after chain
	for i := range stored {
		stored[i] = float32(i / 4)
	}
	part := subsample(stored, 1024, 1)
	for i, chain := range part {
		if int(chain) != i {
			t.Fatalf("sample %d comes from chain %v", i, chain)
		}
	}
	if all := subsample(stored, 4096, 1); all[17] != stored[17] || len(all) != 4096 {
		t.Error("taking all of them reorders")
	}
}

func TestSignificant(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.0290: "0.0290", 0.00234567: "0.00235", 1.4567: "1.46", 14.567: "14.6", 145.67: "146", 123456: "123456",
		0.000123: "0.000123", 0.0000123: "1.2e-05", -0.0171: "-0.0171", 0.99999: "1.00", 2e7: "2.0e+07",
	} {
		if got := significant(v); got != want {
			t.Errorf("significant(%v) = %s, want %s", v, got, want)
		}
	}
}

// tableResults has round numbers for the golden table.
func tableResults(t *testing.T) *Results {
	t.Helper()
	r := &Results{Experiment: configuration(t, "rare1d"), Functions: 64, Samples: 4096, MixedBelow: 0.2, Mixed: new(48), ReferenceToExact: []float64{0.0291},
		Reference: Statistic{Mean: 0.0291, Median: 0.0187}}
	for i, row := range []Row{
		{Kind: Floor, Name: "floor", SolveSeconds: 0.125},
		{Kind: MCMC, Name: "mcmc 500k steps", Note: "64 chains", SolveSeconds: 12.5},
		{Kind: MCMC, Name: "mcmc 7k steps", SolveSeconds: 0.5},
		{Kind: Model, Name: "model", SetupSeconds: 1.25, SolveSeconds: 2.5},
		{Kind: Normal, Name: "N(0,1)"},
	} {
		x := float64(i + 1)
		row.Summary = Summary{
			Sinkhorn:          Statistic{Mean: 0.01 * x, Median: 0.001 * x},
			SinkhornConverged: Statistic{Mean: 0.02 * x, Median: 0.002 * x},
			Residual:          1e-5 * x,
			W2:                Statistic{Mean: 0.1 * x, StdErr: 0.0125 * x, MeanInterval: &[2]float64{0.075 * x, 0.125 * x}, Median: 0.05 * x},
			W2Mixed:           Statistic{Mean: 0.08 * x, Median: 0.04 * x},
			W2Unmixed:         Statistic{Mean: 0.16 * x, Median: 0.1 * x},
			SinkhornMixed:     Statistic{Mean: 0.008 * x, Median: 0.0007 * x},
			SinkhornUnmixed:   Statistic{Mean: 0.016 * x, Median: 0.002 * x},
			W2Exact:           Statistic{Mean: 0.11 * x, Median: 0.06 * x},
			KSRejected:        0.2 * x,
			VarianceRatio:     Statistic{Median: 1 + 0.1*x},
		}
		r.Rows = append(r.Rows, row)
	}
	return r
}

// Blocks have all columns once, in order, and no more than fit.
func TestBlocks(t *testing.T) {
	table := tableResults(t).Table()
	for _, limit := range []int{1, 60, 120, 10_000} {
		columns, groups := []string{table.Columns[0]}, []Group{table.Groups[0]}
		for _, part := range table.Blocks(limit) {
			columns, groups = append(columns, part.Columns[1:]...), append(groups, part.Groups[1:]...)
			checkRectangular(t, part)
			width := 0
			for _, w := range part.widths() {
				width += w + 2
			}
			if width-2 > limit && len(part.Groups) > 2 {
				t.Errorf("limit %d: a block of %d characters with %d groups", limit, width-2, len(part.Groups)-1)
			}
		}
		if !slices.Equal(columns, table.Columns) || !slices.Equal(groups, table.Groups) {
			t.Errorf("limit %d: columns %q of %q", limit, columns, table.Columns)
		}
	}
}

func TestTableGolden(t *testing.T) {
	table := tableResults(t).Table()
	for name, got := range map[string]string{"table.txt": table.Text(), "table.md": table.Markdown()} {
		path := filepath.Join("testdata", name)
		if os.Getenv("UPDATE_GOLDEN") != "" {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s differs:\n%s\nwant:\n%s", name, got, want)
		}
	}
}

// Columns are there where their numbers are: of samples in the plane without an
// exact law and without a table in the paper, twelve.
func TestTableOfThePlane(t *testing.T) {
	r := tableResults(t)
	r.Dim, r.ReferenceToExact, r.Experiment.Name = 2, nil, "plane"
	for i := range r.Rows {
		s := r.Rows[i].Summary
		r.Rows[i].Summary = Summary{Sinkhorn: s.Sinkhorn, SinkhornConverged: s.SinkhornConverged, SlicedW2: s.W2, VarianceRatio: s.VarianceRatio}
	}
	table := r.Table()
	var groups []string
	for _, g := range table.Groups {
		groups = append(groups, g.Name)
	}
	if want := []string{"", "Sinkhorn", "model", "sliced W2", "time (s)", "Sinkhorn converged", "variance"}; !slices.Equal(groups, want) {
		t.Errorf("groups %q, want %q", groups, want)
	}
	if want := []string{"model", "0.0400", "–", "0.00400", "–", "0.400", "0.300…0.500", "0.200", "1.25", "2.50", "0.0800", "0.00800", "1.40"}; !slices.Equal(table.Rows[3], want) {
		t.Errorf("row %q, want %q", table.Rows[3], want)
	}
	checkRectangular(t, table)
	text, err := json.Marshal(r.Rows[3].Summary)
	if err != nil || strings.Contains(string(text), `"w2"`) || !strings.Contains(string(text), `"sliced_w2"`) {
		t.Errorf("the summary's JSON is %s, %v", text, err)
	}
	for _, note := range table.Notes {
		if strings.Contains(note, "KS") || strings.Contains(note, "exact law") {
			t.Errorf("a note of what is not there: %s", note)
		}
	}
}

// Of particles the table has observables instead of divergences, and the paper's
// numbers beside the rows that have them.
func TestTableOfParticles(t *testing.T) {
	r := tableResults(t)
	r.Dim, r.ReferenceToExact, r.Experiment = 64, nil, configuration(t, "particles64d")
	for i := range r.Rows {
		o := &ObservableSummary{FeatureW2: Statistic{Mean: 2, Median: 1, MeanInterval: &[2]float64{1.5, 3}},
			RadialError: Statistic{Mean: 0.5, Median: 0.25}, MarginalKL: Statistic{Mean: 0.002, Median: 0.001}}
		o.Pooled.RadialError, o.Pooled.MarginalKL = 0.125, 0.0005
		o.Pooled.Energy = observables.Energies{Model: observables.Moments{Mean: 90, Std: 20}, Target: observables.Moments{Mean: 100, Std: 10}, RelativeMean: -0.1, RelativeStd: 1, KS: 0.375}
		closer := 7
		r.Rows[i].Summary = Summary{SlicedW2: Statistic{Mean: 0.3, Median: 0.2}, Observables: o}
		r.Rows[i].ModelCloser = &closer
		r.Rows[i].Functions = make([]FunctionResult, 9)
		r.Rows[i].Functions[0].Observables = &Observables{}
	}
	r.Rows[3].ModelCloser = nil
	table := r.Table()
	checkRectangular(t, table)
	want := []string{"model",
		"2.00", "1.50…3.00", "1.00", "1.786", "1.0159", // features, paper
		"–", "–", // closer, paper
		"0.500", "0.250", "0.125", "0.6865", // g(r), paper
		"0.00200", "0.00100", "0.000500", "0.00121", // marginal, paper
		"0", "0.375", "0.1585", // KS, paper
		"90.0", "-10.0 %", "20.0", "+100.0 %", "-3.8 %", "-2.1 %", "+0.0 %", "+0.0 %", // energies, paper, per function
		"0.300", "–", "0.200", "1.25", "2.50", "0.00"}
	if !slices.Equal(table.Rows[3], want) {
		t.Errorf("row\n%q, want\n%q", table.Rows[3], want)
	}
	if row := table.Rows[4]; row[4] != "20.0154" || row[6] != "7/9" || row[7] != "98/100" {
		t.Errorf("the paper's N(0,I) and the functions where the model is closer: %q", row)
	}
	if notes := strings.Join(table.Notes, "\n"); !strings.Contains(notes, "100 ± 10.0") || strings.Contains(notes, "Sinkhorn") || !strings.Contains(notes, "d4_ablation") {
		t.Errorf("notes: %s", notes)
	}
	for _, part := range table.Blocks(80) {
		checkRectangular(t, part)
	}
}

// In the plane a row's numbers are the metrics' of the same points, and a
// function's own reference is at distance zero.
func TestDistancesInThePlane(t *testing.T) {
	e, err := experiment.Load("vn1d", "smoke", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	grid := sde.Grid{Lo: -1, Hi: 1, N: 2}
	reference, x := make([]float32, 512), make([]float32, 512)
	standardNormal(2).draw(reference, 1, "reference", 0)
	gaussian{[]float64{1, 0}, [][]float64{{1}, {0, 2}}}.draw(x, 1, "x", 0)
	f := heldOutFunction{index: 7, function: family.Function{System: sde.Plane{X: grid, Y: grid}}}
	f.compareWith(reference)
	got, _, err := distances(e.Evaluation, f, x)
	if err != nil {
		t.Fatal(err)
	}
	sliced, err := metrics.SlicedW2(cloud(x, 2), cloud(reference, 2), directions, 0)
	if err != nil {
		t.Fatal(err)
	}
	sinkhorn, err := metrics.Sinkhorn(cloud(x, 2), cloud(reference, 2), metrics.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got.SlicedW2 != sliced || got.Sinkhorn != sinkhorn || !(got.SinkhornConverged >= 0.1) || got.W2 != 0 || got.KS != 0 {
		t.Errorf("got %+v, want sliced W2 %v, Sinkhorn %v and nothing of the line", got, sliced, sinkhorn)
	}
	if !(math.Abs(got.VarianceRatio-2.5) <= 0.5) { // (1 + 4)/2
		t.Errorf("variance ratio %v", got.VarianceRatio)
	}
	same, _, err := distances(e.Evaluation, f, reference)
	if err != nil || same.SlicedW2 != 0 || !(math.Abs(same.Sinkhorn) <= 1e-9) || same.VarianceRatio != 1 {
		t.Errorf("the reference itself: %+v, %v", same, err)
	}
	f.compareWith(make([]float32, 512))
	if _, _, err := distances(e.Evaluation, f, x); err == nil {
		t.Error("a reference of equal points: no error")
	}
}

// Distances in the frame of standardised states have no unit: x and reference in other units,
// along each axis, have the same ones.
func TestDistancesHaveNoUnit(t *testing.T) {
	e, err := experiment.Load("vn1d", "smoke", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	for dim, frame := range map[int]flow.Frame{
		1: {{Mean: -5, Std: 8192}},
		2: {{Mean: 1, Std: 8192}, {Mean: -0x1p-12, Std: 0x1p-12}},
	} {
		grid := sde.Grid{Lo: -1, Hi: 1, N: 2}
		f := heldOutFunction{function: family.Function{System: sde.Plane{X: grid, Y: grid}}}
		if dim == 1 {
			f.function.System, f.law = sde.Coefficients{Grid: grid}, onLine{m: 0.5, s: 1}
		}
		reference, x := make([]float32, 512*dim), make([]float32, 512*dim)
		standardNormal(dim).draw(reference, 1, "reference", 0)
		standardNormal(dim).draw(x, 1, "x", 0)
		for i := range x {
			x[i] += 0.5
		}
		f.compareWith(reference)
		want, _, err := distances(e.Evaluation, f, x)
		if err != nil {
			t.Fatal(err)
		}
		f.frame = frame
		if dim == 1 {
			f.law = onLine{m: frame[0].Mean + 0.5*frame[0].Std, s: frame[0].Std}
		}
		frame.Restore(reference)
		frame.Restore(x)
		f.compareWith(reference)
		got, _, err := distances(e.Evaluation, f, x)
		if err != nil {
			t.Fatal(err)
		}
		for name, pair := range map[string][2]float64{
			"Sinkhorn": {got.Sinkhorn, want.Sinkhorn}, "converged": {got.SinkhornConverged, want.SinkhornConverged},
			"W2": {got.W2, want.W2}, "sliced W2": {got.SlicedW2, want.SlicedW2}, "exact": {got.W2Exact, want.W2Exact},
			"KS": {got.KS, want.KS}, "variance ratio": {got.VarianceRatio, want.VarianceRatio},
		} {
			if !(math.Abs(pair[0]-pair[1]) <= 1e-3*math.Abs(pair[1])) {
				t.Errorf("%d dimensions: %s is %g in other units, %g in standard ones", dim, name, pair[0], pair[1])
			}
		}
	}
}

// Nor do observables of particles have a unit: the same ones come from positions in others.
func TestObservablesHaveNoUnit(t *testing.T) {
	f := heldOutFunction{function: family.Function{System: sde.Particles{N: 8}}}
	reference, x := make([]float32, 512*16), make([]float32, 512*16)
	standardNormal(16).draw(reference, 1, "reference", 0)
	standardNormal(16).draw(x, 1, "x", 0)
	for i := range x {
		x[i] *= 0.5
	}
	in := func(unit float64) *Observables {
		t.Helper()
		frame := slices.Repeat(flow.Frame{{Std: unit}}, 16)
		reference, x := slices.Clone(reference), slices.Clone(x)
		frame.Restore(reference)
		frame.Restore(x)
		f.frame = frame
		f.compareWith(reference)
		if err := f.observe(family.Potential{Trap: 1, Pair: func(float64) float64 { return 0 }}); err != nil {
			t.Fatal(err)
		}
		o, _, err := f.observables(x)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	want := in(1)
	for _, unit := range []float64{0x1p13, 0x1p-12} {
		got := in(unit)
		for name, pair := range map[string][2]float64{
			"feature distance": {got.FeatureW2, want.FeatureW2}, "g(r)": {got.RadialError, want.RadialError},
			"marginals": {got.MarginalKL, want.MarginalKL}, "KS of energies": {got.Energy.KS, want.Energy.KS},
		} {
			if !(math.Abs(pair[0]-pair[1]) <= 1e-5*pair[1]) {
				t.Errorf("in units of %g: %s is %g, in others %g", unit, name, pair[0], pair[1])
			}
		}
	}
}

func TestTableIsRectangular(t *testing.T) { checkRectangular(t, tableResults(t).Table()) }

func checkRectangular(t *testing.T, table Table) {
	t.Helper()
	width := 0
	for _, g := range table.Groups {
		width += g.Width
	}
	if width != len(table.Columns) {
		t.Errorf("groups span %d columns of %d", width, len(table.Columns))
	}
	for _, row := range table.Rows {
		if len(row) != len(table.Columns) {
			t.Errorf("row %q has %d cells, want %d", row[0], len(row), len(table.Columns))
		}
	}
	markdown := strings.Split(table.Markdown(), "\n")
	for _, line := range markdown[:2+len(table.Rows)] {
		if n := strings.Count(line, "|"); n != len(table.Columns)+1 {
			t.Errorf("%d bars in %q", n, line)
		}
	}
}
