package figures

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

const (
	terminalRows = 8 // of a histogram
	fewestCells  = 20
	mostCells    = 160
)

// TerminalSamples draws what DrawSamples draws as text of that many columns: for each set a
// histogram of blocks in the same frame and to the same scale, and one of the law; in the plane
// a map of shades.
func TerminalSamples(columns int, sets []SampleSet, law *Curve) (string, error) {
	if err := validateSets(sets, law); err != nil {
		return "", err
	}
	cells := min(max(columns-2, fewestCells), mostCells)
	if sets[0].Dim == 2 {
		return shades(cells, sets), nil
	}
	lo, hi, _ := lineFrame(sets)
	histograms, top := densities(sets, lo, hi, cells)
	var names []string
	for _, s := range sets {
		names = append(names, fmt.Sprintf("%s: %s samples", s.Name, Thousands(len(s.X))))
	}
	if law != nil {
		h := law.means(lo, hi, cells)
		for _, v := range h {
			top = max(top, min(v, 1.5*top))
		}
		histograms, names = append(histograms, h), append(names, law.Name)
	}
	var b strings.Builder
	for i, h := range histograms {
		fmt.Fprintf(&b, "%s\n%s", names[i], blocks(h, top))
		b.WriteString(numberedLine(lo, hi, cells))
	}
	fmt.Fprintf(&b, "highest block: density %.3g\n", top)
	return b.String(), nil
}

// means are the values of the curve in the middles of cells, linear between its points.
func (c Curve) means(lo, hi float64, cells int) []float64 {
	values := make([]float64, cells)
	k := 0
	for i := range values {
		x := lo + (hi-lo)*(float64(i)+0.5)/float64(cells)
		for k+1 < len(c.X) && c.X[k+1] < x {
			k++
		}
		if k+1 < len(c.X) && x >= c.X[0] {
			t := (x - c.X[k]) / (c.X[k+1] - c.X[k])
			values[i] = c.PDF[k] + t*(c.PDF[k+1]-c.PDF[k])
		}
	}
	return values
}

// blocks are bars in eighths of a row.
func blocks(density []float64, top float64) string {
	eighths := []rune(" ▁▂▃▄▅▆▇█")
	var b strings.Builder
	for row := terminalRows - 1; row >= 0; row-- {
		text := make([]rune, len(density))
		for i, d := range density {
			height := int(math.Round(8*terminalRows*min(d/top, 1))) - 8*row
			if row == 0 && d > 0 {
				height = max(height, 1) // some samples are never none
			}
			text[i] = eighths[min(max(height, 0), 8)]
		}
		b.WriteString(strings.TrimRight(" "+string(text), " ") + "\n")
	}
	return b.String()
}

// numberedLine is a line with the numbers of both ends and of the middle under it.
func numberedLine(lo, hi float64, cells int) string {
	left, middle, right := fmt.Sprintf("%.4g", lo), fmt.Sprintf("%.4g", lo+(hi-lo)/2), fmt.Sprintf("%.4g", hi)
	if far := math.Abs(lo) / (hi - lo); far > 100 { // as many digits as tell them apart
		digits := 4 + int(math.Log10(far))
		left, middle, right = fmt.Sprintf("%.*g", digits, lo), fmt.Sprintf("%.*g", digits, lo+(hi-lo)/2), fmt.Sprintf("%.*g", digits, hi)
	}
	gap := max((cells-utf8.RuneCountInString(middle))/2-utf8.RuneCountInString(left), 1)
	rest := max(cells-utf8.RuneCountInString(left)-gap-utf8.RuneCountInString(middle)-utf8.RuneCountInString(right), 1)
	return " " + strings.Repeat("─", cells) + "\n " + left + strings.Repeat(" ", gap) + middle + strings.Repeat(" ", rest) + right + "\n"
}

// shades are maps of samples in the plane. A character is twice as high as wide.
func shades(cells int, sets []SampleSet) string {
	row := rowOf(sets)
	x, y, side := frame(row)
	cells = min(cells, 64)
	rows, ramp := cells/2, []rune(" ·░▒▓█")
	var b strings.Builder
	for _, s := range row.Sets {
		counts, most := make([]int, cells*rows), 0
		for i := 0; i+1 < len(s.Points); i += 2 {
			column := int(math.Floor((float64(s.Points[i]) - x + side/2) / side * float64(cells)))
			line := int(math.Floor((y + side/2 - float64(s.Points[i+1])) / side * float64(rows)))
			if column >= 0 && column < cells && line >= 0 && line < rows {
				counts[line*cells+column]++
				most = max(most, counts[line*cells+column])
			}
		}
		fmt.Fprintf(&b, "%s: %s samples, y from %.4g to %.4g upward\n", s.Name, Thousands(len(s.Points)/2), y-side/2, y+side/2)
		for line := range rows {
			text := make([]rune, cells)
			for i := range text {
				n := counts[line*cells+i]
				shade := 0
				if n > 0 {
					shade = min(1+n*(len(ramp)-1)/max(most, 1), len(ramp)-1)
				}
				text[i] = ramp[shade]
			}
			b.WriteString(strings.TrimRight(" "+string(text), " ") + "\n")
		}
		b.WriteString(numberedLine(x-side/2, x+side/2, cells))
	}
	return b.String()
}
