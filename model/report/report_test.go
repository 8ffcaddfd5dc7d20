package report

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
	"github.com/ergoflow/ergoflow/model/report/reporttest"
)

// syntheticInput is a report with plausible numbers that no run has made.
func syntheticInput(t *testing.T) Input {
	t.Helper()
	return Input{
		Results:     reporttest.Results(t),
		FigureData:  reporttest.FigureData(),
		Losses:      reporttest.Losses(2000),
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
		2:  "row,function,sinkhorn,sinkhorn_converged,residual,sliced_w2,energy_distance,marginal_w2,worst_marginal_w2,variance_ratio",
		64: "row,function,sinkhorn,sliced_w2,energy_distance,marginal_w2,worst_marginal_w2,variance_ratio",
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

func TestDurations(t *testing.T) {
	if got := fmt.Sprint(duration(3671*time.Second), duration(99*time.Second), duration(247*time.Second)); got != "1 h 01 min99.0 s4 min 07 s" {
		t.Errorf("durations: %s", got)
	}
}
