package report

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"time"

	"github.com/ergoflow/ergoflow/internal/finitejson"
	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
	"github.com/ergoflow/ergoflow/model/registry/gate"
	"github.com/ergoflow/ergoflow/model/report/figures"
)

// Retraining has everything that the report of a retraining shows.
type Retraining struct {
	Name      string            // of the model
	Candidate *evaluate.Results // needed
	Champion  *evaluate.Results // that the candidate was compared with; nil: there was none
	// Versions of the two; 0: it has none.
	CandidateVersion, ChampionVersion int
	Verdict                           gate.Verdict
	// History are candidates of the past; the caller adds this one. Now is the version that
	// is the champion after the decision; 0: none.
	History     []Promotion
	Now         int
	Warnings    []string // of the retraining, beside the verdict's
	Facts       []Fact   // what else the page says
	Stages      []StageTime
	Environment Environment
	Created     time.Time
}

// Fact is a line of a page.
type Fact struct{ Name, Text string }

// Promotion is a decision of the past on a candidate.
type Promotion struct {
	Time     time.Time
	Version  int // 0: it has none
	Decision gate.Decision
	Metric   string   // that decided
	Mean     float64  // of the candidate, over the held-out functions
	Low      *float64 // its interval; nil: none
	High     *float64
}

// WriteRetraining writes the report of a retraining into dir, which it creates if necessary,
// and returns the path of the page:
//
//	verdict.json            gate.Verdict
//	metrics.csv             one line per metric: candidate, champion, change, limits
//	comparison.png/.csv     the metric that decides, of every function; with a champion
//	promotions.png/.csv     candidates over time, in that metric; with a history
//	report.html             all of it
//
// Every file appears whole or not at all, the page last.
func WriteRetraining(ctx context.Context, dir string, in Retraining) (page string, err error) {
	if in.Candidate == nil {
		return "", errors.New("report of a retraining: no results of the candidate")
	}
	files, err := in.files(ctx)
	if err == nil {
		err = writeAll(dir, files)
	}
	if err != nil {
		return "", fmt.Errorf("report of a retraining: %w", err)
	}
	return filepath.Join(dir, "report.html"), nil
}

func (in Retraining) files(ctx context.Context) ([]file, error) {
	verdict, _, err := finitejson.Marshal(in.Verdict, "  ")
	if err != nil {
		return nil, fmt.Errorf("encode verdict: %w", err)
	}
	metrics, err := in.metricsCSV()
	if err != nil {
		return nil, err
	}
	files := []file{{"verdict.json", append(verdict, '\n')}, {"metrics.csv", metrics}}
	all, notes := in.figures()
	drawn, pictures, err := drawAll(ctx, all)
	if err != nil {
		return nil, err
	}
	files = append(files, pictures...)
	html, err := in.page(drawn, notes)
	if err != nil {
		return nil, err
	}
	return append(files, file{"report.html", html}), nil
}

// figures are those for which there are data, and what they leave out.
func (in Retraining) figures() (all []figures.Figure, notes []string) {
	label, unit := metricLabel(in.Candidate, in.Verdict.Metric)
	if p, ok := in.paired(); ok {
		p.Name, p.Unit = label, unit
		all = append(all, figures.PairedFigure(p))
	}
	var history []figures.Judged
	for _, h := range in.History {
		if h.Metric == in.Verdict.Metric && h.Mean-h.Mean == 0 {
			history = append(history, figures.Judged{Time: h.Time, Version: h.Version, Decision: string(h.Decision), Mean: h.Mean, Low: h.Low, High: h.High})
		}
	}
	if left := len(in.History) - len(history); left > 0 {
		notes = append(notes, fmt.Sprintf("The figure of promotions leaves out candidates that were judged in another metric or have no finite mean: %d.", left))
	}
	if len(history) > 0 {
		all = append(all, figures.PromotionsFigure(history, label, unit, in.Now))
	}
	return all, notes
}

