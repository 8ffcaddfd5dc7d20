package explain

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow"
)

// clock is a time for people.
func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }

// seconds is a duration for people.
func seconds(s float64) string {
	if s < 1 {
		return fmt.Sprintf("%.0f ms", 1e3*s)
	}
	return fmt.Sprintf("%.1f s", s)
}

// label is the member for people.
func (m *member) label() string {
	if m.isWorker() {
		return "worker " + string(m.ID)
	}
	return "the " + m.Role
}

// who is a worker for people, with its rank where that is known.
func (c *inquiry) who(id ergoflow.WorkerID, generation ergoflow.Generation) string {
	if rank, ok := c.ranks.of(id, cmp.Or(generation, c.generation)); ok {
		return fmt.Sprintf("worker %s (rank %d)", id, rank)
	}
	return "worker " + string(id)
}

// text is a record for people.
func (e *event) text() string {
	text := string(e.Kind)
	if e.Worker != "" {
		text += " " + string(e.Worker)
	}
	if e.Peer != "" {
		text += " about " + string(e.Peer)
	}
	if e.Seconds > 0 {
		text += fmt.Sprintf(" for %s", seconds(e.Seconds))
	}
	if e.Text != "" {
		text += ": " + e.Text
	}
	return strings.TrimSuffix(text, ".")
}

// waitText says for what a rank waited.
func (c *inquiry) waitText(e *event) string {
	_, rank, _ := strings.Cut(c.who(e.Worker, e.Generation), "(")
	from := strings.TrimSuffix(rank, ")")
	if from == "" {
		from = "worker " + string(e.Worker)
	}
	return fmt.Sprintf("It had not sent chunk %d of step %d: %s waited %s for that from %s.",
		e.Chunk, e.Step, c.who(e.member.ID, e.Generation), seconds(e.Seconds), from)
}

// trainingText says when training stopped and when it went on.
func (c *inquiry) trainingText(last, next *event) string {
	switch {
	case last == nil:
		return ""
	case next == nil:
		return fmt.Sprintf("The last step is %d of generation %d, made at %s UTC; the dumps have none after it.", last.Step, last.Generation, clock(last.at))
	case next.at.Sub(last.at) < time.Second:
		return fmt.Sprintf("Training went on: no two steps were more than %s apart.", seconds(next.at.Sub(last.at).Seconds()))
	}
	return fmt.Sprintf("Training stood still for %s after step %d of generation %d, and went on at %s UTC with step %d of generation %d.",
		seconds(next.at.Sub(last.at).Seconds()), last.Step, last.Generation, clock(next.at), next.Step, next.Generation)
}

// healthy describes what the dumps of a run have in which nothing stopped.
func (c *inquiry) healthy() string {
	if len(c.steps) == 0 {
		return fmt.Sprintf("%d processes sent dumps, none of which made a step.", len(c.members))
	}
	last := c.steps[len(c.steps)-1]
	return fmt.Sprintf("%d processes sent dumps, and the last step is %d of generation %d, made at %s UTC, %s before the last dump.",
		len(c.members), last.Step, last.Generation, clock(last.at), seconds(max(0, c.lastSeen().Sub(last.at).Seconds())))
}
