package reproduce

import (
	"fmt"
	"slices"
	"strings"
)

// how is what a reader must know of every number.
const how = "Ours: the mean over seeds of a mean or median over held-out functions, with its 95 % bootstrap interval over functions and, where the row depends on the seed, the number of every seed. Wall times are those of the first seed: they are a matter of the machine, not of the seed. A dash: no such number, or not yet. The paper's are single runs without error bars."

// Markdown is the study as a page for docs/results; figures are in the folder
// beside it.
func (r StudyResult) Markdown(doc *Document) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s, %s preset\n\n    ergoflow reproduce %s --preset %s --seeds %d\n\n", r.Name, doc.Preset, r.Name, doc.Preset, doc.Seeds)
	if n := r.unfinished(); n > 0 {
		fmt.Fprintf(&b, "**Not complete**: %d of %d runs are not finished.\n\n", n, len(r.Runs))
	}
	fmt.Fprintf(&b, "**%s**\n\n%s\n", r.Scale, how)
	for _, t := range r.Tables {
		b.WriteString(t.markdown(r.Scaled))
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "\n%s\n", n)
	}
	fmt.Fprintf(&b, "\n## Configuration%s\n\n| | %s | paper |\n|---|---|---|\n", r.configured(), ours(r.Scaled))
	for _, s := range r.Configuration {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", s.Name, s.Ours, s.Printed())
	}
	fmt.Fprintf(&b, "\n%s\n", r.configurationNote())
	b.WriteString("\n## Runs\n\n| run | seed | updates | parameters | data | training | loss | evaluation | hash |\n|---|---:|---:|---:|---:|---:|---:|---:|---|\n")
	for _, f := range r.Runs {
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s | %s%s | %s | %s | `%.12s` |\n", f.Run, f.Seed, digits(float64(f.Updates)), digits(float64(f.Parameters)),
			f.Data(), f.Train(), f.again(), f.LastLoss(), f.Judge(), f.TrainingRecord.Run)
	}
	if len(r.Runs) > 0 {
		fmt.Fprintf(&b, "\nWall times. %s\n", r.Runs[0].Machine())
	}
	if len(r.Figures) > 0 {
		b.WriteString("\n## Figures\n")
		fmt.Fprintf(&b, "\n%s\n", r.shownOf())
	}
	for _, f := range r.Figures {
		fmt.Fprintf(&b, "\n![%s](%s/%s.png)\n\n%s%s Data: [%s.csv](%s/%s.csv).\n", f.Name, r.Name, f.Name, f.Text, f.stands(), f.Name, r.Name, f.Name)
	}
	fmt.Fprintf(&b, "\nThe paper: %s.\n", doc.Source)
	return b.String()
}

func (t FilledTable) markdown(scaled bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s", t.Title)
	if t.Source != "" {
		fmt.Fprintf(&b, " (%s)", t.Source)
	}
	b.WriteString("\n\n| |")
	rule := "\n|---|"
	for _, c := range t.Columns {
		fmt.Fprintf(&b, " %s, %s |", c.Name, ours(scaled))
		rule += "---:|"
		if c.Printed {
			b.WriteString(" paper |")
			rule += "---:|"
		}
	}
	b.WriteString(rule + "\n")
	for _, row := range t.Rows {
		fmt.Fprintf(&b, "| %s |", row.Name)
		for i, c := range row.Cells {
			b.WriteString(" " + c.Number())
			if s := c.Interval(); s != "" {
				fmt.Fprintf(&b, " [%s]", s)
			}
			if s := c.Spread(); s != "" {
				fmt.Fprintf(&b, "; seeds %s", s)
			}
			b.WriteString(" |")
			if t.Columns[i].Printed {
				fmt.Fprintf(&b, " %s |", c.Printed())
			}
		}
		b.WriteString("\n")
	}
	for _, n := range t.Notes {
		fmt.Fprintf(&b, "\n%s\n", n)
	}
	return b.String()
}

// ours heads every column of our numbers, so that none stands unlabelled.
func ours(scaled bool) string {
	if scaled {
		return "ours, scaled"
	}
	return "ours"
}

func (r StudyResult) unfinished() int {
	n := 0
	for _, f := range r.Runs {
		if len(f.Judged) == 0 {
			n++
		}
	}
	return n
}

// shownOf says of which runs the figures are.
func (r StudyResult) shownOf() string {
	scale := ""
	if r.Scaled {
		scale = ", scaled"
	}
	if len(r.Runs) > 0 && slices.ContainsFunc(r.Runs, func(f RunFact) bool { return f.Run != r.Runs[0].Run }) {
		return fmt.Sprintf("Of the first seed%s; the model, where no other is named, is that of the run %s.", scale, r.Runs[0].Run)
	}
	return "Of the first seed" + scale + "."
}

// configured cites where the paper prints its settings.
func (r StudyResult) configured() string {
	if r.ConfiguredIn == "" {
		return ""
	}
	return " (" + r.ConfiguredIn + ")"
}

func (r StudyResult) configurationNote() string {
	note := "A dash: the paper does not say, or has no such thing."
	if r.Scaled {
		note += " What it does not say was chosen for the full preset."
	}
	if len(r.Runs) > 0 {
		note += fmt.Sprintf(" Of the run %s; others differ in what their rows say.", r.Runs[0].Run)
	}
	return note
}

// again says that the times are those of a last attempt alone.
func (r RunFact) again() string {
	if r.Attempts < 2 {
		return ""
	}
	return fmt.Sprintf(" (last of %d attempts)", r.Attempts)
}

func (f Figure) stands() string {
	if f.Paper == "" {
		return ""
	}
	return " Beside the paper's " + f.Paper + "."
}
