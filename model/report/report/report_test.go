package report

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
	"github.com/ergoflow/ergoflow/model/experiment"
)

// syntheticInput is a report with plausible numbers that no run has made.
func syntheticInput(t *testing.T) Input {
	t.Helper()
	e, err := experiment.Load("vn1d", "scaled", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	r := &evaluate.Results{Version: "0.1.0", Experiment: e, Run: e.Hash(), Step: e.Steps(), Parameters: strings.Repeat("5e", 32),
		Backend: "xla:cpu (2 cores)", Functions: 64, Samples: 4096, MixedBelow: 0.2, Mixed: new(44),
		Reference: evaluate.Statistic{Mean: 0.558, Median: 0.082}}
	for _, row := range []struct {
		kind  evaluate.Kind
		name  string
		scale float64
	}{
		{evaluate.Floor, "floor", 0.08}, {evaluate.MCMC, "mcmc", 0.15}, {evaluate.Model, "model", 0.2},
		{evaluate.Untrained, "untrained model", 1.3}, {evaluate.Moments, "moment-matched normal", 0.4}, {evaluate.Normal, "N(0,1)", 1.4},
	} {
		out := evaluate.Row{Kind: row.kind, Name: row.name, SetupSeconds: 1.2, SolveSeconds: 3.4}
		for i := range r.Functions {
			w := row.scale * math.Exp(rng.NormFloat64())
			out.Functions = append(out.Functions, evaluate.FunctionResult{Index: 64512 + i, W2: w, Sinkhorn: w * w / 6, W2Exact: w * 1.1, VarianceRatio: 1})
		}
		out.Summary.W2 = evaluate.Statistic{Mean: 1.6 * row.scale, Median: row.scale, StdErr: 0.03}
		out.Summary.Sinkhorn = evaluate.Statistic{Mean: row.scale * row.scale, Median: row.scale * row.scale / 6}
		out.Summary.KSRejected, out.Summary.VarianceRatio.Median = 0.75, 0.97
		r.Rows = append(r.Rows, out)
	}
	return Input{
		Results:     r,
		FigureData:  evaluate.FigureData{Percentiles: []evaluate.Percentile{syntheticPercentile(25, 1), syntheticPercentile(50, 2), syntheticPercentile(75, 7)}},
		Losses:      syntheticLosses(2000),
		Stages:      []StageTime{{"generate", 31 * time.Second, "64,512 functions"}, {"train", 247 * time.Second, "16,128 steps"}, {"evaluate", 52 * time.Second, ""}},
		Environment: Here(),
		Created:     time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC),
	}
}

// In more dimensions the data of functions has the distances that are there, and
// there are no percentile figures of a line.
func TestMoreDimensions(t *testing.T) {
	for dim, want := range map[int]string{
		1:  "row,function,sinkhorn,sinkhorn_converged,residual,w2,ks,ks_p,variance_ratio,w2_exact",
		2:  "row,function,sinkhorn,sinkhorn_converged,residual,sliced_w2,variance_ratio",
		64: "row,function,sinkhorn,sliced_w2,variance_ratio",
	} {
		in := syntheticInput(t)
		in.Results.Dim = dim
		f := &in.Results.Rows[0].Functions[0]
		f.SlicedW2 = 0.375
		dir := t.TempDir()
		if _, err := Write(context.Background(), dir, in); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(dir, "functions.csv"))
		if err != nil {
			t.Fatal(err)
		}
		lines, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(lines[0], ","); got != want {
			t.Errorf("%d dimensions: columns %s, want %s", dim, got, want)
		}
		if has := slices.Contains(lines[1], "0.375"); has != (dim > 1) {
			t.Errorf("%d dimensions: the first line is %v", dim, lines[1])
		}
		_, err = os.Stat(filepath.Join(dir, "percentiles.png"))
		if (err == nil) != (dim == 1) {
			t.Errorf("%d dimensions: percentiles: %v", dim, err)
		}
	}
}

