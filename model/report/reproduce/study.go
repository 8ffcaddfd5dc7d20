// Package reproduce makes the paper's tables and figures again and puts ours
// beside them. What belongs to a table — the runs behind it, the evaluations of
// their states, the rows and columns — is declared as data (Studies), and what the
// paper prints there is in package evaluate; everything else follows:
//
//	Study ── runs ──► Plan: one job per run and seed
//	                    │ train, unless the state is there
//	                    │ evaluate, unless the results are there
//	                    ▼
//	          Directory: runs/HASH, evaluations/HASH
//	                    │
//	                    ▼
//	          Document ──► report/index.html, NAME.md, NAME/, reproduce.json
//
// Nothing is done twice: a trained state is found by the hash of its
// configuration, an evaluation by that and the hash of its own. A reproduction
// that was killed goes on where it was.
package reproduce

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
	"github.com/ergoflow/ergoflow/model/experiment"
)

// Study is what `reproduce NAME` makes.
type Study struct {
	Name   string
	Title  string
	Runs   []Run
	Tables []Table
	// Costs are the figures that set error against cost; without them there is that
	// of the first run's own evaluation.
	Costs []Costs
	// Spread are the rows of the figure of spreads; without them it has those of the
	// first run's own evaluation that come near the reference.
	Spread []Row
	// Figures says more of figures than their captions do, by their file names.
	Figures map[string]Shown
	// Configuration is what the paper says of settings, by their names in the table
	// of them.
	Configuration map[string]string
	ConfiguredIn  string   // where the paper prints that
	Notes         []string // what a reader must know, a sentence each
}

// Run is one training: an experiment at the preset asked for, with settings
// over it, once per seed.
type Run struct {
	Name       string // unique within a study
	Experiment string
	Set        []string // path=value, as on the command line
	Budgets    []Budget // instead of the preset's MCMC rows
	// Evaluations of the trained state beside the preset's own.
	Evaluations []Evaluation
}

// Evaluation judges the state of a run under settings of its own.
type Evaluation struct {
	Name      string
	Set       []string        // of evaluation.*
	Functions int             // the first so many, or all if there are fewer; 0: all
	Budgets   []Budget        // instead of the preset's MCMC rows
	Kinds     []evaluate.Kind // the rows that are made; none: those that tables name
}

// Table is a table with the paper's numbers beside ours.
type Table struct {
	ID      string // unique, a file name
	Title   string
	Source  string // where the paper prints it; empty: nowhere
	Columns []Column
	Rows    []Row
	Base    *Row // what Closer and Excess set the others beside; nil: the first row
	Notes   []string
}

// base is the row that others are compared with.
func (t Table) base() Row {
	if t.Base != nil {
		return *t.Base
	}
	return t.Rows[0]
}

// Shown says of a figure what its caption does not.
type Shown struct {
	Paper string // the figure of the paper that it stands for
	Note  string // a sentence
}

// Row names the samples behind a line.
type Row struct {
	Name       string
	Run        string // of the study; empty: its first
	Evaluation string // of the run; empty: the preset's own
	Kind       evaluate.Kind
	Label      string // name of the evaluation's row; empty: the first of the kind
	Once       bool   // with the first seed alone, though a trained state is behind it
}

// Costs is a figure of rows by what they cost and how far they are off.
type Costs struct {
	Name   string // a file name
	Error  evaluate.Distance
	Points []Point
}

// Point is a row of such a figure; those of one series are joined.
type Point struct {
	Series string
	Row
}

// Column is a number of every row.
type Column struct {
	Metric Metric
	Of     Summary
	// Evaluation, if not empty, replaces the row's, for tables whose columns are
	// conditions of evaluation.
	Evaluation string
	Name       string // empty: by metric and summary
}

// quantity is what the paper calls the column's numbers.
func (c Column) quantity() evaluate.Quantity {
	return evaluate.Quantity(strings.TrimSpace(c.Metric.Key + " " + string(c.Of)))
}

// evaluation of the run behind the column's number of a row.
func (c Column) evaluation(row Row) string { return cmp.Or(c.Evaluation, row.Evaluation) }

func (c Column) name() string {
	if c.Name != "" {
		return c.Name
	}
	return strings.TrimSpace(c.Metric.Name + " " + string(c.Of))
}

// Known are the studies whose experiments this program has.
func Known() []Study {
	return slices.DeleteFunc(slices.Clone(Studies), func(s Study) bool {
		return slices.ContainsFunc(s.Runs, func(r Run) bool { return !slices.Contains(experiment.Names(), r.Experiment) })
	})
}

// Names lists the known studies.
func Names() []string {
	var names []string
	for _, s := range Known() {
		names = append(names, s.Name)
	}
	return names
}

// Select finds a study by name; "all" means every known one whose experiments
// have the preset.
func Select(name, preset string) ([]Study, error) {
	known := Known()
	if name == "all" {
		some := slices.DeleteFunc(known, func(s Study) bool { return s.has(preset) != nil })
		if len(some) == 0 {
			return nil, fmt.Errorf("no experiment has a preset called %q", preset)
		}
		return some, nil
	}
	i := slices.IndexFunc(known, func(s Study) bool { return s.Name == name })
	if i < 0 {
		for _, s := range known {
			if slices.ContainsFunc(s.Runs, func(r Run) bool { return r.Experiment == name }) {
				return nil, fmt.Errorf("%s is a part of %s, with which it is reproduced", name, s.Name)
			}
		}
		return nil, fmt.Errorf("nothing to reproduce is called %q (known: %s, all)", name, strings.Join(Names(), ", "))
	}
	return known[i : i+1], known[i].has(preset)
}

// has says why the study cannot be made at a preset, or nil.
func (s Study) has(preset string) error {
	for _, r := range s.Runs {
		if _, err := experiment.ByName(r.Experiment, preset); err != nil {
			return err
		}
	}
	return nil
}

// run finds a run by name; the empty name is the first.
func (s Study) run(name string) (Run, bool) {
	for _, r := range s.Runs {
		if name == "" || r.Name == name {
			return r, true
		}
	}
	return Run{}, false
}
