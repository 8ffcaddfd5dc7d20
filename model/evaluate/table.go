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

// section is a group of columns with the cells that it has for a row.
type section struct {
	name    string
	columns []string
	cells   func(row Row, p PaperRow) []string // without a row of the paper p is zero: dashes
}

// Table lays the results out, with the paper's numbers beside them where it has
// any. Distances are in units of x (Sinkhorn: of x²); times are seconds for all
// functions.
func (r *Results) Table() Table {
	t := Table{Groups: []Group{{"", 1}}, Columns: []string{"samples from"}}
	sections := r.sections()
	for _, s := range sections {
		t.Groups = append(t.Groups, Group{s.name, len(s.columns)})
		t.Columns = append(t.Columns, s.columns...)
	}
	for _, row := range r.Rows {
		p, _ := paperRow(r.Experiment.Name, row)
		cells := []string{row.Name}
		for _, s := range sections {
			cells = append(cells, s.cells(row, p)...)
		}
		t.Rows = append(t.Rows, cells)
	}
	t.Notes = r.notes()
	return t
}

// sections are those whose numbers exist.
func (r *Results) sections() []section {
	line, converged := r.Dim <= 1, r.Dim <= MaxConvergedDim
	exact, printed := len(r.ReferenceToExact) > 0, len(Paper(r.Experiment.Name)) > 0
	var all []section
	for _, s := range []struct {
		exists bool
		section
	}{
		{true, section{"Sinkhorn", []string{"mean", "median"}, func(row Row, _ PaperRow) []string { return meanMedian(row.Summary.Sinkhorn) }}},
		{printed, section{"paper", []string{"mean", "median"}, func(_ Row, p PaperRow) []string { return asPrinted(p.SinkhornMean, p.SinkhornMedian) }}},
		{line, section{"W2", []string{"mean ± s.e.", "median"}, func(row Row, _ PaperRow) []string { return meanErrorMedian(row.Summary.W2) }}},
		{line && printed, section{"paper", []string{"mean", "median"}, func(_ Row, p PaperRow) []string { return asPrinted(p.W2Mean, p.W2Median) }}},
		{!line, section{"sliced W2", []string{"mean ± s.e.", "median"}, func(row Row, _ PaperRow) []string { return meanErrorMedian(row.Summary.SlicedW2) }}},
		{true, section{"time (s)", []string{"set-up", "solve"}, func(row Row, _ PaperRow) []string {
			return []string{seconds(row.SetupSeconds), seconds(row.SolveSeconds)}
		}}},
		{printed, section{"paper", []string{"time (s)"}, func(_ Row, p PaperRow) []string { return asPrinted(p.Seconds) }}},
		{converged, section{"Sinkhorn converged", []string{"mean", "median"}, func(row Row, _ PaperRow) []string { return meanMedian(row.Summary.SinkhornConverged) }}},
		{exact, section{"W2 to exact law", []string{"mean", "median"}, func(row Row, _ PaperRow) []string { return meanMedian(row.Summary.W2Exact) }}},
		{line, section{"KS", []string{"rejected"}, func(row Row, _ PaperRow) []string {
			return []string{fmt.Sprintf("%.0f %%", 100*row.Summary.KSRejected)}
		}}},
		{true, section{"variance", []string{"ratio"}, func(row Row, _ PaperRow) []string {
			return []string{fmt.Sprintf("%.2f", row.Summary.VarianceRatio.Median)}
		}}},
	} {
		if s.exists {
			all = append(all, s.section)
		}
	}
	return all
}

func meanMedian(s Statistic) []string { return []string{significant(s.Mean), significant(s.Median)} }

func meanErrorMedian(s Statistic) []string {
	return []string{fmt.Sprintf("%.3f ± %.3f", s.Mean, s.StdErr), significant(s.Median)}
}

func asPrinted(values ...float64) []string {
	cells := make([]string, len(values))
	for i, v := range values {
		cells[i] = printed(v)
	}
	return cells
}

func (r *Results) notes() []string {
	e := r.Experiment
	others := "KS at 5 %; variance ratio: samples/reference, median"
	if r.Dim > 1 {
		others = fmt.Sprintf("sliced W2 over %d directions; variance ratio: of the sums of all variances, samples/reference, median", directions)
	}
	converged := ""
	if r.Dim <= MaxConvergedDim {
		converged = fmt.Sprintf(", and converged (largest residual %s)", significant(r.residual()))
	}
	notes := []string{
		ScaleNote(e),
		fmt.Sprintf("%d held-out functions, %d samples each; Sinkhorn divergence with cost ½|x−y|², blur %g, scaling %g%s; %s.",
			r.Functions, r.Samples, e.Evaluation.Blur, e.Evaluation.Scaling, converged, others),
	}
	if len(r.ReferenceToExact) > 0 {
		notes = append(notes, fmt.Sprintf("The reference sets themselves are W2 %s (mean) and %s (median) from the exact law; for %d of %d functions below %g, where the mean W2 is: %s.",
			significant(r.Reference.Mean), significant(r.Reference.Median), r.Mixed, r.Functions, r.MixedBelow, r.mixedMeans()))
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

// lineWidth is where Text goes on in a second block of the table.
const lineWidth = 120

// Text renders the table with aligned columns, names left and numbers right.
// Groups of columns that do not fit on a line follow in further blocks, each
// with the rows' names.
func (t Table) Text() string {
	widths := t.widths()
	var b strings.Builder
	for group, column := 1, 1; group < len(t.Groups); {
		groups, columns, total := []Group{t.Groups[0]}, []int{0}, widths[0]
		for ; group < len(t.Groups); group++ {
			g := t.Groups[group]
			width := 2 * g.Width
			for i := range g.Width {
				width += widths[column+i]
			}
			if total+width > lineWidth && len(groups) > 1 {
				break
			}
			total += width
			groups = append(groups, g)
			for range g.Width {
				columns = append(columns, column)
				column++
			}
		}
		t.block(&b, groups, columns, widths, total)
		b.WriteString("\n")
	}
	for _, n := range t.Notes {
		b.WriteString(n + "\n")
	}
	return b.String()
}

// block writes the chosen groups, whose columns they are.
func (t Table) block(b *strings.Builder, groups []Group, columns, widths []int, total int) {
	var heading strings.Builder
	column := 0
	for _, g := range groups {
		width := 2 * (g.Width - 1)
		for range g.Width {
			width += widths[columns[column]]
			column++
		}
		heading.WriteString(centre(g.Name, width) + "  ")
	}
	b.WriteString(strings.TrimRight(heading.String(), " ") + "\n")
	b.WriteString(textLine(t.Columns, columns, widths))
	b.WriteString(strings.Repeat("─", total) + "\n")
	for _, row := range t.Rows {
		b.WriteString(textLine(row, columns, widths))
	}
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

func textLine(cells []string, columns, widths []int) string {
	var b strings.Builder
	for _, i := range columns {
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cells[i]))
		if i == 0 {
			b.WriteString(cells[i] + pad)
		} else {
			b.WriteString("  " + pad + cells[i])
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
		// The exponent after rounding: 0.99999 is 1.00.
		_, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', 2, 64), "e")
		magnitude, err := strconv.Atoi(exponent)
		if err != nil { // NaN or infinite
			return strconv.FormatFloat(v, 'g', -1, 64)
		}
		return strconv.FormatFloat(v, 'f', max(2-magnitude, 0), 64)
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
