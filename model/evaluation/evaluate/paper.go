package evaluate

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/ergoflow/ergoflow/model/experiment"
)

// Quantity is a number of a row that the paper prints: a metric and, where every
// function has one, how it is summarised over functions.
type Quantity string

// The quantities that the paper prints.
const (
	SinkhornMean    Quantity = "sinkhorn mean"
	SinkhornMedian  Quantity = "sinkhorn median"
	W2Mean          Quantity = "w2 mean"
	W2Median        Quantity = "w2 median"
	Seconds         Quantity = "seconds"       // wall clock of all samples with loading and start-up
	SolveSeconds    Quantity = "solve_seconds" // without them
	TrainSeconds    Quantity = "train_seconds"
	Updates         Quantity = "updates"
	FeatureMean     Quantity = "feature_w2 mean"
	FeatureMedian   Quantity = "feature_w2 median"
	FeatureCloser   Quantity = "feature_w2 closer" // fraction of functions for which the model has the smaller distance
	RadialMean      Quantity = "radial_error mean"
	RadialPooled    Quantity = "radial_error_pooled"
	MarginalMean    Quantity = "marginal_kl mean"
	MarginalPooled  Quantity = "marginal_kl_pooled"
	EnergyKSPooled  Quantity = "energy_ks_pooled"
	EnergyMean      Quantity = "energy_mean" // pooled, as are the next five
	EnergyStd       Quantity = "energy_std"
	EnergyMeanOf    Quantity = "energy_mean_reference"
	EnergyStdOf     Quantity = "energy_std_reference"
	EnergyMeanOffBy Quantity = "energy_mean_relative"
	EnergyStdOffBy  Quantity = "energy_std_relative"
)

// PaperRow is a line of the paper's tables: a single run, no error bars.
type PaperRow struct {
	// Settings make the variant of the experiment that the line belongs to, as on the
	// command line; none: the experiment as it is.
	Settings []string
	Kind     Kind
	Names    []string // of the rows that it stands beside; none: all of the kind
	Numbers  map[Quantity]float64
}

// Paper finds the paper's lines for evaluations of a configuration: those of its
// variant, whatever its sizes. It finds none where the paper has no such table, and
// none where the numbers would not compare with the paper's: another metric, another
// reference, other probes. Lines without a network do not depend on the variant. Where
// a preset's sizes make two variants equal, the settings decide that the configuration
// was made with.
func Paper(e experiment.Experiment, settings ...string) []PaperRow {
	preset, err := experiment.ByName(e.Name, e.Preset)
	if err != nil || preset.Data.Family != e.Data.Family {
		return nil
	}
	all := paper[e.Name].rows
	var paths []string
	for _, p := range all {
		for _, s := range p.Settings {
			path, _, _ := strings.Cut(s, "=")
			paths = append(paths, path)
		}
	}
	var rows []PaperRow
	for _, p := range all {
		decide := measurementPaths
		if p.Kind == Model || p.Kind == Shuffled {
			decide = slices.Concat(measurementPaths, paths)
		}
		if p.isVariant(e, decide) {
			rows = append(rows, p)
		}
	}
	slices.SortStableFunc(rows, func(p, q PaperRow) int { return cmp.Compare(q.sharedSettings(settings), p.sharedSettings(settings)) })
	return rows
}

// measurementPaths are the paths that decide what the numbers measure, whatever the
// network.
var measurementPaths = []string{
	"evaluation.blur", "evaluation.scaling", "probes",
	"data.reference.dt", "data.reference.start", "data.reference_draws", "data.training.start",
}

// sharedSettings counts the settings of p among settings, minus its other ones.
func (p PaperRow) sharedSettings(settings []string) (n int) {
	for _, s := range p.Settings {
		if slices.Contains(settings, s) {
			n++
		} else {
			n--
		}
	}
	return n
}

// isVariant reports whether e has at all these paths the value that p sets or, where p
// sets none, the value of its preset.
func (p PaperRow) isVariant(e experiment.Experiment, paths []string) bool {
	variant, err := experiment.Load(e.Name, e.Preset, "", p.Settings)
	if err != nil {
		return false
	}
	variant, e = withSensorCount(withDefaults(variant)), withSensorCount(withDefaults(e))
	return !slices.ContainsFunc(paths, func(path string) bool {
		theirs, err := variant.Field(path)
		ours, other := e.Field(path)
		return err != nil || other != nil || !reflect.DeepEqual(ours, theirs)
	})
}

// withSensorCount writes out the number of sensors in evaluation where it is that of
// the training.
func withSensorCount(e experiment.Experiment) experiment.Experiment {
	e.Evaluation.Sensors = e.Inference().Sensors()
	return e
}

// PaperNumber is the number in lines for a row of a kind and name; the empty name means
// the first row of the kind.
func PaperNumber(rows []PaperRow, kind Kind, name string, q Quantity) (v float64, ok bool) {
	for _, p := range rows {
		if p.Kind == kind && (name == "" || len(p.Names) == 0 || slices.Contains(p.Names, name)) {
			v, ok = p.Numbers[q]
			return v, ok
		}
	}
	return 0, false
}

// PaperSource cites where the numbers of an experiment are printed.
func PaperSource(name string) string { return paper[name].source }
