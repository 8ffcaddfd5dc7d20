package display

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/ergoflow/ergoflow/coordinator"
)

// A view is what a screen shows.
type view struct {
	where  string // the cluster, as commands take it
	status coordinator.Status
	heard  time.Time // when the status came
	trouble
	now    time.Time
	order  Order
	top    int // first row of workers
	width  int
	height int
}

// trouble is that a coordinator does not answer.
type trouble struct {
	since time.Time // zero: it answers
	err   error     // why; nil: not known yet
}

// leastRows is how many workers a screen shows, if it is high enough for them and three lines
// more. What is above the table gives way.
const leastRows = 5

// String says what is the matter; empty: nothing.
func (t trouble) at(now time.Time) string {
	if t.since.IsZero() {
		return ""
	}
	text := fmt.Sprintf("the coordinator does not answer since %s (%s); what follows is older", t.since.Format(time.TimeOnly), now.Sub(t.since).Round(time.Second))
	if t.err != nil {
		text += ": " + Clean(t.err.Error())
	}
	return text
}

// screen is the text of a screen: exactly height lines of at most width columns. It returns the
// first row of workers that it shows, which is less than v.top where there are fewer.
func (v view) screen() (text string, top int) {
	first := Clean("ergoflow status " + v.where + "  " + v.now.Format(time.TimeOnly))
	lines := []string{first}
	if t := v.trouble.at(v.now); t != "" {
		lines = append(lines, bold(t))
	}
	above := head(v.status)
	rows := table(v.status.Workers, v.order)
	names, rows := rows[0], rows[1:]
	room := v.height - len(lines) - 3 // an empty line, the names of the columns, the keys
	if most := room - min(len(rows), leastRows); len(above) > most {
		above = above[:max(0, most)]
	}
	room = max(0, room-len(above))
	top = max(0, min(v.top, len(rows)-room))
	shown := rows[top:min(len(rows), top+room)]
	lines = append(append(lines, above...), "", inverse(ansi.Truncate(names, v.width, "…")+strings.Repeat(" ", max(0, v.width-ansi.StringWidth(names)))))
	lines = append(lines, shown...)
	for len(lines) < v.height-1 {
		lines = append(lines, "")
	}
	lines = lines[:max(0, min(len(lines), v.height-1))]
	lines = append(lines, v.foot(top, len(shown)))
	for i := range lines {
		lines[i] = ansi.Truncate(lines[i], v.width, "…")
	}
	return strings.Join(lines, "\n"), top
}

// foot says which workers are shown, and what the keys do.
func (v view) foot(top, shown int) string {
	var keys []string
	for _, o := range orders {
		keys = append(keys, o.key+" "+o.name)
	}
	which := fmt.Sprintf("%d workers", len(v.status.Workers))
	if shown < len(v.status.Workers) {
		which = fmt.Sprintf("workers %d to %d of %d", top+1, top+shown, len(v.status.Workers))
	}
	return fmt.Sprintf("%s by %s · q quit, ↑↓ scroll, sort: %s, again: reverse", which, v.order, strings.Join(keys, ", "))
}

func bold(text string) string    { return "\x1b[1m" + text + "\x1b[m" }
func inverse(text string) string { return "\x1b[7m" + text + "\x1b[m" }
