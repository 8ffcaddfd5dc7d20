package reproduce

import (
	"fmt"
	"slices"
	"strings"
)

// how explains every number of a page.
const how = "Ours: mean over seeds of the mean or median over held-out functions, with its 95 % bootstrap interval over functions, and the number of every seed where the row depends on the seed. Distances: lower is better; the floor is the best possible. Wall times are those of the first seed, since they depend on the machine and not on the seed. A dash: no number, or none yet. The paper's numbers are single runs without error bars."

// Markdown is the study as a page for docs/results, with its figures in the folder
// beside it.
func (r StudyResult) Markdown(doc *Document) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s, %s preset\n\n    ergoflow reproduce %s --preset %s --seeds %d\n\n", r.Name, doc.Preset, r.Name, doc.Preset, doc.Seeds)
	if n := r.unfinished(); n > 0 {
		fmt.Fprintf(&b, "**Incomplete**: %d of %d runs are not finished.\n\n", n, len(r.Runs))
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
			f.DataTime(), f.TrainTime(), f.attempts(), f.LastLoss(), f.EvaluationTime(), f.TrainingRecord.Run)
	}
	if len(r.Runs) > 0 {
		fmt.Fprintf(&b, "\nWall times. %s\n", r.Runs[0].Machine())
	}
	if len(r.Figures) > 0 {
		b.WriteString("\n## Figures\n")
		fmt.Fprintf(&b, "\n%s\n", r.figuresOf())
	}
	for _, f := range r.Figures {
		fmt.Fprintf(&b, "\n![%s](%s/%s.png)\n\n%s%s Data: [%s.csv](%s/%s.csv).\n", f.Name, r.Name, f.Name, f.Text, f.paperFigure(), f.Name, r.Name, f.Name)
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
			if s := c.SeedNumbers(); s != "" {
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

// ours heads every column of our numbers, so that each one says whether it is scaled.
func ours(scaled bool) string {
	if scaled {
		return "ours, scaled"
	}
	return "ours"
}

func (r StudyResult) unfinished() int {
	n := 0
	for _, f := range r.Runs {
		if len(f.Evaluations) == 0 {
			n++
		}
	}
	return n
}

// figuresOf says which run the figures show.
func (r StudyResult) figuresOf() string {
	scale := ""
	if r.Scaled {
		scale = ", scaled"
	}
	if len(r.Runs) > 0 && slices.ContainsFunc(r.Runs, func(f RunFact) bool { return f.Run != r.Runs[0].Run }) {
		return fmt.Sprintf("First seed%s. Where a figure names no other run, the model is that of the run %s.", scale, r.Runs[0].Run)
	}
	return "First seed" + scale + "."
}

// configured cites where the paper prints its settings.
func (r StudyResult) configured() string {
	if r.ConfiguredIn == "" {
		return ""
	}
	return " (" + r.ConfiguredIn + ")"
}

func (r StudyResult) configurationNote() string {
	note := "A dash: the paper gives no value, or has no such setting."
	if r.Scaled {
		note += " Where it gives none, the full preset has our choice."
	}
	if len(r.Runs) > 0 {
		note += fmt.Sprintf(" Settings of the run %s; other runs differ as their rows say.", r.Runs[0].Run)
	}
	return note
}

// attempts says that the times are those of the last attempt alone.
func (r RunFact) attempts() string {
	if r.Attempts < 2 {
		return ""
	}
	return fmt.Sprintf(" (last of %d attempts)", r.Attempts)
}

func (f Figure) paperFigure() string {
	if f.Paper == "" {
		return ""
	}
	return " The paper's figure: " + f.Paper + "."
}
