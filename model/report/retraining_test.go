package report

import (
	"context"
	"encoding/csv"
	"encoding/json"
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
	"github.com/ergoflow/ergoflow/model/registry/gate"
	"github.com/ergoflow/ergoflow/model/report/reporttest"
)

// syntheticRetraining has a candidate that is better than the champion by a fifth on most of the
// functions.
func syntheticRetraining(t *testing.T) Retraining {
	t.Helper()
	champion := reporttest.Results(t)
	candidate := *champion
	candidate.Rows = slices.Clone(champion.Rows)
	model := &candidate.Rows[2]
	model.Functions = slices.Clone(model.Functions)
	rng := rand.New(rand.NewPCG(7, 8))
	for k := range model.Functions {
		f := &model.Functions[k]
		factor := 0.8 * math.Exp(0.25*rng.NormFloat64())
		f.W2, f.Sinkhorn, f.VarianceRatio = f.W2*factor, f.Sinkhorn*factor*factor, 1.03
	}
	in := Retraining{
		Name: "vn1d-nightly", Candidate: &candidate, Champion: champion, CandidateVersion: 9, ChampionVersion: 7,
		Verdict: gate.Judge(gate.Default(), &candidate, champion), Now: 9,
		Facts:       []Fact{{"new data", "4,096 functions"}},
		Stages:      []StageTime{{"train", 247 * time.Second, "16,128 steps"}},
		Environment: Here(), Created: time.Date(2026, 11, 21, 2, 40, 0, 0, time.UTC),
	}
	for i, mean := range []float64{0.47, 0.39, 0.41, 0.385, 0.9, 0.36, 0.33, 0.335, 0.27} {
		low, high := 0.88*mean, 1.14*mean
		p := Promotion{Time: time.Date(2026, 11, 13+i, 2, 30, 0, 0, time.UTC), Version: i + 1, Decision: gate.Promote, Metric: "w2", Mean: mean, Low: &low, High: &high}
		switch i {
		case 2, 3, 7:
			p.Decision = gate.Keep
		case 4:
			p.Decision = gate.Refuse
		}
		in.History = append(in.History, p)
	}
	return in
}

func TestWriteRetraining(t *testing.T) {
	in := syntheticRetraining(t)
	if in.Verdict.Decision != gate.Promote {
		t.Fatalf("%q", in.Verdict.Reasons)
	}
	dir := t.TempDir()
	path, err := WriteRetraining(context.Background(), dir, in)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != "comparison.csv comparison.png metrics.csv promotions.csv promotions.png report.html verdict.json" {
		t.Errorf("files %s", got)
	}
	if out := os.Getenv("ERGOFLOW_FIGURES"); out != "" {
		if err := os.CopyFS(out+"/retraining", os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
	}
	html := read(t, path)
	for _, m := range regexp.MustCompile(`(?i)(src|href)\s*=\s*"([^"]*)"|url\(([^)]*)\)|@import|<script|<link`).FindAllStringSubmatch(html, -1) {
		if !strings.HasPrefix(m[2], "data:image/png;base64,") {
			t.Errorf("the page refers to %q", m[0])
		}
	}
	for _, want := range []string{"The candidate is promoted", in.Verdict.Reasons[0], "vn1d-nightly", "version 9", "champion before", "4,096 functions", "W2 (units of x)", `<tr class="model">`, "<style>"} {
		if !strings.Contains(html, strings.NewReplacer("+", "&#43;").Replace(want)) {
			t.Errorf("%q is missing in the page", want)
		}
	}
	for name, lines := range map[string]int{"comparison.csv": 1 + 64, "promotions.csv": 1 + 9, "metrics.csv": 1 + len(in.Verdict.Differences)} {
		all, err := csv.NewReader(strings.NewReader(read(t, filepath.Join(dir, name)))).ReadAll()
		if err != nil || len(all) != lines {
			t.Errorf("%s: %d lines, want %d: %v", name, len(all), lines, err)
		}
	}
	var back gate.Verdict
	if err := json.Unmarshal([]byte(read(t, filepath.Join(dir, "verdict.json"))), &back); err != nil || back.Decision != gate.Promote {
		t.Errorf("verdict.json: %v", err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Without a champion, without a history, or where the two cannot be compared, the page says why
// and leaves out what there is not.
func TestRetrainingWithLess(t *testing.T) {
	for name, tt := range map[string]struct {
		change  func(*Retraining)
		files   int
		says    string
		without string
	}{
		"no champion": {func(in *Retraining) {
			in.Champion, in.History = nil, nil
			in.Verdict = gate.Judge(gate.Default(), in.Candidate, nil)
		}, 3, "there is no champion", "<img"},
		"no champion yet, after candidates in another metric": {func(in *Retraining) {
			in.Champion = nil
			in.Verdict = gate.Judge(gate.Default(), in.Candidate, nil)
			in.History[0].Metric = "ks"
		}, 5, "judged in another metric or have no finite mean: 1", "Champion beside candidate"},
		"not comparable": {func(in *Retraining) {
			champion := *in.Champion
			champion.Samples = 7
			in.Champion = &champion
			in.Verdict = gate.Judge(gate.Default(), in.Candidate, &champion)
			in.History[0].Metric, in.History[1].Mean = "ks", math.NaN()
		}, 5, "The candidate is refused", "Champion beside candidate"},
		"not finite": {func(in *Retraining) {
			in.Candidate.Rows[2].Functions[1].W2 = math.Inf(1)
			in.Verdict = gate.Judge(gate.Default(), in.Candidate, in.Champion)
		}, 3, "W2 +Inf for function 64513", "NaN"},
		"hostile names": {func(in *Retraining) { in.Name, in.Facts = "<script>", []Fact{{"<script>", "<script>"}} }, 7, "&lt;script&gt;", "<script"},
	} {
		in := syntheticRetraining(t)
		tt.change(&in)
		dir := t.TempDir()
		path, err := WriteRetraining(context.Background(), dir, in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		html := strings.ReplaceAll(read(t, path), "&#43;", "+")
		if !strings.Contains(strings.ToLower(html), strings.ToLower(tt.says)) || strings.Contains(html, tt.without) {
			t.Errorf("%s: says %q: %v, has %q: %v", name, tt.says, strings.Contains(html, tt.says), tt.without, strings.Contains(html, tt.without))
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != tt.files {
			t.Errorf("%s: %d files, want %d", name, len(entries), tt.files)
		}
	}
	if _, err := WriteRetraining(context.Background(), t.TempDir(), Retraining{}); err == nil {
		t.Error("no candidate: no error")
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := WriteRetraining(cancelled, t.TempDir(), syntheticRetraining(t)); err == nil {
		t.Error("cancelled: no error")
	}
}

// Every metric of the gate has a name for people.
func TestMetricLabels(t *testing.T) {
	r := reporttest.Results(t)
	table, err := gate.TableOf(r, evaluate.Model)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"sliced_w2", "feature_w2", "radial_error", "marginal_kl", "energy_ks", "w2_exact"}
	for _, m := range table.Metrics {
		names = append(names, m.Name)
	}
	for _, metric := range names {
		if name, _ := metricLabel(r, metric); name == metric || name == "" {
			t.Errorf("%s is called %q", metric, name)
		}
	}
	r.Units = []float64{2}
	if _, unit := metricLabel(r, "w2"); unit != "units of the deviation" {
		t.Errorf("standardised W2 is in %s", unit)
	}
}
