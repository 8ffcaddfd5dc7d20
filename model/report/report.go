// Package report writes what a run leaves for people and scripts: the table,
// the figures of the paper with the data behind them, the results as JSON, and
// one HTML page that needs nothing else.
//
//	results.json      evaluate.Results
//	table.txt         the table with aligned columns
//	table.md          the table as Markdown
//	loss.png/.csv     step, loss, mean
//	percentiles.png/.csv    percent, function, set, value: samples, and the exact law's curves
//	functions.png/.csv      row, function and every distance
//	spread.png/.csv         row, Sinkhorn divergence of every function
//	costs.png/.csv          row, seconds, steps, mean Sinkhorn divergence with its interval; with several MCMC rows
//	figures.json      names and captions of the figures
//	report.html       all of it
package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/ergoflow/ergoflow/model/evaluate"
)

// Input is what a report is made of.
type Input struct {
	Results     *evaluate.Results
	Percentiles []evaluate.Percentile
	Losses      []float64 // of every step; fewer than two leave the loss curve out
	Stages      []Stage
	Environment Environment
	Created     time.Time
}

// Stage is one part of the run with its wall time.
type Stage struct {
	Name string
	Took time.Duration
	Note string
}

// Write makes the report in dir, which it makes if need be, and returns the
// path of the HTML page. Every file appears whole or not at all; files of an
// earlier report are replaced one by one, the page last.
func Write(ctx context.Context, dir string, in Input) (page string, err error) {
	if in.Results == nil {
		return "", errors.New("report: no results")
	}
	if page, err = write(ctx, dir, in); err != nil {
		return "", fmt.Errorf("report: %w", err)
	}
	return page, nil
}

func (in Input) figures() []figure {
	r := in.Results
	var all []figure
	if len(in.Losses) > 1 {
		all = append(all, figure{"loss", "Training loss of every step and its moving mean; the loss of a perfect velocity field is not zero but the variance that X₁ − X₀ has given X_t.",
			func(w io.Writer) error { return Loss(w, in.Losses) },
			func(w io.Writer) error { return lossData(w, in.Losses) }})
	}
	if len(in.Percentiles) > 0 && r.Dim <= 1 {
		all = append(all, figure{"percentiles", "The held-out functions at the 25th, 50th and 75th percentile of the model's Sinkhorn divergence: histograms of the samples with the density of the exact invariant law, and their distribution functions.",
			func(w io.Writer) error { return Percentiles(w, in.Percentiles) },
			func(w io.Writer) error { return percentileData(w, in.Percentiles) }})
	}
	if r.Functions > 1 {
		all = append(all, figure{"functions", "How Sinkhorn divergence and W2 (sliced in more than one dimension) spread over the held-out functions: the fraction of functions that a row has below a value. Values below 1e-5 stand at 1e-5; the annealed Sinkhorn divergence may be negative.",
			func(w io.Writer) error { return Functions(w, r.Rows, r.Dim) },
			func(w io.Writer) error { return functionData(w, r.Rows, r.Dim) }})
	}
	if rows := spreadRows(r.Rows); len(rows) > 0 && r.Functions > 1 {
		all = append(all, figure{"spread", spreadCaption,
			func(w io.Writer) error { return Spread(w, rows, sinkhornName) },
			func(w io.Writer) error { return SpreadData(w, rows) }})
	}
	if points := Costs(r.Rows); len(points) > 2 {
		all = append(all, costsFigure(points))
	}
	return all
}

func write(ctx context.Context, dir string, in Input) (string, error) {
	results, err := json.MarshalIndent(in.Results, "", "  ")
	if err != nil {
		return "", fmt.Errorf("encode results: %w", err)
	}
	table := in.Results.Table()
	files := []file{
		{"results.json", append(results, '\n')},
		{"table.txt", []byte(table.Text())},
		{"table.md", []byte(table.Markdown())},
	}
	var shown []Drawn
	for _, f := range in.figures() {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		made, err := f.make()
		if err != nil {
			return "", err
		}
		files = append(files, file{f.name + ".png", made.PNG}, file{f.name + ".csv", made.CSV})
		shown = append(shown, made)
	}
	captions, err := encodeCaptions(shown)
	if err != nil {
		return "", err
	}
	files = append(files, file{captionsFile, captions})
	html, err := render(in, table, shown)
	if err != nil {
		return "", err
	}
	files = append(files, file{"report.html", html})
	if err := writeAll(dir, files); err != nil {
		return "", err
	}
	return filepath.Join(dir, "report.html"), nil
}
