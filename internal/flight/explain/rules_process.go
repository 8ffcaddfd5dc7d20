package explain

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/internal/flight"
)

// culprit is the process as a culprit.
func (m *member) culprit() Culprit {
	kind := Worker
	if m.Role == flight.Coordinator {
		kind = Coordinator
	}
	return Culprit{Kind: kind, Worker: m.ID, Host: m.Host, PID: m.PID}
}

// culpritOf is a worker as a culprit, also where it has sent no dump.
func (c *inquiry) culpritOf(id ergoflow.WorkerID, pid int) Culprit {
	if m := c.worker(id); m != nil {
		return m.culprit()
	}
	return Culprit{Kind: Worker, Worker: id, PID: pid}
}

// outOfMemory: the kernel's log says so, or a process is gone whose memory was nearly used up.
func outOfMemory(c *inquiry) (found []finding) {
	for _, e := range c.during(flight.Process) {
		if !strings.HasPrefix(e.Text, flight.OutOfMem) {
			continue
		}
		f := finding{cause: causeMemory, culprit: c.culpritOf(e.Worker, e.PID), certainty: seen, at: e.at, events: []*event{e}, hint: memoryHint,
			says: fmt.Sprintf("The kernel ended the process of %s for want of memory at %s UTC.", c.full(e.Worker, e.PID, e.Generation), clock(e.at))}
		f.more = append(f.more, "The kernel's log says: "+strings.TrimPrefix(e.Text, flight.OutOfMem+": ")+".")
		f.addMemory(c)
		if lost := c.lost(e.Worker); lost != nil {
			f.at, f.events = lost.begin(), append(f.events, lost)
		}
		found = append(found, f)
	}
	for _, lost := range c.during(flight.Lost) {
		if c.isOrderly(lost) || isSilence(lost) {
			continue
		}
		for _, e := range c.events {
			if e.Kind != flight.Memory || lost.at.Sub(e.at).Abs() > time.Minute {
				continue
			}
			f := finding{cause: causeMemory, culprit: c.culpritOf(lost.Worker, lost.PID), certainty: inferred, at: lost.at, events: []*event{lost, e}, hint: memoryHint}
			who := c.full(lost.Worker, lost.PID, lost.Generation)
			switch m := c.worker(lost.Worker); {
			case e.member == m:
				f.says = fmt.Sprintf("The process of %s ended at %s UTC, without leaving, when its memory was nearly used up.", who, clock(lost.at))
				f.addMemory(c)
			case strings.HasPrefix(e.Text, flight.KernelEnded) && lost.at.Sub(e.at).Abs() < together && (m == nil && e.member.Role == flight.Coordinator || m != nil && m.Host == e.member.Host):
				f.says = fmt.Sprintf("The process of %s ended at %s UTC, without leaving, when the kernel ended a process of its cgroup for want of memory.", who, clock(lost.at))
				f.more = append(f.more, fmt.Sprintf("%s recorded it: %s.", title(e.member.label()), e.Text))
			default:
				continue
			}
			found = append(found, f)
			break
		}
	}
	return found
}

const memoryHint = "raise the memory limit, start fewer workers on that machine, or compute fewer functions at once: --set training.micro_batch=N"

// addMemory adds what the culprit recorded of its memory.
func (f *finding) addMemory(c *inquiry) {
	m := c.worker(f.culprit.Worker)
	if m == nil {
		return
	}
	for _, e := range m.events {
		if e.Kind == flight.Memory && f.at.Sub(e.at).Abs() < time.Minute {
			f.more = append(f.more, fmt.Sprintf("At %s UTC it had recorded that %s.", clock(e.at), e.Text))
			f.events = append(f.events, e)
			return
		}
	}
}

// isSilence reports whether a session ended for silence, and not because a stream broke.
func isSilence(lost *event) bool { return strings.HasPrefix(lost.Text, flight.SaysSilent) }

