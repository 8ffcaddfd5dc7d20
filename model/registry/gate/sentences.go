package gate

import (
	"fmt"
	"strconv"
	"strings"
)

// sentence says what was found in one metric, and against which limit.
func (j judge) sentence(d Difference) string {
	confidence := Percent(j.Confidence)
	means := fmt.Sprintf("%s %s (%s to %s)", d.Metric, d.moved(), Number(d.Champion), Number(d.Candidate))
	switch d.Outcome {
	case Better:
		return fmt.Sprintf("%s; with %s confidence it fell by at least %s, and the margin is %s", means, confidence, d.Amount(-*d.High), d.Amount(-d.Limit))
	case Worse:
		if d.Low == nil {
			return fmt.Sprintf("%s, with %s confidence by more than the tolerance of %s", means, confidence, d.Amount(d.Limit))
		}
		return fmt.Sprintf("%s; with %s confidence it rose by at least %s, and the tolerance is %s", means, confidence, d.Amount(*d.Low), d.Amount(d.Limit))
	case Tolerated:
		if d.Change > d.Limit {
			return fmt.Sprintf("%s; it is not shown to have risen by more than the tolerance of %s", means, d.Amount(d.Limit))
		}
		return fmt.Sprintf("%s, within the tolerance of %s", means, d.Amount(d.Limit))
	}
	s := means + "; it is not shown to have fallen"
	if d.Limit < 0 {
		s += " by the margin of " + d.Amount(-d.Limit)
	}
	if d.Low == nil || d.High == nil {
		return s + fmt.Sprintf(": that needs at least %d equations", j.Needs())
	}
	return s + fmt.Sprintf(": the change is between %s and %s (either with %s confidence)", d.Amount(*d.Low), d.Amount(*d.High), confidence)
}

// moved says in which direction the mean went, and how far.
func (d Difference) moved() string {
	switch {
	case d.Change < 0:
		return "fell by " + d.Amount(-d.Change)
	case d.Change > 0:
		return "rose by " + d.Amount(d.Change)
	}
	return "is the same"
}

// Amount writes a change, or a limit of one, in the metric's unit.
func (d Difference) Amount(v float64) string {
	if d.Absolute {
		return Number(v)
	}
	return Percent(v)
}

// Percent writes a part in percent.
func Percent(v float64) string { return Number(100*v) + " %" }

// Number writes three significant digits, and no exponent where that is readable.
func Number(v float64) string {
	s := strconv.FormatFloat(v, 'g', 3, 64)
	if f, err := strconv.ParseFloat(s, 64); err == nil && (f >= 1000 || f <= -1000) && f < 1e6 && f > -1e6 {
		s = strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strings.Replace(s, "-", "−", 1)
}

// times writes a part of something, with a space after it: "half " for 0.5, "" for all of it.
func times(part float64) string {
	switch part {
	case 1:
		return ""
	case 0.5:
		return "half "
	}
	return Number(part) + " times "
}
