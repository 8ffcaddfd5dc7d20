package evaluate

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Table is the results as cells of text: a heading of two levels and one line
// per row.
type Table struct {
	Groups  []Group    // first level of the heading
	Columns []string   // second level, one per column
	Rows    [][]string // len(Columns) cells each; the first names the row
	Notes   []string   // what a reader must know, a sentence each
}

// Group spans Width columns of a table.
type Group struct {
	Name  string
	Width int
}

// Table lays the results out with the paper's numbers beside them. Distances
// are in units of x (Sinkhorn: of x²); times are seconds for all functions.
func (r *Results) Table() Table {
	t := Table{
		Groups: []Group{{"", 1}, {"Sinkhorn", 2}, {"converged", 2}, {"W2", 2}, {"W2 to exact", 2},
			{"KS", 1}, {"variance", 1}, {"time (s)", 2}, {"paper: Sinkhorn", 2}, {"paper: W2", 2}, {"paper", 1}},
		Columns: []string{"samples from", "mean", "median", "mean", "median", "mean ± s.e.", "median", "mean", "median",
			"rejected", "ratio", "set-up", "solve", "mean", "median", "mean", "median", "time (s)"},
	}
	for _, row := range r.Rows {
		s := row.Summary
		line := []string{row.Name,
			significant(s.Sinkhorn.Mean), significant(s.Sinkhorn.Median),
			significant(s.SinkhornConverged.Mean), significant(s.SinkhornConverged.Median),
			fmt.Sprintf("%.3f ± %.3f", s.W2.Mean, s.W2.StdErr), significant(s.W2.Median),
			significant(s.W2Exact.Mean), significant(s.W2Exact.Median),
			fmt.Sprintf("%.0f %%", 100*s.KSRejected), fmt.Sprintf("%.2f", s.VarianceRatio.Median),
			seconds(row.SetupSeconds), seconds(row.SolveSeconds),
		}
		if p, ok := paperRow(r.Experiment.Name, row); ok {
			line = append(line, printed(p.SinkhornMean), printed(p.SinkhornMedian),
				printed(p.W2Mean), printed(p.W2Median), printed(p.Seconds))
		} else {
			line = append(line, "–", "–", "–", "–", "–")
		}
		t.Rows = append(t.Rows, line)
	}
	t.Notes = r.notes()
	return t
}

func (r *Results) notes() []string {
	e := r.Experiment
	notes := []string{
		ScaleNote(e),
		fmt.Sprintf("%d held-out functions, %d samples each; Sinkhorn divergence with cost ½|x−y|², blur %g, scaling %g, and converged (largest residual %s); KS at 5 %%; variance ratio: samples/reference, median.",
			r.Functions, r.Samples, e.Evaluation.Blur, e.Evaluation.Scaling, significant(r.residual())),
		fmt.Sprintf("The reference sets themselves are W2 %s (mean) and %s (median) from the exact law; for %d of %d functions below %g, where the mean W2 is: %s.",
			significant(r.Reference.Mean), significant(r.Reference.Median), r.Mixed, r.Functions, r.MixedBelow, r.mixedMeans()),
	}
	for _, row := range r.Rows {
		if row.Note != "" {
			notes = append(notes, row.Name+": "+row.Note)
		}
	}
	if len(Paper(e.Name)) > 0 {
		notes = append(notes, "paper: "+Source+".")
	}
	return notes
}

func (r *Results) residual() float64 {
	worst := 0.0
	for _, row := range r.Rows {
		worst = max(worst, row.Summary.Residual)
	}
	return worst
}

func (r *Results) mixedMeans() string {
	parts := make([]string, len(r.Rows))
	for i, row := range r.Rows {
		parts[i] = row.Name + " " + significant(row.Summary.W2Mixed.Mean)
	}
	return strings.Join(parts, ", ")
}

// Text renders the table with aligned columns, names left and numbers right.
func (t Table) Text() string {
	widths := t.widths()
	var b strings.Builder
	column := 0
	var first strings.Builder
	for _, g := range t.Groups {
		width := 2 * (g.Width - 1)
		for range g.Width {
			width += widths[column]
			column++
		}
		first.WriteString(centre(g.Name, width) + "  ")
	}
	b.WriteString(strings.TrimRight(first.String(), " ") + "\n")
	b.WriteString(textLine(t.Columns, widths))
	total := 2 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	b.WriteString(strings.Repeat("─", total) + "\n")
	for _, row := range t.Rows {
		b.WriteString(textLine(row, widths))
	}
	if len(t.Notes) > 0 {
		b.WriteString("\n")
	}
	for _, n := range t.Notes {
		b.WriteString(n + "\n")
	}
	return b.String()
}

// widths makes every column wide enough for its cells and every group for its
// name; the last column of a group takes what is missing.
func (t Table) widths() []int {
	widths := make([]int, len(t.Columns))
	for _, line := range append([][]string{t.Columns}, t.Rows...) {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	column := 0
	for _, g := range t.Groups {
		width := 2 * (g.Width - 1)
		for range g.Width {
			width += widths[column]
			column++
		}
		if missing := utf8.RuneCountInString(g.Name) - width; missing > 0 {
			widths[column-1] += missing
		}
	}
	return widths
}

func textLine(cells []string, widths []int) string {
	var b strings.Builder
	for i, cell := range cells {
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if i == 0 {
			b.WriteString(cell + pad)
		} else {
			b.WriteString("  " + pad + cell)
		}
	}
	return strings.TrimRight(b.String(), " ") + "\n"
}

func centre(s string, width int) string {
	left := (width - utf8.RuneCountInString(s)) / 2
	return strings.Repeat(" ", left) + s + strings.Repeat(" ", width-left-utf8.RuneCountInString(s))
}

// Markdown renders the table as GitHub's Markdown, whose heading has one line:
// the group's name goes in front of the column's.
func (t Table) Markdown() string {
	var b strings.Builder
	heads := make([]string, 0, len(t.Columns))
	for _, g := range t.Groups {
		for range g.Width {
			heads = append(heads, strings.TrimSpace(g.Name+" "+t.Columns[len(heads)]))
		}
	}
	b.WriteString("| " + strings.Join(heads, " | ") + " |\n|---|" + strings.Repeat("---:|", len(heads)-1) + "\n")
	for _, row := range t.Rows {
		b.WriteString("| " + strings.ReplaceAll(strings.Join(row, "\x00"), "|", `\|`) + " |\n")
	}
	out := strings.ReplaceAll(b.String(), "\x00", " | ")
	for _, n := range t.Notes {
		out += "\n" + n + "\n"
	}
	return out
}

// significant writes three significant digits without an exponent down to
// 0.0001; smaller numbers get one.
func significant(v float64) string {
	switch size := math.Abs(v); {
	case v == 0:
		return "0"
	case size < 1e-4 || size >= 1e6:
		return strconv.FormatFloat(v, 'e', 1, 64)
	default:
		decimals := 2 - int(math.Floor(math.Log10(size)))
		return strconv.FormatFloat(v, 'f', max(decimals, 0), 64)
	}
}

func seconds(v float64) string {
	if v == 0 {
		return "–"
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// printed is a number as the paper has it.
func printed(v float64) string {
	if v == 0 {
		return "–"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
