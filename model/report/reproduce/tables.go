package reproduce

import (
	"fmt"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
	"github.com/ergoflow/ergoflow/model/report/studies"
)

// table fills a declared table with the numbers that exist.
func (o collection) table(s studies.Study, t studies.TableSpec) (FilledTable, error) {
	m := FilledTable{ID: t.ID, Title: t.Title, Source: t.Source, Notes: t.Notes}
	for _, c := range t.Columns {
		m.Columns = append(m.Columns, FilledColumn{Name: c.Heading(), Metric: c.Metric.Key, Of: c.Aggregate})
	}
	for _, row := range t.Rows {
		line := FilledRow{Name: row.Name, Kind: row.Kind}
		for i, c := range t.Columns {
			var cell Cell
			var err error
			if cell.Ours, err = o.number(s, t.BaseRow(), row, c); err != nil {
				return m, fmt.Errorf("table %s, %s, %s: %w", t.ID, row.Name, c.Heading(), err)
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

// paper is the paper's number for a cell.
func (o collection) paper(s studies.Study, row studies.RowSpec, c studies.ColumnSpec) (v float64, ok bool) {
	run, _ := s.FindRun(row.Run)
	return evaluate.PaperNumber(o.printed[runEvaluation{run.Name, c.EvaluationOf(row)}], row.Kind, row.Label, c.Quantity())
}

// number is one cell, nil if no outcome has it.
func (o collection) number(s studies.Study, base, row studies.RowSpec, c studies.ColumnSpec) (*Estimate, error) {
	values := o.values(s, row, c)
	if of, ok := compared[c.Aggregate]; ok {
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
	e, err := estimate(values, units, c.Aggregate)
	if c.Metric.Time {
		e.Value = e.Seeds[0]
	}
	return e, err
}

// units gives the equation of every function behind a cell, as package bootstrap
// resamples them.
func (o collection) units(s studies.Study, row studies.RowSpec, c studies.ColumnSpec) ([]int, error) {
	all := o.rows(s, row, c.EvaluationOf(row))
	if len(all) == 0 {
		return nil, nil
	}
	first := all[0]
	f, err := first.of.Results.Experiment.Family()
	if err != nil {
		return nil, err
	}
	return evaluate.ResamplingUnits(f, c.Metric.FunctionsOf(first.of, first.row)), nil
}

// values has the numbers behind a cell, [seed][function].
func (o collection) values(s studies.Study, row studies.RowSpec, c studies.ColumnSpec) [][]float64 {
	var values [][]float64
	for _, found := range o.rows(s, row, c.EvaluationOf(row)) {
		if v := c.Metric.Values(found.of, found.row); len(v) > 0 {
			values = append(values, v)
		}
	}
	return values
}

// compared has the aggregates that compare a number with that of the base row.
var compared = map[studies.Aggregate]func(base, other float64) float64{
	studies.Closer: func(base, other float64) float64 {
		if base < other {
			return 1
		}
		return 0
	},
	studies.Excess: func(base, other float64) float64 { return other - base },
}

// paired compares every function's number with the base row's, seed by seed. A row with
// one seed is compared with all seeds of the other.
func paired(base, other [][]float64, of func(base, other float64) float64) [][]float64 {
	if len(base) == 0 || len(other) == 0 {
		return nil
	}
	pairs := make([][]float64, max(len(base), len(other)))
	for k := range pairs {
		a, b := base[min(k, len(base)-1)], other[min(k, len(other)-1)]
		if len(a) != len(b) { // the evaluations have different functions
			return nil
		}
		pairs[k] = make([]float64, len(a))
		for i := range a {
			pairs[k][i] = of(a[i], b[i])
		}
	}
	return pairs
}
