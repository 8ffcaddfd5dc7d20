package report

import (
	"bytes"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"time"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
	"github.com/ergoflow/ergoflow/model/report/figures"
)

//go:embed *.html.tmpl
var pageSources embed.FS

var pages = template.Must(template.New("pages").Funcs(template.FuncMap{
	"thousands": figures.Thousands,
	"duration":  duration,
	"image":     dataURI,
}).ParseFS(pageSources, "*.html.tmpl"))

func dataURI(png []byte) template.URL {
	return template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(png))
}

// pageWidth is the number of characters of a table that fit on the page.
const pageWidth = 170

// render writes the page: one file, without scripts and without links to other files.
func render(in Input, table evaluate.Table, drawn []figures.Drawn) ([]byte, error) {
	config, err := json.MarshalIndent(in.Results.Experiment, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode configuration: %w", err)
	}
	emphasis := make([]bool, len(in.Results.Rows))
	for i, r := range in.Results.Rows {
		emphasis[i] = r.Kind == evaluate.Model
	}
	var total time.Duration
	for _, s := range in.Stages {
		total += s.Took
	}
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, "report.html.tmpl", map[string]any{
		"Results":     in.Results,
		"Experiment":  in.Results.Experiment,
		"Steps":       in.Results.Experiment.Steps(),
		"Parameters":  in.Results.Experiment.Velocity().Layout().Size(),
		"Scale":       evaluate.ScaleNote(in.Results.Experiment),
		"Blocks":      table.Blocks(pageWidth),
		"Notes":       table.Notes[1:], // the first is Scale, which stands at the top
		"Emphasis":    emphasis,
		"Figures":     drawn,
		"Stages":      in.Stages,
		"Total":       total,
		"Environment": in.Environment,
		"Created":     in.Created.UTC().Format("2 January 2006, 15:04 UTC"),
		"Config":      string(config),
	}); err != nil {
		return nil, fmt.Errorf("render page: %w", err)
	}
	return b.Bytes(), nil
}

// duration writes 3.2 s or 4 min 07 s.
func duration(d time.Duration) string {
	if d < 100*time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	d = d.Round(time.Second)
	if d < time.Hour {
		return fmt.Sprintf("%d min %02d s", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%d h %02d min", d/time.Hour, d%time.Hour/time.Minute)
}
