package reproduce

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/model/evaluate"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/report"
)

// Source cites where the paper's numbers are printed.
const Source = "Deep operator learning for efficient sampling from invariant measures of stochastic differential equations; networks on one RTX 5090, MCMC on one EPYC 9575F; single runs"

// Document has every number of a reproduction; its JSON is reproduce.json.
type Document struct {
	Version string       `json:"version"`
	Preset  string       `json:"preset"`
	Seeds   int          `json:"seeds"`
	Missing int          `json:"missing"` // jobs that are not done yet
	Created time.Time    `json:"created"`
	Source  string       `json:"source"` // of the paper's numbers
	Studies []Reproduced `json:"studies"`
}

// Reproduced is a study with what there is of it.
type Reproduced struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Scale says what is smaller than in the paper, or that nothing is.
	Scale   string    `json:"scale"`
	Scaled  bool      `json:"scaled"`
	Tables  []Made    `json:"tables"`
	Figures []Figure  `json:"figures"`
	Runs    []RunFact `json:"runs"`
	Notes   []string  `json:"notes"`
	// Experiment is the configuration of the first run with the first seed.
	Experiment experiment.Experiment `json:"experiment"`
}

// Made is a table with our numbers.
type Made struct {
	ID      string       `json:"id"`
	Title   string       `json:"title"`
	Source  string       `json:"source"`
	Columns []ColumnName `json:"columns"`
	Rows    []Line       `json:"rows"`
	Notes   []string     `json:"notes"`
}

// ColumnName names a column.
type ColumnName struct {
	Name    string  `json:"name"`
	Metric  string  `json:"metric"`
	Of      Summary `json:"of"`
	Printed bool    `json:"printed"` // the paper has some of its numbers
}

// Line is a row of a table.
type Line struct {
	Name  string        `json:"name"`
	Kind  evaluate.Kind `json:"kind"`
	Cells []Cell        `json:"cells"`
}

// Cell has our number, null where there is none (yet), and the paper's, null
// where it prints none.
type Cell struct {
	Ours  *Estimate `json:"ours"`
	Paper *float64  `json:"paper"`
}

// Figure is a figure of a study: NAME/Name.png in the report, with Name.csv.
type Figure struct {
	report.Caption
	Paper    string `json:"paper"` // the figure of the paper that it stands for
	png, csv []byte
}

// RunFact says how a state was made and judged.
type RunFact struct {
	Run        string `json:"run"`
	Updates    int    `json:"updates"`
	Parameters int    `json:"parameters"` // of the network
	Training   `json:"training"`
	Judged     []JudgedFact `json:"evaluations"`
}

// JudgedFact says how an evaluation was made.
type JudgedFact struct {
	Name        string             `json:"name"`
	Key         string             `json:"key"` // its directory
	Seconds     float64            `json:"seconds"`
	Backend     string             `json:"backend"`
	Created     time.Time          `json:"created"`
	Environment report.Environment `json:"environment"`
}

