package reproduce

import (
	"fmt"
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
	Paper string `json:"paper"` // the figure of the paper that it stands for
	dir   string // where it was made
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
		found := outcomes{}
		first := true
		for _, j := range jobs {
			if j.Study != s.Name {
				continue
			}
			fact, main, err := d.collect(j, found)
			if err != nil {
				return nil, err
			}
			r.Runs = append(r.Runs, fact)
			if len(fact.Judged) < len(j.Tasks) {
				doc.Missing++
			}
			if !first {
				continue
			}
			first = false
			r.Experiment = j.Experiment
			r.Scale = evaluate.ScaleNote(j.Experiment)
			r.Scaled = strings.HasPrefix(r.Scale, "scaled")
			if main != nil {
				if r.Figures, err = figures(s, main.Dir); err != nil {
					return nil, err
				}
			}
		}
		for _, t := range s.Tables {
			made, err := found.table(s, t)
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
	fact = RunFact{Run: j.Run, Updates: e.Steps(), Parameters: e.Model.Layout().Size()}
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

func figures(s Study, dir string) ([]Figure, error) {
	captions, err := report.Captions(dir)
	if err != nil {
		return nil, err
	}
	made := make([]Figure, len(captions))
	for i, c := range captions {
		made[i] = Figure{c, s.Paper[c.Name], dir}
	}
	return made, nil
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
	run, ok := s.run(row.Run)
	if !ok {
		panic(fmt.Sprintf("reproduce: %s has no run %q", s.Name, row.Run))
	}
	where := at{run.Name, row.Evaluation}
	if c.Evaluation != "" {
		where.evaluation = c.Evaluation
	}
	var values [][]float64
	for _, outcome := range o[where] {
		for _, r := range outcome.Results.Rows {
			if r.Kind != row.Kind || row.Label != "" && r.Name != row.Label {
				continue
			}
			if v := c.Metric.values(outcome, r); len(v) > 0 {
				values = append(values, v)
			}
			break
		}
	}
	if len(values) == 0 {
		return nil, nil
	}
	return estimate(values, c.Of)
}
