package reproduce

import (
	"strings"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/report"
	"github.com/ergoflow/ergoflow/model/report/figures"
	"github.com/ergoflow/ergoflow/model/report/studies"
)

// Source cites where the paper's numbers are printed.
const Source = evaluate.PaperTitle + "; networks on one RTX 5090, MCMC on one EPYC 9575F; single runs"

// Document has every number of a reproduction; its JSON is reproduce.json.
type Document struct {
	Version string        `json:"version"`
	Preset  string        `json:"preset"`
	Seeds   int           `json:"seeds"`
	Missing int           `json:"missing"` // planned runs that are not complete
	Created time.Time     `json:"created"`
	Source  string        `json:"source"` // of the paper's numbers
	Studies []StudyResult `json:"studies"`
}

// StudyResult is a study with the numbers and figures that exist so far.
type StudyResult struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Scale says in which settings the preset differs from the full one.
	Scale  string        `json:"scale"`
	Scaled bool          `json:"scaled"`
	Tables []FilledTable `json:"tables"`
	// Configuration is that of the first run; ConfiguredIn says where the paper prints
	// its own.
	Configuration []Setting `json:"configuration"`
	ConfiguredIn  string    `json:"configured_in"`
	Figures       []Figure  `json:"figures"`
	Runs          []RunFact `json:"runs"`
	Notes         []string  `json:"notes"`
	// Experiment is the configuration of the first run with the first seed.
	Experiment experiment.Experiment `json:"experiment"`
}

// FilledTable is a table with our numbers and the paper's.
type FilledTable struct {
	ID      string         `json:"id"`
	Title   string         `json:"title"`
	Source  string         `json:"source"`
	Columns []FilledColumn `json:"columns"`
	Rows    []FilledRow    `json:"rows"`
	Notes   []string       `json:"notes"`
}

// FilledColumn describes a column.
type FilledColumn struct {
	Name    string            `json:"name"`
	Metric  string            `json:"metric"`
	Of      studies.Aggregate `json:"of"`
	Printed bool              `json:"printed"` // the paper prints some of its numbers
}

// FilledRow is a row of a table.
type FilledRow struct {
	Name  string        `json:"name"`
	Kind  evaluate.Kind `json:"kind"`
	Cells []Cell        `json:"cells"`
}

// Cell has our number, null where there is none yet, and the paper's, null where it
// prints none.
type Cell struct {
	Ours  *Estimate `json:"ours"`
	Paper *float64  `json:"paper"`
}

// Figure is a figure of a study: NAME/Name.png in the report, with Name.csv.
type Figure struct {
	figures.Caption
	Paper    string `json:"paper"` // the paper's figure that it corresponds to
	png, csv []byte
}

// RunFact says how a state was trained and evaluated.
type RunFact struct {
	Run            string `json:"run"`
	Updates        int    `json:"updates"`
	Parameters     int    `json:"parameters"` // of the network
	TrainingRecord `json:"training"`
	Evaluations    []EvaluationFact `json:"evaluations"`
}

// EvaluationFact says how an evaluation was computed.
type EvaluationFact struct {
	Name        string             `json:"name"`
	Key         string             `json:"key"` // its directory
	Seconds     float64            `json:"seconds"`
	Backend     string             `json:"backend"`
	Created     time.Time          `json:"created"`
	Environment report.Environment `json:"environment"`
}

// document collects the results that exist.
func (d Directory) document(chosen []studies.Study, plan []PlannedRun, preset string, seeds int) (*Document, error) {
	doc := &Document{Version: ergoflow.Version, Preset: preset, Seeds: seeds, Created: time.Now().UTC(), Source: Source}
	for _, s := range chosen {
		r := StudyResult{Name: s.Name, Title: s.Title, Notes: s.Notes}
		have := newCollection()
		var first *storedEvaluation // the preset's evaluation of the first planned run, whose figures the report shows
		for _, j := range plan {
			if j.Study != s.Name {
				continue
			}
			fact, main, err := d.collect(j, have)
			if err != nil {
				return nil, err
			}
			if len(r.Runs) == 0 {
				first, r.Experiment = main, j.Experiment
			}
			r.Runs = append(r.Runs, fact)
			if len(fact.Evaluations) < len(j.Evaluations) {
				doc.Missing++
			}
		}
		r.Scale = evaluate.ScaleNote(r.Experiment)
		r.Scaled = strings.HasPrefix(r.Scale, "scaled")
		r.Configuration, r.ConfiguredIn = settings(r.Experiment, s.Configuration), s.ConfiguredIn
		if first != nil {
			var err error
			if r.Figures, err = have.figures(s, first); err != nil {
				return nil, err
			}
		}
		for _, t := range s.Tables {
			made, err := have.table(s, t)
			if err != nil {
				return nil, err
			}
			r.Tables = append(r.Tables, made)
		}
		doc.Studies = append(doc.Studies, r)
	}
	return doc, nil
}
