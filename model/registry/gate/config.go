package gate

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Config says what a candidate has to show. Start from Default: the zero value is not valid.
type Config struct {
	// Metric decides; empty: the first of the table, which is W2 on the line, sliced W2 in
	// more dimensions and the feature distance of particles.
	Metric string `json:"metric,omitempty" yaml:"metric"`
	// Margin is by which part the candidate's mean has to be below the champion's. 0: by any.
	Margin float64 `json:"margin" yaml:"margin"`
	// Confidence is one-sided: a null hypothesis is rejected at the level 1 − Confidence.
	Confidence float64 `json:"confidence" yaml:"confidence"`
	// Tolerance is by how much the candidate's mean may be above the champion's in the other
	// metrics: as a part of it, for calibrations (Metric.Absolute) as a difference.
	Tolerance float64 `json:"tolerance" yaml:"tolerance"`
	// Tolerances replace Tolerance, by metric.
	Tolerances map[string]float64 `json:"tolerances,omitempty" yaml:"tolerances"`
	// Normal and Untrained are the largest parts that the candidate's mean may be of the
	// mean of the normal law with the right moments, and of the untrained network, in the
	// first metric of the table. 0: not checked.
	Normal    float64 `json:"normal" yaml:"normal"`
	Untrained float64 `json:"untrained" yaml:"untrained"`
	// Resamples are the subsets of functions that an interval is made of.
	Resamples int    `json:"resamples" yaml:"resamples"`
	Seed      uint64 `json:"seed,omitempty" yaml:"seed"` // of the subsets
}

// Default promotes what is better by 1 %, with 95 % confidence, and not worse by 10 % in any
// other metric.
func Default() Config {
	return Config{Margin: 0.01, Confidence: 0.95, Tolerance: 0.1, Normal: 1, Untrained: 0.5, Resamples: 9999}
}

const maxResamples = 99_999 // bounds the work and the memory

// Validate names the first field that is impossible. metrics are those of the experiment, as
// Names lists them; nil: not known yet.
func (c Config) Validate(metrics []string) error {
	between := func(field string, v, low, high float64, unit string) error {
		if v >= low && v < high {
			return nil
		}
		return fmt.Errorf("%s is %v: must be at least %v and less than %v%s", field, v, low, high, unit)
	}
	const part = ", as a part of the champion's mean"
	for _, err := range []error{
		between("margin", c.Margin, 0, 1, part),
		between("confidence", c.Confidence, 0.5, 1, ""),
		between("tolerance", c.Tolerance, 0, math.Inf(1), part),
		between("normal", c.Normal, 0, math.Inf(1), ""),
		between("untrained", c.Untrained, 0, math.Inf(1), ""),
	} {
		if err != nil {
			return err
		}
	}
	if c.Resamples > maxResamples || c.allowed(c.Resamples) < 1 {
		return fmt.Errorf("resamples is %d: must be at least %.0f, for a confidence of %v, and at most %d", c.Resamples, math.Ceil(1/(1-c.Confidence)-1e-9)-1, c.Confidence, maxResamples)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Tolerances)) {
		if err := between("tolerances: "+name, c.Tolerances[name], 0, math.Inf(1), part); err != nil {
			return err
		}
		if err := exists("tolerances", name, metrics); err != nil {
			return err
		}
	}
	if c.Metric == "" {
		return nil
	}
	return exists("metric", c.Metric, metrics)
}

// exists reports a metric that is none of metrics, unless they are not known.
func exists(field, name string, metrics []string) error {
	if metrics == nil || slices.Contains(metrics, name) {
		return nil
	}
	return fmt.Errorf("%s: %.40q does not exist; there are %s", field, name, strings.Join(metrics, ", "))
}

// Needs is the smallest number of equations with which a candidate can be shown to be better
// at all: n have 2^−n as their smallest level.
func (c Config) Needs() int { return int(math.Ceil(-math.Log2(1-c.Confidence) - 1e-9)) }

// allowed is the rank, among that many subsets and one, of the end of an interval: the number
// of subsets that may contradict, and one.
func (c Config) allowed(subsets int) int {
	return int(math.Floor((1-c.Confidence)*float64(subsets+1) + 1e-9))
}

// tolerance of a metric.
func (c Config) tolerance(metric string) float64 {
	if t, ok := c.Tolerances[metric]; ok {
		return t
	}
	return c.Tolerance
}