// stoodStill: a process found that its own ticks came late. Where several of one host did at the
// same time, the machine stood still.
func stoodStill(c *inquiry) (found []finding) {
	pauses := c.during(flight.Paused)
	for i, e := range pauses {
		m := e.member
		f := finding{cause: causePaused, culprit: m.culprit(), certainty: seen, at: e.begin(), events: []*event{e},
			says: fmt.Sprintf("The process of %s stood still for %s, from %s to %s UTC.", c.named(m, e.Generation), seconds(e.Seconds), clock(e.begin()), clock(e.at)),
			hint: "look who stopped it (kill -STOP, a debugger, a suspended or overloaded machine); it goes on by itself once it runs"}
		alone := true
		for k, other := range pauses {
			if k == i || other.member == m || other.member.Host != m.Host || other.begin().Sub(e.begin()).Abs() > time.Second {
				continue
			}
			alone = false
			f.events = append(f.events, other)
		}
		if !alone {
			f.cause, f.culprit = causeMachine, Culprit{Kind: Machine, Host: m.Host}
			f.says = fmt.Sprintf("The machine %s stood still for %s, from %s to %s UTC: %d of its processes noticed it.", m.Host, seconds(e.Seconds), clock(e.begin()), clock(e.at), len(f.events))
			f.hint = "look whether the machine was suspended, migrated or out of memory"
		}
		if lost := c.lost(m.ID); lost != nil {
			f.events = append(f.events, lost)
			f.more = append(f.more, fmt.Sprintf("The coordinator ended its session at %s UTC: %s.", clock(lost.at), lost.Text))
		} else if e.Seconds < 2 && alone {
			f.certainty = inferred // too short to end a session
		}
		found = append(found, f)
	}
	return found
}

// named is a member with its rank, process and host.
func (c *inquiry) named(m *member, generation ergoflow.Generation) string {
	if m.isWorker() {
		return c.full(m.ID, m.PID, generation)
	}
	return fmt.Sprintf("%s (pid %d, host %s)", m.label(), m.PID, m.Host)
}

// full is a worker with its rank, process and host, as far as they are known.
func (c *inquiry) full(id ergoflow.WorkerID, pid int, generation ergoflow.Generation) string {
	var about []string
	if rank, ok := c.ranks.of(id, cmp.Or(generation, c.generation)); ok {
		about = append(about, fmt.Sprintf("rank %d", rank))
	}
	if pid > 0 {
		about = append(about, fmt.Sprintf("pid %d", pid))
	}
	if m := c.worker(id); m != nil && m.Host != "" {
		about = append(about, "host "+m.Host)
	}
	if len(about) == 0 {
		return "worker " + string(id)
	}
	return fmt.Sprintf("worker %s (%s)", id, strings.Join(about, ", "))
}

// stoppedByTheSystem: the operating system says that the process is stopped.
func stoppedByTheSystem(c *inquiry) (found []finding) {
	for _, e := range c.during(flight.Process) {
		if e.Text != flight.IsStopped {
			continue
		}
		f := finding{cause: causeStopped, culprit: c.culpritOf(e.Worker, e.PID), certainty: seen, at: e.at, events: []*event{e},
			says: fmt.Sprintf("The process of %s is stopped: the operating system said so at %s UTC (state T).", c.full(e.Worker, e.PID, e.Generation), clock(e.at)),
			hint: fmt.Sprintf("let it go on: kill -CONT %d, or look which debugger holds it", e.PID)}
		if lost := c.lost(e.Worker); lost != nil {
			f.at, f.events = lost.begin(), append(f.events, lost)
			f.more = append(f.more, fmt.Sprintf("The coordinator last heard it at %s UTC, and ended its session: %s.", clock(lost.begin()), lost.Text))
		}
		found = append(found, f)
	}
	return found
}

// endedProcess: a stream broke, nobody had asked the worker to leave, and it did not say why.
func endedProcess(c *inquiry) (found []finding) {
	for _, lost := range c.during(flight.Lost) {
		if c.isOrderly(lost) || isSilence(lost) || strings.Contains(lost.Text, flight.SaysReopened) {
			continue
		}
		if m := c.worker(lost.Worker); m != nil && m.dumped.After(lost.at.Add(together)) {
			continue // it lives
		}
		f := finding{cause: causeEnded, culprit: c.culpritOf(lost.Worker, lost.PID), certainty: inferred, at: lost.at, events: []*event{lost},
			says: fmt.Sprintf("The process of %s ended at %s UTC without leaving: %s.", c.full(lost.Worker, lost.PID, lost.Generation), clock(lost.at), lost.Text),
			hint: "look at the end of its log, and at who killed it (the shell, a scheduler, the kernel: dmesg); start it again"}
		for _, e := range c.during(flight.Process) {
			if e.Worker == lost.Worker && e.Text == flight.IsGone {
				f.events = append(f.events, e)
				f.more = append(f.more, "The operating system says that the process does not exist any more.")
				break
			}
		}
		found = append(found, f)
	}
	return found
}