func TestWriteMakesEveryFile(t *testing.T) {
	in := syntheticInput(t)
	dir := filepath.Join(t.TempDir(), "new", "report")
	path, err := Write(context.Background(), dir, in)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"results.json", "table.txt", "table.md", "loss.png", "loss.csv", "percentiles.png", "percentiles.csv", "functions.png", "functions.csv", "spread.png", "spread.csv", "figures.json", "report.html"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 13 {
		t.Errorf("%d files, want 13: %v", len(entries), entries)
	}
	html, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if out := os.Getenv("ERGOFLOW_FIGURES"); out != "" {
		if err := os.CopyFS(out+"/report", os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
	}
	// Self-contained: the only sources are data URIs, there is no script.
	for _, m := range regexp.MustCompile(`(?i)(src|href)\s*=\s*"([^"]*)"|url\(([^)]*)\)|@import|<script|<link`).FindAllStringSubmatch(string(html), -1) {
		if !strings.HasPrefix(m[2], "data:image/png;base64,") {
			t.Errorf("the page refers to %q", m[0])
		}
	}
	for _, want := range []string{"scaled: F=64512", "moment-matched normal", in.Results.Run, "32,256 of 32,256 steps", "4 min 07 s", `class="model"`, "&#34;batch_functions&#34;: 32"} {
		if !strings.Contains(string(html), want) {
			t.Errorf("%q is missing in the page", want)
		}
	}
	var back evaluate.Results
	raw, err := os.ReadFile(filepath.Join(dir, "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &back); err != nil || back.Rows[2].Functions[5] != in.Results.Rows[2].Functions[5] {
		t.Errorf("results.json does not read back: %v", err)
	}
	raw, err = os.ReadFile(filepath.Join(dir, "functions.csv"))
	if err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(bytes.NewReader(raw)).ReadAll()
	if err != nil || len(lines) != 1+6*64 {
		t.Errorf("functions.csv: %d lines, %v", len(lines), err)
	}
}

func TestEscapesNames(t *testing.T) {
	in := syntheticInput(t)
	in.Results.Rows[1].Name = "<script>alert(1)</script>"
	in.FigureData, in.Losses = evaluate.FigureData{}, nil
	path, err := Write(context.Background(), t.TempDir(), in)
	if err != nil {
		t.Fatal(err)
	}
	html, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(html, []byte("<script")) {
		t.Error("a row's name reached the page unescaped")
	}
}

func TestWriteFailures(t *testing.T) {
	in := syntheticInput(t)
	in.FigureData = evaluate.FigureData{}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(context.Background(), filepath.Join(dir, "file", "report"), in); err == nil {
		t.Error("wrote below a file")
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Write(cancelled, filepath.Join(dir, "cancelled"), in); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "cancelled")); err == nil {
		t.Error("a cancelled report left a directory")
	}
	bad := in
	bad.Losses = []float64{1, math.NaN(), 1}
	if _, err := Write(context.Background(), filepath.Join(dir, "nan"), bad); err == nil || !strings.Contains(err.Error(), "step 2") {
		t.Errorf("NaN loss: %v", err)
	}
	if _, err := Write(context.Background(), dir, Input{}); err == nil {
		t.Error("no results: no error")
	}
}

func TestMovingMean(t *testing.T) {
	got := movingMean([]float64{1, 2, 3, 4, 10}, 3)
	for i, want := range []float64{1.5, 2, 3, 17. / 3, 7} {
		if !(math.Abs(got[i]-want) <= 1e-12) {
			t.Errorf("mean %d is %v, want %v", i, got[i], want)
		}
	}
}

func TestHistogramIsADensity(t *testing.T) {
	density := histogram([]float32{-1, 0, 0.1, 0.99, 1, 5}, -1, 1, 4)
	// Bins of width ½; 1 and 5 lie outside the half-open range.
	for i, want := range []float64{1. / 3, 0, 2. / 3, 1. / 3} {
		if !(math.Abs(density[i]-want) <= 1e-12) {
			t.Errorf("bin %d is %v, want %v", i, density[i], want)
		}
	}
}

func TestTicks(t *testing.T) {
	words := func(lo, hi float64, n niceTicks) string {
		var s []string
		for _, t := range n.Ticks(lo, hi) {
			s = append(s, t.Label)
		}
		return strings.Join(s, " ")
	}
	for _, tt := range []struct {
		lo, hi float64
		n      niceTicks
		want   string
	}{
		{0, 16128, 8, "0 5,000 10,000 15,000"},
		{-0.31, 0.3, 4, "−0.2 0.0 0.2"},
		{-4.2, 4.2, 5, "−4 −2 0 2 4"},
		{0, 1, 5, "0.0 0.2 0.4 0.6 0.8 1.0"},
	} {
		if got := words(tt.lo, tt.hi, tt.n); got != tt.want {
			t.Errorf("[%v, %v]: %s, want %s", tt.lo, tt.hi, got, tt.want)
		}
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 2513792: "2,513,792", -1234: "−1,234"} {
		if got := thousands(n); got != want {
			t.Errorf("thousands(%d) = %s, want %s", n, got, want)
		}
	}
	if got := fmt.Sprint(duration(3671*time.Second), duration(99*time.Second), duration(247*time.Second)); got != "1 h 01 min99.0 s4 min 07 s" {
		t.Errorf("durations: %s", got)
	}
}