// paired has the values of the metric that decides where the verdict compares them.
func (in Retraining) paired() (p figures.Paired, ok bool) {
	if in.Champion == nil || len(in.Verdict.Differences) == 0 {
		return p, false
	}
	candidate, err := gate.TableOf(in.Candidate, evaluate.Model)
	if err != nil {
		return p, false
	}
	champion, err := gate.TableOf(in.Champion, evaluate.Model)
	if err != nil {
		return p, false
	}
	mine, theirs, err := candidate.Paired(champion, in.Verdict.Metric)
	if err != nil {
		return p, false
	}
	p.Functions, p.Candidate, p.Champion = candidate.Functions, mine, theirs
	d := in.Verdict.Differences[0]
	scale := 1.0
	if !d.Absolute {
		scale = 0
		for _, v := range theirs {
			scale += math.Abs(v) / float64(len(theirs))
		}
	}
	p.Mean = scale * d.Change
	if d.Low != nil && d.High != nil {
		low, high := scale**d.Low, scale**d.High
		p.Low, p.High = &low, &high
	}
	return p, true
}

// metricLabel names a metric of the gate for people, and its unit.
func metricLabel(r *evaluate.Results, metric string) (name, unit string) {
	x := "x"
	if len(r.Units) > 0 {
		x = "the deviation"
	}
	switch metric {
	case "w2":
		return "W2", "units of " + x
	case "sliced_w2":
		return "sliced W2", "units of " + x
	case "w2_exact":
		return "W2 to the exact law", "units of " + x
	case "sinkhorn":
		return "Sinkhorn divergence", "units of " + x + "²"
	case "sinkhorn_converged":
		return "converged Sinkhorn divergence", "units of " + x + "²"
	case "feature_w2":
		return evaluate.Features.Name, evaluate.Features.Unit
	case "radial_error":
		return evaluate.Radial.Name, evaluate.Radial.Unit
	case "marginal_kl":
		return "marginal KL", "nats"
	case "ks":
		return "KS distance", ""
	case "energy_ks":
		return "KS distance of energies", ""
	case "ks_rejected":
		return "rejected by KS", "fraction of functions"
	case "variance_error":
		return "error of the variance", "|ln ratio|"
	}
	return metric, ""
}

var metricsHeader = []string{"metric", "candidate", "champion", "change", "absolute", "low", "high", "limit", "p", "outcome", "closer", "further"}

// metricsCSV has the numbers of the verdict, one line per metric.
func (in Retraining) metricsCSV() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	lines := [][]string{metricsHeader}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	limit := func(v *float64) string {
		if v == nil {
			return ""
		}
		return number(*v)
	}
	for _, d := range in.Verdict.Differences {
		lines = append(lines, []string{d.Metric, number(d.Candidate), number(d.Champion), number(d.Change), strconv.FormatBool(d.Absolute),
			limit(d.Low), limit(d.High), number(d.Limit), number(d.P), string(d.Outcome), strconv.Itoa(d.Closer), strconv.Itoa(d.Further)})
	}
	if err := w.WriteAll(lines); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return b.Bytes(), nil
}

// row is a line of the page's table.
type row struct {
	Class string
	Cells []string
}

// table has the champion beside the candidate.
func (in Retraining) table() (header []string, rows []row) {
	interval := fmt.Sprintf("change, %s each side", gate.Percent(in.Verdict.Confidence))
	header = []string{"metric", "champion", "candidate", "change", interval, "limit", "", "candidate closer"}
	for _, d := range in.Verdict.Differences {
		name, unit := metricLabel(in.Candidate, d.Metric)
		if unit != "" {
			name += " (" + unit + ")"
		}
		between := "–"
		if d.Low != nil && d.High != nil {
			between = d.Amount(*d.Low) + " to " + d.Amount(*d.High)
		}
		r := row{Cells: []string{name, gate.Number(d.Champion), gate.Number(d.Candidate), d.Amount(d.Change), between, d.Amount(d.Limit), string(d.Outcome), fmt.Sprintf("%d/%d", d.Closer, in.Verdict.Functions)}}
		switch {
		case d.Metric == in.Verdict.Metric:
			r.Class = "model"
		case d.Outcome == gate.Worse:
			r.Class = "bad"
		}
		rows = append(rows, r)
	}
	return header, rows
}
