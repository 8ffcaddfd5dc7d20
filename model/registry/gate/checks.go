package gate

import "fmt"

// checks compares the candidate with the controls in its first metric, each paired by
// function.
func (j judge) checks(controls Controls) (all []Check) {
	for _, control := range []struct {
		name, row string
		table     *Table
		part      float64 // of its mean
		hint      string
	}{
		{"normal", "normal law with the reference's moments", controls.Normal, j.Normal, "; train longer or, for a family whose laws are normal, set the gate's normal to 0"},
		{"untrained", "untrained network", controls.Untrained, j.Untrained, "; train longer, or raise the gate's untrained"},
	} {
		if control.part == 0 {
			continue
		}
		passed, reason := j.check(control.row, control.table, control.part)
		if !passed {
			reason += control.hint
		}
		all = append(all, Check{control.name, passed, reason})
	}
	return all
}

// check tests the null hypothesis that the candidate's expectation is at least part of the
// control's.
func (j judge) check(row string, table *Table, part float64) (passed bool, reason string) {
	mine := j.candidate.Metrics[0]
	if table == nil {
		return false, fmt.Sprintf("the %s was not evaluated, so the candidate cannot be compared with it", row)
	}
	if err := table.validate(); err != nil {
		return false, fmt.Sprintf("the %s %v", row, err)
	}
	theirs, ok := table.metric(mine.Name)
	if !ok {
		return false, fmt.Sprintf("the %s has no %s", row, mine.Name)
	}
	p, err := j.candidate.pair(*table)
	if err != nil {
		return false, fmt.Sprintf("the candidate and the %s %v", row, err)
	}
	found := j.compare(p, mine, theirs)
	passed = found.rejects(found.below(part - 1))
	shown := "shown to be"
	if !passed {
		shown = "not shown to be"
	}
	return passed, fmt.Sprintf("the candidate's %s of %s is %s below %sthat of the %s, %s", mine.Name, Number(found.mine), shown, times(part), row, Number(found.theirs))
}
