// Package report writes the report of a run, for people and scripts: the table, the
// paper's figures with the data behind them, the results as JSON, and one HTML page
// with all of it.
//
//	results.json      evaluate.Results
//	table.txt         the table with aligned columns
//	table.md          the table as Markdown
//	loss.png/.csv     step, loss, mean
//	percentiles.png/.csv    on the line: percent, function, set, value: samples, and the exact law's curves
//	samples.png/.csv        in the plane: percent, function, set, x, y
//	radial.png/.csv         of particles: family, r, g(r) of target and samples
//	energy.png/.csv         of particles: family, bins of the energy, densities
//	times.png/.csv          with physical times: row, interval, means, medians
//	evolution.png/.csv      with physical times: equation, time, bins, densities
//	functions.png/.csv      row, function and every distance
//	spread.png/.csv         row, leading distance of every function
//	calibration.png/.csv    of, rank/draws, distribution function of ranks, band; with 16 functions or more
//	costs.png/.csv          series, row, seconds, simulated and sequential steps, mean leading distance with its interval; with several MCMC rows
//	figures.json      names and captions of the figures
//	report.html       all of it
package report

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/ergoflow/ergoflow/internal/finitejson"
	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
	"github.com/ergoflow/ergoflow/model/report/figures"
)

// Input has everything that a report shows.
type Input struct {
	Results     *evaluate.Results
	FigureData  evaluate.FigureData
	Losses      []float64 // of every step; fewer than two give no loss curve
	Stages      []StageTime
	Environment Environment
	Created     time.Time
}

// StageTime is a stage of the run with its wall time.
type StageTime struct {
	Name string
	Took time.Duration
	Note string
}

// Write writes the report into dir, which it creates if necessary, and returns the path
// of the HTML page. Every file appears whole or not at all. It replaces the files of an
// earlier report one by one, the page last.
func Write(ctx context.Context, dir string, in Input) (page string, err error) {
	if in.Results == nil {
		return "", errors.New("report: no results")
	}
	if page, err = write(ctx, dir, in); err != nil {
		return "", fmt.Errorf("report: %w", err)
	}
	return page, nil
}

func write(ctx context.Context, dir string, in Input) (string, error) {
	results, _, err := finitejson.Marshal(in.Results, "  ") // with its warnings
	if err != nil {
		return "", fmt.Errorf("encode results: %w", err)
	}
	table := in.Results.Table()
	files := []file{
		{"results.json", append(results, '\n')},
		{"table.txt", []byte(table.Text())},
		{"table.md", []byte(table.Markdown())},
	}
	drawn, pictures, err := drawAll(ctx, figures.Of(in.Results, in.FigureData, in.Losses))
	if err != nil {
		return "", err
	}
	files = append(files, pictures...)
	captions, err := figures.EncodeCaptions(drawn)
	if err != nil {
		return "", err
	}
	files = append(files, file{figures.CaptionsFile, captions})
	html, err := render(in, table, drawn)
	if err != nil {
		return "", err
	}
	files = append(files, file{"report.html", html})
	if err := writeAll(dir, files); err != nil {
		return "", err
	}
	return filepath.Join(dir, "report.html"), nil
}

// drawAll draws figures, and has their files: the image and the data behind it.
func drawAll(ctx context.Context, all []figures.Figure) (drawn []figures.Drawn, files []file, err error) {
	for _, f := range all {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		d, err := f.Draw()
		if err != nil {
			return nil, nil, err
		}
		drawn = append(drawn, d)
		files = append(files, file{d.Name + ".png", d.PNG}, file{d.Name + ".csv", d.CSV})
	}
	return drawn, files, nil
}
