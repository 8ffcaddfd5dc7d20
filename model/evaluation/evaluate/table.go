package evaluate

import (
	"strings"
	"unicode/utf8"
)

// Table is the results as cells of text: a heading of two levels and one line
// per row.
type Table struct {
	Groups  []Group    // first level of the heading
	Columns []string   // second level, one per column
	Rows    [][]string // len(Columns) cells each; the first names the row
	Notes   []string   // definitions and scale, a sentence each
}

// Group spans Width columns of a table.
type Group struct {
	Name  string
	Width int
}

// Table lays out the results, with the paper's numbers beside them where it prints
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
		cells := []string{row.Name}
		for _, s := range sections {
			cells = append(cells, s.cells(row)...)
		}
		t.Rows = append(t.Rows, cells)
	}
	t.Notes = r.notes()
	return t
}

// lineWidth is the width at which Text starts another block of the table.
const lineWidth = 120

// Text renders the table with aligned columns, names left and numbers right.
func (t Table) Text() string {
	var b strings.Builder
	for _, part := range t.Blocks(lineWidth) {
		part.block(&b)
		b.WriteString("\n")
	}
	for _, n := range t.Notes {
		b.WriteString(n + "\n")
	}
	return b.String()
}

// Blocks cuts the table into parts of at most limit characters, unless a single group
// of columns is wider. Each part begins with the rows' names and has no notes.
func (t Table) Blocks(limit int) []Table {
	widths := t.widths()
	var parts []Table
	for group, column := 1, 1; group < len(t.Groups); {
		groups, columns, total := []Group{t.Groups[0]}, []int{0}, widths[0]
		for ; group < len(t.Groups); group++ {
			g := t.Groups[group]
			width := 2 * g.Width
			for i := range g.Width {
				width += widths[column+i]
			}
			if total+width > limit && len(groups) > 1 {
				break
			}
			total += width
			groups = append(groups, g)
			for range g.Width {
				columns = append(columns, column)
				column++
			}
		}
		part := Table{Groups: groups, Columns: choose(t.Columns, columns)}
		for _, row := range t.Rows {
			part.Rows = append(part.Rows, choose(row, columns))
		}
		parts = append(parts, part)
	}
	return parts
}

func choose(cells []string, columns []int) []string {
	some := make([]string, len(columns))
	for i, k := range columns {
		some[i] = cells[k]
	}
	return some
}

// block writes the heading and the rows.
func (t Table) block(b *strings.Builder) {
	widths := t.widths()
	var heading strings.Builder
	column, total := 0, -2
	for _, g := range t.Groups {
		width := 2 * (g.Width - 1)
		for range g.Width {
			width += widths[column]
			column++
		}
		heading.WriteString(centre(g.Name, width) + "  ")
		total += width + 2
	}
	b.WriteString(strings.TrimRight(heading.String(), " ") + "\n")
	b.WriteString(textLine(t.Columns, widths))
	b.WriteString(strings.Repeat("─", total) + "\n")
	for _, row := range t.Rows {
		b.WriteString(textLine(row, widths))
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
