package reproduce

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
	"github.com/ergoflow/ergoflow/model/report/figures"
)

// at names the evaluations of a run's states, one for each seed.
type at struct{ run, evaluation string }

// outcomes are what there is of a study.
type outcomes struct {
	made map[at][]Outcome
	// What the paper prints of an evaluation, whether it is made or not.
	printed map[at][]evaluate.PaperRow
}

func newOutcomes() outcomes {
	return outcomes{map[at][]Outcome{}, map[at][]evaluate.PaperRow{}}
}

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
		k := at{j.Run, t.Evaluation}
		into.printed[k] = t.Paper
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
		into.made[k] = append(into.made[k], Outcome{&found.Results, fact.Training})
	}
	return fact, main, nil
}

// figures are those of an evaluation's report, drawn again where its numbers are
// enough for that, and, in place of its costs and spread, those of the study.
func (o outcomes) figures(s Study, shown *judgement) ([]Figure, error) {
	captions, err := figures.Captions(shown.Dir)
	if err != nil {
		return nil, err
	}
	var made []Figure
	add := func(d figures.Drawn) {
		if note := s.Figures[d.Name].Note; note != "" {
			d.Text += " " + note
		}
		made = append(made, Figure{d.Caption, s.Figures[d.Name].Paper, d.PNG, d.CSV})
	}
	for _, c := range captions {
		if c.Name == "costs" && len(s.Costs) > 0 {
			continue
		}
		d, err := o.figure(s, shown, c)
		if err != nil {
			return nil, err
		}
		add(d)
	}
	for _, c := range s.Costs {
		points := o.costs(s, c)
		if len(points) < 2 {
			continue
		}
		drawn, err := figures.DrawCosts(c.Name, points, c.Error)
		if err != nil {
			return nil, err
		}
		add(drawn)
	}
	return made, nil
}

// figure is one of an evaluation's report.
func (o outcomes) figure(s Study, shown *judgement, c figures.Caption) (figures.Drawn, error) {
	if c.Name == "spread" && len(s.Spread) > 0 {
		return figures.DrawSpread(o.named(s, s.Spread), shown.Results.Distances()[0])
	}
	d, follows, err := figures.Redraw(&shown.Results, c.Name)
	if follows || err != nil {
		return d, err
	}
	d.Caption = c // what it shows was not kept, but in the picture
	if d.PNG, err = os.ReadFile(filepath.Join(shown.Dir, c.Name+".png")); err != nil {
		return d, err
	}
	d.CSV, err = os.ReadFile(filepath.Join(shown.Dir, c.Name+".csv"))
	return d, err
}

// named are rows of the first seed under the names that the study gives them.
func (o outcomes) named(s Study, rows []Row) []evaluate.Row {
	var all []evaluate.Row
	for _, row := range rows {
		if found := o.rows(s, row, row.Evaluation); len(found) > 0 {
			r := found[0].row
			r.Name = row.Name
			all = append(all, r)
		}
	}
	return all
}

// costs are the points of a figure, of the first seed.
func (o outcomes) costs(s Study, c Costs) []figures.CostPoint {
	var points []figures.CostPoint
	for _, point := range c.Points {
		if found := o.rows(s, point.Row, point.Evaluation); len(found) > 0 {
			for _, p := range figures.CostPoints([]evaluate.Row{found[0].row}, c.Error) { // none if it has no cost
				p.Series, p.Name = point.Series, point.Name
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
			if cell.Ours, err = o.number(s, t.base(), row, c); err != nil {
				return m, fmt.Errorf("table %s, %s, %s: %w", t.ID, row.Name, c.name(), err)
			}
			if v, ok := o.paper(s, row, c); ok {
				cell.Paper = &v
				m.Columns[i].Printed = true
			}
			line.Cells = append(line.Cells, cell)
		}
		m.Rows = append(m.Rows, line)
	}
	return m, nil
}

// paper is what the paper prints for a cell.
func (o outcomes) paper(s Study, row Row, c Column) (v float64, ok bool) {
	run, _ := s.run(row.Run)
	return evaluate.PaperNumber(o.printed[at{run.Name, c.evaluation(row)}], row.Kind, row.Label, c.quantity())
}

// number is one cell, nil if no outcome has it.
func (o outcomes) number(s Study, base, row Row, c Column) (*Estimate, error) {
	values := o.values(s, row, c)
	if of, ok := compared[c.Of]; ok {
		if row == base {
			return nil, nil
		}
		values = paired(o.values(s, base, c), values, of)
	}
	if len(values) == 0 {
		return nil, nil
	}
	units, err := o.units(s, row, c)
	if err != nil {
		return nil, err
	}
	e, err := estimate(values, units, c.Of)
	if c.Metric.Time {
		e.Value = e.Seeds[0]
	}
	return e, err
}

// units are which functions behind a column's numbers of a row are of one equation.
func (o outcomes) units(s Study, row Row, c Column) ([]int, error) {
	all := o.rows(s, row, c.evaluation(row))
	if len(all) == 0 {
		return nil, nil
	}
	first := all[0]
	f, err := first.of.Results.Experiment.Family()
	if err != nil {
		return nil, err
	}
	return evaluate.ResamplingUnits(f, c.Metric.functions(first.of, first.row)), nil
}

// values are a column's numbers of a row, [seed][function].
func (o outcomes) values(s Study, row Row, c Column) [][]float64 {
	var values [][]float64
	for _, found := range o.rows(s, row, c.evaluation(row)) {
		if v := c.Metric.values(found.of, found.row); len(v) > 0 {
			values = append(values, v)
		}
	}
	return values
}

// compared are the summaries that set a number beside the base's.
var compared = map[Summary]func(base, other float64) float64{
	Closer: func(base, other float64) float64 {
		if base < other {
			return 1
		}
		return 0
	},
	Excess: func(base, other float64) float64 { return other - base },
}

// paired sets every function's number beside the base's, seed by seed; a row of
// one seed is compared with all of the other's.
func paired(base, other [][]float64, of func(base, other float64) float64) [][]float64 {
	if len(base) == 0 || len(other) == 0 {
		return nil
	}
	pairs := make([][]float64, max(len(base), len(other)))
	for k := range pairs {
		a, b := base[min(k, len(base)-1)], other[min(k, len(other)-1)]
		if len(a) != len(b) { // evaluations over other functions
			return nil
		}
		pairs[k] = make([]float64, len(a))
		for i := range a {
			pairs[k][i] = of(a[i], b[i])
		}
	}
	return pairs
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
	for _, outcome := range o.made[at{run.Name, evaluation}] {
		i := slices.IndexFunc(outcome.Results.Rows, func(r evaluate.Row) bool {
			return r.Kind == named.Kind && (named.Label == "" || r.Name == named.Label)
		})
		if i >= 0 {
			all = append(all, found{outcome, outcome.Results.Rows[i]})
		}
	}
	return all
}