// silentWorker: the coordinator and others hear nothing from it, and nothing says why.
func silentWorker(c *inquiry) (found []finding) {
	for _, lost := range c.during(flight.Lost) {
		if !isSilence(lost) {
			continue
		}
		f := finding{cause: causeSilent, culprit: c.culpritOf(lost.Worker, lost.PID), certainty: inferred, at: lost.begin(), events: []*event{lost},
			says: fmt.Sprintf("%s fell silent at %s UTC, and its connections did not break: its process is stopped, or its host has no power or no network.", title(c.full(lost.Worker, lost.PID, lost.Generation)), clock(lost.begin())),
			hint: "look at its host: whether it is there, and what state the process has (ps)"}
		deaf := map[ergoflow.WorkerID]bool{}
		for _, e := range c.during(flight.Silent) {
			if e.Peer == lost.Worker && !deaf[e.Worker] {
				deaf[e.Worker] = true
				f.events = append(f.events, e)
			}
		}
		if len(deaf) > 0 {
			f.more = append(f.more, fmt.Sprintf("%s, too, heard nothing from it.", plural(len(deaf), "other worker")))
		}
		found = append(found, f)
	}
	return found
}

// ownError: a worker names an error of its own.
func ownError(c *inquiry) (found []finding) {
	for _, e := range c.during(flight.Unfit) {
		found = append(found, finding{cause: causeError, culprit: c.culpritOf(e.Worker, 0), certainty: inferred, at: e.at, events: []*event{e},
			says: fmt.Sprintf("%s cannot continue the run since %s UTC: %s.", title(c.who(e.Worker, e.Generation)), clock(e.at), e.Text), hint: errorHint})
	}
	for _, e := range c.during(flight.Complains) {
		if e.Peer != "" || strings.Contains(e.Text, flight.SaysAborted) {
			continue
		}
		found = append(found, finding{cause: causeError, culprit: c.culpritOf(e.Worker, 0), certainty: inferred, at: e.at, events: []*event{e},
			says: fmt.Sprintf("%s could not go on at %s UTC: %s.", title(c.who(e.Worker, e.Generation)), clock(e.at), e.Text), hint: errorHint})
	}
	return found
}

const errorHint = "docs/operations.md has a table of errors and what to do"

// scarceMemory: memory was nearly used up, and nothing else is known.
func scarceMemory(c *inquiry) (found []finding) {
	for _, e := range c.during(flight.Memory) {
		found = append(found, finding{cause: causeScarce, culprit: e.member.culprit(), certainty: possible, at: e.at, events: []*event{e}, hint: memoryHint,
			says: fmt.Sprintf("Memory was scarce in the process of %s at %s UTC: %s.", c.named(e.member, 0), clock(e.at), e.Text)})
	}
	return found
}

// jumpedClock: a process found that its wall clock does not agree with its monotonic one. It
// stops no training, so that it is the culprit only where nothing else is.
func jumpedClock(c *inquiry) (found []finding) {
	for _, e := range c.during(flight.Clock) {
		way := "forwards"
		if e.Seconds < 0 {
			way = "backwards"
		}
		found = append(found, finding{cause: causeClock, culprit: e.member.culprit(), certainty: c.clockCertainty(), at: e.at, events: []*event{e},
			says: fmt.Sprintf("The wall clock of %s jumped %s by %s at %s UTC.", c.named(e.member, 0), way, duration(e.Seconds), clock(e.at)),
			more: []string{"Training does not depend on wall clocks; certificates, schedules and the times in logs do."},
			hint: "let that host's clock be kept by NTP (chrony, systemd-timesyncd); look at certificates that are not valid yet or no longer"})
	}
	return found
}

// clockCertainty: a jump is the cause where the incident has no other signs than jumps.
func (c *inquiry) clockCertainty() int {
	for _, e := range c.stops {
		if e.Kind != flight.Clock {
			return possible
		}
	}
	return seen
}

func duration(s float64) string {
	d := time.Duration(s * float64(time.Second)).Abs()
	if d > time.Minute {
		return d.Round(time.Second).String()
	}
	return seconds(d.Seconds())
}

// title begins a sentence.
func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