// document collects what there is.
func (d Directory) document(studies []Study, jobs []Job, preset string, seeds int) (*Document, error) {
	doc := &Document{Version: ergoflow.Version, Preset: preset, Seeds: seeds, Created: time.Now().UTC(), Source: Source}
	for _, s := range studies {
		r := Reproduced{Name: s.Name, Title: s.Title, Notes: s.Notes}
		have := outcomes{}
		var shown *judgement // the preset's evaluation of the first job, whose figures are shown
		for _, j := range jobs {
			if j.Study != s.Name {
				continue
			}
			fact, main, err := d.collect(j, have)
			if err != nil {
				return nil, err
			}
			if len(r.Runs) == 0 {
				shown, r.Experiment = main, j.Experiment
			}
			r.Runs = append(r.Runs, fact)
			if len(fact.Judged) < len(j.Tasks) {
				doc.Missing++
			}
		}
		r.Scale = evaluate.ScaleNote(r.Experiment)
		r.Scaled = strings.HasPrefix(r.Scale, "scaled")
		if shown != nil {
			var err error
			if r.Figures, err = have.figures(s, shown.Dir); err != nil {
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

// at names the evaluations of a run's states, one for each seed.
type at struct{ run, evaluation string }

type outcomes map[at][]Outcome

// collect adds a job's outcomes and describes it; main is the preset's own
// evaluation, nil if it is missing.
func (d Directory) collect(j Job, into outcomes) (fact RunFact, main *judgement, err error) {
	e := j.Experiment
	fact = RunFact{Run: j.Run, Updates: e.Steps(), Parameters: e.Velocity().Layout().Size()}
	if fact.Training, err = d.training(e.Hash()); err != nil {
		return fact, nil, err
	}
	fact.Training.Run, fact.Seed = e.Hash(), j.Seed
	for _, t := range j.Tasks {
		found, err := d.judgement(t.key())
		if err != nil {
			return fact, nil, err
		}
		if found == nil {
			continue
		}
		if t.Evaluation == "" {
			main = found
		}
		fact.Judged = append(fact.Judged, JudgedFact{t.Evaluation, t.key(), found.Results.Seconds, found.Results.Backend, found.Created, found.Environment})
		k := at{j.Run, t.Evaluation}
		into[k] = append(into[k], Outcome{&found.Results, fact.Training})
	}
	return fact, main, nil
}

// figures are those of the report in dir and, in place of its costs, those of
// the study.
func (o outcomes) figures(s Study, dir string) ([]Figure, error) {
	captions, err := report.Captions(dir)
	if err != nil {
		return nil, err
	}
	var made []Figure
	for _, c := range captions {
		f := Figure{Caption: c, Paper: s.Paper[c.Name]}
		if c.Name == costs && len(s.Costs) > 0 {
			continue
		}
		if f.png, err = os.ReadFile(filepath.Join(dir, c.Name+".png")); err != nil {
			return nil, err
		}
		if f.csv, err = os.ReadFile(filepath.Join(dir, c.Name+".csv")); err != nil {
			return nil, err
		}
		made = append(made, f)
	}
	points := o.costs(s)
	if len(points) < 2 {
		return made, nil
	}
	drawn, err := report.DrawCosts(points)
	if err != nil {
		return nil, err
	}
	return append(made, Figure{drawn.Caption, s.Paper[costs], drawn.PNG, drawn.CSV}), nil
}

// costs is the name of the figure of costs.
const costs = "costs"

// costs are the points of the study's figure, of the first seed.
func (o outcomes) costs(s Study) []report.ParetoPoint {
	var points []report.ParetoPoint
	for _, row := range s.Costs {
		if found := o.rows(s, row, row.Evaluation); len(found) > 0 {
			found[0].row.Name = row.Name
			for _, p := range report.Costs([]evaluate.Row{found[0].row}) { // none if it has no cost
				p.Series = row.Evaluation
				points = append(points, p)
			}
		}
	}
	return points
}

// table fills a table with the outcomes that there are.
func (o outcomes) table(s Study, t Table) (Made, error) {
	m := Made{ID: t.ID, Title: t.Title, Source: t.Source, Notes: t.Notes}
	for _, c := range t.Columns {
		m.Columns = append(m.Columns, ColumnName{Name: c.name(), Metric: c.Metric.Key, Of: c.Of})
	}
	for _, row := range t.Rows {
		line := Line{Name: row.Name, Kind: row.Kind}
		for i, c := range t.Columns {
			var cell Cell
			var err error
			if cell.Ours, err = o.number(s, row, c); err != nil {
				return m, fmt.Errorf("table %s, %s, %s: %w", t.ID, row.Name, c.name(), err)
			}
			if i < len(row.Printed) && row.Printed[i] != 0 {
				cell.Paper = &row.Printed[i]
				m.Columns[i].Printed = true
			}
			line.Cells = append(line.Cells, cell)
		}
		m.Rows = append(m.Rows, line)
	}
	return m, nil
}

// number is one cell, nil if no outcome has it.
func (o outcomes) number(s Study, row Row, c Column) (*Estimate, error) {
	evaluation := row.Evaluation
	if c.Evaluation != "" {
		evaluation = c.Evaluation
	}
	var values [][]float64
	for _, found := range o.rows(s, row, evaluation) {
		if v := c.Metric.values(found.of, found.row); len(v) > 0 {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return nil, nil
	}
	return estimate(values, c.Of)
}

// found is a row of an outcome.
type found struct {
	of  Outcome
	row evaluate.Row
}

// rows finds what a row names in the outcome of every seed that has it.
func (o outcomes) rows(s Study, named Row, evaluation string) []found {
	run, ok := s.run(named.Run)
	if !ok {
		panic(fmt.Sprintf("reproduce: %s has no run %q", s.Name, named.Run))
	}
	var all []found
	for _, outcome := range o[at{run.Name, evaluation}] {
		i := slices.IndexFunc(outcome.Results.Rows, func(r evaluate.Row) bool {
			return r.Kind == named.Kind && (named.Label == "" || r.Name == named.Label)
		})
		if i >= 0 {
			all = append(all, found{outcome, outcome.Results.Rows[i]})
		}
	}
	return all
}
