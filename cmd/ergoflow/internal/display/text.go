package display

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/fleet"
	"github.com/ergoflow/ergoflow/coordinator/gossip"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/internal/hostport"
)

// Text writes a status: the run, cut links, the workers and the refused connections.
func Text(w io.Writer, st coordinator.Status, o Order) error {
	lines := head(st)
	if len(st.Workers) > 0 {
		lines = append(append(lines, ""), table(st.Workers, o)...)
	}
	lines = append(lines, refused(st)...)
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

// head has the lines about the run and the cluster.
func head(st coordinator.Status) (lines []string) {
	say := func(name, format string, args ...any) {
		lines = append(lines, fmt.Sprintf("%-12s", name)+Clean(fmt.Sprintf(format, args...)))
	}
	say("state", "%s", st.State)
	if st.Run != "" {
		aboutRun(st, say)
	}
	if st.Failure != "" {
		say("failure", "%s", st.Failure)
	}
	for _, l := range st.CutLinks {
		say("cut link", "%s and %s do not reach each other, since %s", l.Workers[0], l.Workers[1], l.Since.Format(time.RFC3339))
	}
	if len(st.Conducts) > 1 {
		lines = append(append(append(lines, ""), conducted(st.Conducts)...), "")
	}
	switch st.Waiting {
	case 0:
	case 1:
		say("queue", "1 run waits")
	default:
		say("queue", "%d runs wait", st.Waiting)
	}
	if text := versions(st); text != "" {
		say("versions", "%s", text)
	}
	if st.Archive != nil {
		say("archive", "%s", archived(*st.Archive))
	}
	if st.Reason != "" {
		say("last", "%s", st.Reason)
	}
	if !st.Secured && !hostport.IsLoopback(st.Gossip) {
		say("insecure", "connections are plain text: everybody who reaches the ports can join and change the training")
	}
	if st.AcceptsPlaintext {
		say("insecure", "%s", gossip.HalfSecured)
		say("plain text", "%s", Plaintext(st.Plaintext))
	}
	return lines
}

// archived says which checkpoints are in the store besides the coordinator's disk.
func archived(a coordinator.Archive) string {
	text := fmt.Sprintf("checkpoints of cluster %s in %s: ", a.Cluster, a.Store)
	switch {
	case a.Problem != "":
		return text + "the newest is on the coordinator's disk alone: " + a.Problem
	case a.Run == "":
		return text + "none was copied since the coordinator started"
	}
	return text + fmt.Sprintf("step %d of %.12s since %s", a.Step, a.Run, a.Time.Format(time.RFC3339))
}

func aboutRun(st coordinator.Status, say func(name, format string, args ...any)) {
	say("run", "%s (%.12s)", st.Experiment, st.Run)
	say("shards", "%d of %d", st.Shards.Done, st.Shards.Total)
	say("step", "%d of %d", st.Step, st.Steps)
	if st.Loss != nil {
		say("loss", "%.4g", *st.Loss)
	}
	say("generation", "%d, world size %d", st.Generation, st.WorldSize)
	if w := st.WaitsFor; w != nil {
		say("waits for", "%s", WaitsFor(w))
	}
	g := st.Goodput
	if g == nil || g.Seconds <= 0 {
		return
	}
	part := func(seconds float64) string { return fmt.Sprintf("%.1f %%", 100*seconds/g.Seconds) }
	total := time.Duration(g.Seconds * float64(time.Second)).Round(time.Second)
	say("goodput", "%s of %s in useful steps", part(g.Useful), total)
	for _, l := range g.Lost {
		if l.Seconds >= g.Seconds/1000 { // the rest is not worth a line
			say("  "+string(l.Cause), "%s: %s", part(l.Seconds), l.Why)
		}
	}
}

// Plaintext says which workers keep a cluster from being secured.
func Plaintext(workers []string) string {
	if len(workers) == 0 {
		return "no worker: start the coordinator again without --accept-plaintext"
	}
	return strings.Join(workers, ", ") + ": drain each, and start it again with --token (docs/security.md)"
}

// WaitsFor describes the straggler that the other workers wait for.
func WaitsFor(w *machine.WaitsFor) string {
	return fmt.Sprintf("%s, %.3g ms a step; it is the last in %d of %d steps", w.Worker, 1e3*w.Seconds, w.Steps, w.Of)
}

// conducted is a table of runs that have workers at once.
func conducted(runs []fleet.RunStatus) []string {
	rows := [][]string{{"run", "experiment", "state", "step", "workers", "uses"}}
	for _, r := range runs {
		uses := "all"
		if r.Bounds != (ergoflow.WorkerBounds{}) {
			uses = r.Bounds.String()
		}
		rows = append(rows, []string{fmt.Sprint(r.Entry), fmt.Sprintf("%s (%.12s)", r.Experiment, r.Run), r.State,
			fmt.Sprintf("%d of %d", r.Step, r.Steps), fmt.Sprint(r.Workers), uses})
	}
	return aligned(rows)
}

// table is a table of workers, its first line the names of the columns. What matters most is on
// the left: a narrow screen cuts the right.
func table(workers []machine.WorkerStatus, o Order) []string {
	rows := [][]string{{"worker", "rank", "step", "shards", "pace", "wait", "state", "device", "run", "pid", "address", "doing"}}
	for _, w := range o.sorted(workers) {
		state := w.State
		if w.Slow {
			state += ", slow"
		}
		rows = append(rows, []string{string(w.ID), fmt.Sprint(w.Rank), fmt.Sprint(w.Step), fmt.Sprint(len(w.Shards)),
			milliseconds(w.Pace), milliseconds(w.Timing.Wait), state, w.Device, fmt.Sprintf("%.12s", cmp.Or(w.Run, "-")), fmt.Sprint(w.PID), w.Addr,
			cmp.Or(w.Reason, w.Doing)})
	}
	return aligned(rows)
}

// milliseconds are those of seconds, or a dash where they are not known.
func milliseconds(seconds float64) string {
	if seconds <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.3g ms", 1e3*seconds)
}

// refused has the last refusals.
func refused(st coordinator.Status) (lines []string) {
	for _, r := range st.Refused {
		lines = append(lines, Clean(fmt.Sprintf("%s  %s: %s (%d times)", r.Time.Format(time.RFC3339), r.From, r.Reason, r.Count)))
	}
	if len(lines) > 0 {
		lines = slices.Insert(lines, 0, "", "refused")
	}
	return lines
}

// aligned makes lines of rows whose columns are below each other.
func aligned(rows [][]string) []string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	for _, row := range rows {
		for i := range row {
			row[i] = Clean(row[i])
		}
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	t.Flush() // a strings.Builder takes everything
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

// Clean takes control characters out of a text that others wrote: a terminal would obey them.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '\uFFFD'
		}
		return r
	}, text)
}
