package gate

import (
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow/model/evaluation/bootstrap"
)

// Controls are what a candidate has to be better than in any case; nil: not evaluated, which
// refuses the candidate if the configuration has the check.
type Controls struct {
	Normal    *Table // the normal law with the reference's moments
	Untrained *Table // the network with its initial parameters
}

// Decide judges the candidate. champion is nil where there is none. The verdict depends on
// the arguments alone, and not on the order of functions. Impossible configurations and tables
// refuse the candidate, with the reason.
func Decide(c Config, candidate Table, champion *Table, controls Controls) Verdict {
	v := Verdict{Confidence: c.Confidence, Functions: len(candidate.Functions), Reasons: []string{}, Checks: []Check{}, Differences: []Difference{}, Warnings: []string{}}
	refuse := func(format string, args ...any) Verdict {
		v.Decision, v.Reasons = Refuse, append([]string{fmt.Sprintf(format, args...)}, v.Reasons...)
		return v
	}
	if err := c.Validate(candidate.names()); err != nil {
		return refuse("the gate's configuration: %v", err)
	}
	if err := candidate.validate(); err != nil {
		v.Checks = append(v.Checks, Check{"finite", false, fmt.Sprintf("the candidate %v", err)})
		return refuse("the candidate %v", err)
	}
	v.Checks = append(v.Checks, Check{"finite", true, "all values of the candidate are finite"})
	if c.Metric == "" {
		c.Metric = candidate.Metrics[0].Name
	}
	j := judge{Config: c, candidate: candidate, subsets: map[int]bootstrap.Subsets{}}
	v.Metric, v.Equations = c.Metric, j.equations()
	v.Checks = append(v.Checks, j.checks(controls)...)
	for _, check := range v.Checks {
		if !check.Passed {
			v.Decision, v.Reasons = Refuse, append(v.Reasons, check.Reason)
		}
	}
	if champion == nil {
		if v.Decision == Refuse {
			return v
		}
		v.Decision, v.Reasons = Promote, []string{"there is no champion, and the candidate passes the checks"}
		for _, check := range v.Checks {
			v.Reasons = append(v.Reasons, check.Reason)
		}
		return v
	}
	if err := champion.validate(); err != nil {
		return refuse("the champion %v, so nothing can be compared with it", err)
	}
	differences, err := j.differences(*champion)
	if err != nil {
		return refuse("candidate and champion %v", err)
	}
	v.Differences = differences
	if v.Decision == Refuse {
		return v
	}
	v.Decision, v.Reasons = j.decide(differences)
	for _, d := range differences[1:] {
		if v.Decision == Promote && d.Change > d.Limit {
			v.Warnings = append(v.Warnings, j.sentence(d))
		}
	}
	return v
}

// judge compares a candidate with other tables.
type judge struct {
	Config
	candidate Table
	subsets   map[int]bootstrap.Subsets // by the number of units
}

// equations is the number of different ones, or of functions.
func (j judge) equations() int {
	if j.candidate.Equations == nil {
		return len(j.candidate.Functions)
	}
	different := map[int]bool{}
	for _, e := range j.candidate.Equations {
		different[e] = true
	}
	return len(different)
}

// compare compares the candidate with another table in one metric.
func (j judge) compare(p pairing, mine, theirs Metric) comparison {
	subsets, ok := j.subsets[p.units]
	if !ok {
		subsets = bootstrap.NewSubsets(p.units, j.Resamples, j.Seed)
		j.subsets[p.units] = subsets
	}
	return j.Config.compare(p, subsets, mine, theirs)
}

// differences compares the candidate with the champion in every metric, the one that decides
// first. Both need the same metrics.
func (j judge) differences(champion Table) ([]Difference, error) {
	p, err := j.candidate.pair(champion)
	if err != nil {
		return nil, err
	}
	for _, m := range champion.Metrics {
		if _, ok := j.candidate.metric(m.Name); !ok {
			return nil, fmt.Errorf("do not have the same metrics: the candidate lacks %s", m.Name)
		}
	}
	var all []Difference
	for _, mine := range j.candidate.Metrics {
		theirs, ok := champion.metric(mine.Name)
		if !ok {
			return nil, fmt.Errorf("do not have the same metrics: the champion lacks %s", mine.Name)
		}
		found := j.compare(p, mine, theirs)
		d := Difference{Metric: mine.Name, Candidate: found.mine, Champion: found.theirs, Change: found.change, Absolute: found.absolute,
			Closer: found.closer, Further: found.further}
		d.Low, d.High = found.interval()
		if mine.Name == j.Metric {
			d.Limit = -j.Margin
			d.P = found.below(d.Limit)
			if d.Outcome = NotBetter; found.rejects(d.P) {
				d.Outcome = Better
			}
			all = append([]Difference{d}, all...)
			continue
		}
		d.Limit = j.tolerance(mine.Name)
		d.P = found.above(d.Limit)
		if d.Outcome = Tolerated; found.rejects(d.P) {
			d.Outcome = Worse
		}
		all = append(all, d)
	}
	return all, nil
}

// decide takes the decision from the differences, of a candidate that passes the checks.
func (j judge) decide(differences []Difference) (Decision, []string) {
	var worse, others []string
	for _, d := range differences[1:] {
		if d.Outcome == Worse {
			worse = append(worse, j.sentence(d))
		} else {
			others = append(others, j.sentence(d))
		}
	}
	leading := j.sentence(differences[0])
	switch {
	case differences[0].Outcome != Better:
		return Keep, slices.Concat([]string{leading}, worse, others)
	case len(worse) > 0:
		return Keep, slices.Concat(worse, []string{leading}, others)
	}
	return Promote, slices.Concat([]string{leading}, others)
}
