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
	// Costs are the figures that set error against cost; without them there is that
	// of the first run's own evaluation.
	Costs []CostFigure
	// Spread are the rows of the figure of spreads; without them it has those of the
	// first run's own evaluation that come near the reference.
	Spread []RowSpec
	// Figures says more of figures than their captions do, by their file names.
	Figures map[string]FigureNote
	// Configuration is what the paper says of settings, by their names in the table
	// of them.
	Configuration map[string]string
	ConfiguredIn  string   // where the paper prints that
	Notes         []string // what a reader must know, a sentence each
}

// Run is one training: an experiment at the preset asked for, with settings
// over it, once per seed.
type RunSpec struct {
	Name       string // unique within a study
	Experiment string
	Set        []string     // path=value, as on the command line
	Budgets    []MCMCBudget // instead of the preset's MCMC rows
	// Evaluations of the trained state beside the preset's own.
	Evaluations []EvaluationSpec
}

// Evaluation judges the state of a run under settings of its own.
type EvaluationSpec struct {
	Name      string
	Set       []string        // of evaluation.*
	Functions int             // the first so many, or all if there are fewer; 0: all
	Budgets   []MCMCBudget    // instead of the preset's MCMC rows
	Kinds     []evaluate.Kind // the rows that are made; none: those that tables name
}

// Table is a table with the paper's numbers beside ours.
type TableSpec struct {
	ID      string // unique, a file name
	Title   string
	Source  string // where the paper prints it; empty: nowhere
	Columns []ColumnSpec
	Rows    []RowSpec
	Base    *RowSpec // what Closer and Excess set the others beside; nil: the first row
	Notes   []string
}

// BaseRow is the row that others are compared with.
func (t TableSpec) BaseRow() RowSpec {
	if t.Base != nil {
		return *t.Base
	}
	return t.Rows[0]
}

// Shown says of a figure what its caption does not.
type FigureNote struct {
	Paper string // the figure of the paper that it stands for
	Note  string // a sentence
}

// Row names the samples behind a line.
type RowSpec struct {
	Name       string
	Run        string // of the study; empty: its first
	Evaluation string // of the run; empty: the preset's own
	Kind       evaluate.Kind
	Label      string // name of the evaluation's row; empty: the first of the kind
	Once       bool   // with the first seed alone, though a trained state is behind it
}

// Costs is a figure of rows by what they cost and how far they are off.
type CostFigure struct {
	Name   string // a file name
	Error  evaluate.Distance
	Points []CostFigurePoint
}

// Point is a row of such a figure; those of one series are joined.
type CostFigurePoint struct {
	Series string
	RowSpec
}

// Column is a number of every row.
type ColumnSpec struct {
	Metric    Metric
	Aggregate Aggregate
	// Evaluation, if not empty, replaces the row's, for tables whose columns are
	// conditions of evaluation.
	Evaluation string
	Name       string // empty: by metric and summary
}

// Quantity is what the paper calls the column's numbers.
func (c ColumnSpec) Quantity() evaluate.Quantity {
	return evaluate.Quantity(strings.TrimSpace(c.Metric.Key + " " + string(c.Aggregate)))
}

// EvaluationOf is the run behind the column's number of a row.
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

// with are settings of several experiments and those of one.
func with(several, own map[string]string) map[string]string {
	all := maps.Clone(several)
	maps.Copy(all, own)
	return all
}
