package reproduce

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow/model/report"
	"github.com/ergoflow/ergoflow/model/report/figures"
)

// digits writes three significant digits, without an exponent from 0.0001 to a
// million; whole numbers from ten on are written out, as 32,256.
func digits(v float64) string {
	size := math.Abs(v)
	switch {
	case v == math.Trunc(v) && (size == 0 || size >= 10) && size < 1e15:
		return figures.Thousands(int(v))
	case v != 0 && size < 1e-4 || size >= 1e6 || v != v:
		return strings.ReplaceAll(strconv.FormatFloat(v, 'g', 3, 64), "-", "−")
	case size >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	decimals := 2
	for s := size; s < 0.9995 && s > 0; s *= 10 { // 0.9996 is 1.00
		decimals++
	}
	if size >= 9.995 {
		decimals = 1
	}
	return strings.Replace(strconv.FormatFloat(v, 'f', decimals, 64), "-", "−", 1)
}

// printed is a number as the paper prints it.
func printed(v *float64) string {
	if v == nil {
		return "–"
	}
	if *v >= 1000 {
		return digits(*v)
	}
	return strings.ReplaceAll(strconv.FormatFloat(*v, 'g', -1, 64), "-", "−")
}

// Number is our number alone; a dash where there is none.
func (c Cell) Number() string {
	if c.Ours == nil {
		return "–"
	}
	return digits(c.Ours.Value)
}

// Interval is "0.251 to 0.352", or empty.
func (c Cell) Interval() string {
	if c.Ours == nil || c.Ours.Interval == nil {
		return ""
	}
	return digits(c.Ours.Interval[0]) + " to " + digits(c.Ours.Interval[1])
}

// SeedNumbers lists the numbers of the seeds, where they differ.
func (c Cell) SeedNumbers() string {
	if c.Ours == nil || len(slices.Compact(slices.Clone(c.Ours.Seeds))) < 2 {
		return ""
	}
	parts := make([]string, len(c.Ours.Seeds))
	for i, v := range c.Ours.Seeds {
		parts[i] = digits(v)
	}
	return strings.Join(parts, ", ")
}

// Printed is the paper's number.
func (c Cell) Printed() string { return printed(c.Paper) }

// DataTime, TrainTime and EvaluationTime are the wall times of a run's parts.
func (r RunFact) DataTime() string  { return wall(r.seconds("generate")) }
func (r RunFact) TrainTime() string { return wall(r.seconds("train")) }
func (r RunFact) EvaluationTime() string {
	var sum float64
	for _, j := range r.Evaluations {
		sum += j.Seconds
	}
	return wall(sum)
}

// LastLoss is the loss at the end of the training; a dash before it ends.
func (r RunFact) LastLoss() string {
	if r.Loss == 0 {
		return "–"
	}
	return digits(r.Loss)
}

// State says how far a run is, or when its training finished.
func (r RunFact) State() string {
	switch {
	case r.Finished.IsZero() && r.Attempts == 0:
		return "not started"
	case r.Finished.IsZero():
		return "not finished"
	case len(r.Evaluations) == 0:
		return "trained"
	}
	return r.Finished.Format("2006-01-02 15:04 UTC")
}

// Machine says where the run was trained and where it was evaluated. The latter
// machine's are the wall times in the tables.
func (r RunFact) Machine() string {
	s := "First run trained on: " + machine(r.Environment)
	if r.Environment.Workers > 0 {
		s += fmt.Sprintf(", %s", counted(r.Environment.Workers, "worker"))
	}
	if len(r.Evaluations) > 0 {
		j := r.Evaluations[0]
		s += fmt.Sprintf("; evaluated, with the times in the tables, on: %s, %s", machine(j.Environment), j.Backend)
	}
	return s + "."
}

func machine(e report.Environment) string {
	if e.Platform == "" {
		return "a cluster of other machines (not recorded)"
	}
	return fmt.Sprintf("%s, %s, %s, ergoflow %s", e.CPU, counted(e.Cores, "core"), e.Memory, e.Version)
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// wall writes 3.2 s, 12 min 07 s or 2 h 05 min.
func wall(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d == 0:
		return "–"
	case d < 100*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d.Round(time.Second) < time.Hour:
		d = d.Round(time.Second)
		return fmt.Sprintf("%d min %02d s", d/time.Minute, d%time.Minute/time.Second)
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%d h %02d min", d/time.Hour, d%time.Hour/time.Minute)
}
