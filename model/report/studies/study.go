// Package studies declares the paper's tables and figures as data: for each study its
// runs, the evaluations of their states, and the rows and columns of its tables. The
// numbers that the paper prints are in package evaluate; package reproduce trains and
// evaluates what a study names.
package studies

import (
	"cmp"
	"maps"
	"strings"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
)

// Study is what `reproduce NAME` makes.
type Study struct {
	Name   string
	Title  string
	Runs   []RunSpec
	Tables []TableSpec
	// Costs are the figures of error against cost; none: that of the first run's own
	// evaluation.
	Costs []CostFigure
	// Spread has the rows of the figure of distributions over functions; none: the rows
	// of the first run's own evaluation that are near the reference.
	Spread []RowSpec
	// Figures adds to the captions of figures, by their file names.
	Figures map[string]FigureNote
	// Configuration has the paper's settings, by their names in the table of settings.
	Configuration map[string]string
	ConfiguredIn  string   // where the paper prints them
	Notes         []string // remarks on all tables
	// Best is the study at the preset best, where that has other runs; nil: the same.
	Best *Study
}

// RunSpec is one training per seed: an experiment at the chosen preset, with settings
// that override it.
type RunSpec struct {
	Name       string // unique within a study
	Experiment string
	Set        []string     // path=value, as on the command line
	Budgets    []MCMCBudget // instead of the preset's MCMC rows
	// Evaluations of the trained state in addition to the preset's own.
	Evaluations []EvaluationSpec
}

// EvaluationSpec evaluates the state of a run with settings of its own.
type EvaluationSpec struct {
	Name      string
	Set       []string        // of evaluation.*
	Functions int             // the first of them, at most all; 0: all
	Budgets   []MCMCBudget    // instead of the preset's MCMC rows
	Kinds     []evaluate.Kind // rows to compute; none: those that tables name
}

// TableSpec declares a table of our numbers with the paper's beside them.
type TableSpec struct {
	ID      string // unique, a file name
	Title   string
	Source  string // where the paper prints it; empty: nowhere
	Columns []ColumnSpec
	Rows    []RowSpec
	Base    *RowSpec // what Closer and Excess compare with; nil: the first row
	Notes   []string
}

// BaseRow is the row that Closer and Excess compare with.
func (t TableSpec) BaseRow() RowSpec {
	if t.Base != nil {
		return *t.Base
	}
	return t.Rows[0]
}

// FigureNote adds to the caption of a figure.
type FigureNote struct {
	Paper string // the paper's figure that it corresponds to
	Note  string // a sentence
}

// RowSpec names the samples behind a row of a table.
type RowSpec struct {
	Name       string
	Run        string // of the study; empty: its first
	Evaluation string // of the run; empty: the preset's own
	Kind       evaluate.Kind
	Label      string // name of the evaluation's row; empty: the first of the kind
	Once       bool   // for the first seed alone, though the row depends on the seed
}

// CostFigure is a figure of error against cost.
type CostFigure struct {
	Name   string // a file name
	Error  evaluate.Distance
	Points []CostFigurePoint
}

// CostFigurePoint is a row in such a figure; a line joins those of one series.
type CostFigurePoint struct {
	Series string
	RowSpec
}

// ColumnSpec is a number that every row has.
type ColumnSpec struct {
	Metric    Metric
	Aggregate Aggregate
	// Evaluation, if not empty, replaces that of the row, for tables whose columns
	// differ in the evaluation.
	Evaluation string
	Name       string // empty: by metric and summary
}

// Quantity is the key of the paper's numbers for the column.
func (c ColumnSpec) Quantity() evaluate.Quantity {
	return evaluate.Quantity(strings.TrimSpace(c.Metric.Key + " " + string(c.Aggregate)))
}

// EvaluationOf is the evaluation of the run behind the column's number of a row.
func (c ColumnSpec) EvaluationOf(row RowSpec) string { return cmp.Or(c.Evaluation, row.Evaluation) }

func (c ColumnSpec) Heading() string {
	if c.Name != "" {
		return c.Name
	}
	return strings.TrimSpace(c.Metric.Name + " " + string(c.Aggregate))
}

// FindRun finds a run by name; the empty name is the first.
func (s Study) FindRun(name string) (RunSpec, bool) {
	for _, r := range s.Runs {
		if name == "" || r.Name == name {
			return r, true
		}
	}
	return RunSpec{}, false
}

// with merges settings of several experiments with those of one, which take precedence.
func with(several, own map[string]string) map[string]string {
	all := maps.Clone(several)
	maps.Copy(all, own)
	return all
}
