package explain

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/internal/flight"
)

// diverged: all ranks of a step find that its loss or gradient is not finite.
func diverged(c *inquiry) (found []finding) {
	type place struct {
		generation ergoflow.Generation
		step       ergoflow.Step
	}
	var first *event
	who := make(map[ergoflow.WorkerID]bool)
	places := make(map[place]bool)
	f := finding{cause: causeDiverged, culprit: Culprit{Kind: Model}, certainty: seen}
	for _, e := range c.during(flight.Diverged, flight.Complains, flight.Unfit) {
		if !strings.Contains(e.Text, flight.SaysDiverged) {
			continue
		}
		if first == nil {
			first = e
		}
		id := e.Worker
		if e.Kind == flight.Diverged {
			id = e.member.ID
		}
		who[id], places[place{e.Generation, e.Step}] = true, true
		if len(f.events) < 4 {
			f.events = append(f.events, e)
		}
	}
	if first == nil {
		return nil
	}
	f.at = first.at
	f.says = fmt.Sprintf("The model diverged: the loss or the gradient of the update after step %d was not finite, at %s UTC.", first.Step, clock(first.at))
	workers := "1 worker tells"
	if len(who) > 1 {
		workers = fmt.Sprintf("%d workers tell", len(who))
	}
	f.more = []string{fmt.Sprintf("%s the same: no process, link or disk failed, and a repetition of the step fails again (%d generations tried it).", workers, len(places))}
	if loss := c.lossBefore(first); loss != "" {
		f.more = append(f.more, loss)
	}
	f.hint = "choose a smaller training.learning_rate, which is another run; the checkpoints before that step are whole"
	return []finding{f}
}

// lossBefore tells the last losses before an event.
func (c *inquiry) lossBefore(e *event) string {
	var losses []string
	last := ergoflow.Step(-1)
	for i := len(c.steps) - 1; i >= 0 && len(losses) < 3; i-- {
		if s := c.steps[i]; s.at.Before(e.at) && s.Step != last && s.Value != 0 {
			losses, last = append([]string{fmt.Sprintf("%.4g", s.Value)}, losses...), s.Step
		}
	}
	if len(losses) == 0 {
		return ""
	}
	return fmt.Sprintf("The last losses before it were %s.", strings.Join(losses, ", "))
}

// fullText is how systems say that a disk is full.
var fullText = regexp.MustCompile(`no space left on device|disk quota exceeded|the disk is full|needs [0-9.e+]+ MiB in `)

// fullDisk: a write failed for want of room.
func fullDisk(c *inquiry) (found []finding) {
	var first *event
	f := finding{cause: causeFullDisk, certainty: seen}
	for _, e := range c.during(flight.Full, flight.Failed, flight.Unfit, flight.Complains) {
		if e.Kind != flight.Full && !fullText.MatchString(e.Text) {
			continue
		}
		if first == nil || first.Kind != flight.Full && e.Kind == flight.Full {
			first = e
		}
		f.events = append(f.events, e)
	}
	if first == nil {
		return nil
	}
	f.at = f.events[0].at
	f.culprit = Culprit{Kind: Disk, Host: first.member.Host, Place: placeIn(first.Text)}
	f.says = fmt.Sprintf("The disk of %s is full since %s UTC: %s.", c.named(first.member, 0), clock(f.at), first.Text)
	if n := len(f.events); n > 1 {
		f.more = append(f.more, fmt.Sprintf("%d attempts to write failed.", n))
	}
	f.hint = "free room there; the run goes on by itself"
	return []finding{f}
}

// inPlace finds the path in a text.
var inPlace = regexp.MustCompile(`(?: in | to |writing )(/[^\s:,]+)`)

func placeIn(text string) string {
	if m := inPlace.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// slowDisk: writes took seconds.
func slowDisk(c *inquiry) (found []finding) {
	var first, worst *event
	f := finding{cause: causeSlowDisk, certainty: seen}
	for _, e := range c.during(flight.Slow) {
		if !strings.HasPrefix(e.Text, flight.SlowWrite) && e.Text != flight.SlowBatch {
			continue
		}
		if first == nil || e.begin().Before(first.begin()) {
			first = e
		}
		if worst == nil || e.Seconds > worst.Seconds {
			worst = e
		}
		f.events = append(f.events, e)
	}
	if first == nil {
		return nil
	}
	f.at = first.begin()
	f.culprit = Culprit{Kind: Disk, Host: worst.member.Host, Place: placeIn(worst.Text)}
	f.says = fmt.Sprintf("The disk of %s is slow: %s took %s, from %s to %s UTC.", c.named(worst.member, 0), worst.Text, seconds(worst.Seconds), clock(worst.begin()), clock(worst.at))
	if n := len(f.events); n > 1 {
		f.more = append(f.more, fmt.Sprintf("%d writes took more than a second.", n))
	}
	if usual := c.usualWrite(first.begin()); usual > 0 {
		f.more = append(f.more, fmt.Sprintf("Checkpoints before that took %s.", seconds(usual)))
	}
	f.hint = "look what else writes to that disk (iostat), and at its health; the coordinator's directory needs a disk that syncs within a second"
	return []finding{f}
}

// usualWrite is the median time that checkpoints took before a time; 0: there were none.
func (c *inquiry) usualWrite(before time.Time) float64 {
	var all []float64
	for _, e := range c.events {
		if e.Kind == flight.Stored && e.at.Before(before) {
			all = append(all, e.Seconds)
		}
	}
	return median(all)
}
