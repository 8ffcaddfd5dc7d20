package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/internal/flight"
)

// Kinds of culprits.
const (
	Worker      = "worker"
	Link        = "link"
	Disk        = "disk"
	Coordinator = "coordinator"
	Model       = "model"
	Machine     = "machine"
)

// A Verdict says who stopped first, and why.
type Verdict struct {
	// Stopped says that something stopped, or was disturbed; Decided that the culprit is known.
	Stopped bool `json:"stopped"`
	Decided bool `json:"decided"`

	Culprit    *Culprit            `json:"culprit,omitempty"`
	Cause      string              `json:"cause,omitempty"` // one of the causes of docs/formats.md
	At         time.Time           `json:"at,omitzero"`     // when that began, by the coordinator's clock
	Generation ergoflow.Generation `json:"generation,omitempty"`
	Step       ergoflow.Step       `json:"step,omitempty"` // the last that was made before
	Run        string              `json:"run,omitempty"`
	Sentences  []string            `json:"sentences"` // five at most
	Hint       string              `json:"hint,omitempty"`
	Evidence   []Evidence          `json:"evidence"`
	Candidates []string            `json:"candidates,omitempty"` // where it is not decided
	Notes      []string            `json:"notes,omitempty"`      // what was not read, or left out
}

// A Culprit is what stopped first.
type Culprit struct {
	Kind   string            `json:"kind"`
	Worker ergoflow.WorkerID `json:"worker,omitempty"`
	Peer   ergoflow.WorkerID `json:"peer,omitempty"` // of a link: the end that hears nothing
	Rank   *int              `json:"rank,omitempty"`
	Host   string            `json:"host,omitempty"`
	PID    int               `json:"pid,omitempty"`
	Place  string            `json:"place,omitempty"` // of a disk
}

// Evidence is a record on which the verdict rests.
type Evidence struct {
	Process string        `json:"process"` // whose recorder has it
	At      time.Time     `json:"at"`      // by the coordinator's clock
	Record  flight.Record `json:"record"`
}

// Certainty of a finding.
const (
	possible = 1 // one of several possibilities
	inferred = 2 // what several members tell leaves no other cause
	seen     = 3 // a process, or the operating system, has seen the cause itself
)

// A finding is a fault that a rule has found.
type finding struct {
	cause     string
	culprit   Culprit
	certainty int
	order     int // of the rule: of two that began together, the more specific one is first
	at        time.Time
	says      string   // one sentence about the culprit and the cause
	more      []string // further sentences
	hint      string
	events    []*event
}

// maxSentences bounds a verdict.
const maxSentences = 5

// Explain finds the last incident in the dumps.
func Explain(dumps []*flight.Dump) Verdict {
	v := Verdict{Sentences: []string{}, Evidence: []Evidence{}}
	c := newCase(dumps, &v)
	if len(c.members) == 0 {
		v.Sentences = append(v.Sentences, "There are no dumps.")
		return v
	}
	if !c.findIncident() {
		v.Sentences = append(v.Sentences, "Nothing stopped: "+c.healthy())
		return v
	}
	v.Stopped = true
	if since := c.lastSeen().Sub(c.to); since > longAgo {
		v.Notes = append(v.Notes, fmt.Sprintf("this was on %s, %v before the last dump; the dumps have no sign of a stop since", c.from.UTC().Format(time.DateOnly), since.Round(time.Minute)))
	}
	findings := c.judge()
	if len(findings) == 0 || findings[0].certainty < inferred {
		c.undecided(&v, findings)
		return v
	}
	c.decided(&v, findings[0])
	return v
}

// longAgo is how old an incident is that people may not mean.
const longAgo = 10 * time.Minute

// judge has all rules look at the incident, and orders what they find: the most certain first;
// of those the earliest; of those that began together the most specific.
func (c *inquiry) judge() (findings []finding) {
	for order, rule := range rules {
		for _, f := range rule(c) {
			f.order = order
			findings = append(findings, f)
		}
	}
	slices.SortStableFunc(findings, func(a, b finding) int {
		if by := cmp.Compare(b.certainty, a.certainty); by != 0 {
			return by
		}
		if d := a.at.Sub(b.at); d.Abs() > together {
			return cmp.Compare(d, 0)
		}
		return cmp.Compare(a.order, b.order)
	})
	return findings
}

// together is how near two findings may begin that have one cause: others notice the silence of
// a process within two seconds.
const together = 3 * time.Second

func (c *inquiry) decided(v *Verdict, f finding) {
	v.Decided, v.Cause, v.Culprit, v.At, v.Hint = true, f.cause, &f.culprit, f.at.UTC(), f.hint
	stopped, resumed := c.stopOfTraining(f.at)
	if stopped != nil {
		v.Generation, v.Step = stopped.Generation, stopped.Step
	}
	if f.culprit.Worker != "" && f.culprit.Kind == Worker {
		if rank, ok := c.ranks.of(f.culprit.Worker, c.generation); ok {
			f.culprit.Rank = &rank
		}
	}
	say := func(text string) {
		if text != "" && len(v.Sentences) < maxSentences {
			v.Sentences = append(v.Sentences, text)
		}
	}
	say(f.says)
	waits := c.waitFor(f.culprit.Worker, f.at)
	if f.culprit.Kind == Worker && waits != nil {
		say(c.waitText(waits))
		f.events = append(f.events, waits)
	}
	for _, text := range f.more {
		if len(v.Sentences) < maxSentences-1 {
			say(text)
		}
	}
	say(c.trainingText(stopped, resumed))
	c.addEvidence(v, f.events)
}

func (c *inquiry) undecided(v *Verdict, findings []finding) {
	stopped, resumed := c.stopOfTraining(c.from)
	v.At = c.from.UTC()
	if stopped != nil {
		v.Generation, v.Step = stopped.Generation, stopped.Step
	}
	v.Sentences = append(v.Sentences, "The dumps do not decide what stopped first.")
	if text := c.trainingText(stopped, resumed); text != "" {
		v.Sentences = append(v.Sentences, text)
	}
	first := c.stops[0]
	v.Sentences = append(v.Sentences, fmt.Sprintf("The first sign is of %s, in %s: %s.", clock(first.begin()), first.member.label(), first.text()))
	var events []*event
	for _, f := range findings {
		v.Candidates = append(v.Candidates, strings.TrimSuffix(f.says, "."))
		events = append(events, f.events...)
	}
	v.Hint = "dump again while it stands still, with `ergoflow explain` on the running cluster, and give the dumps of all members"
	c.addEvidence(v, append(events, first))
}

// maxEvidence bounds the records that a verdict has.
const maxEvidence = 20

func (c *inquiry) addEvidence(v *Verdict, events []*event) {
	seen := make(map[*event]bool)
	for _, e := range events {
		if seen[e] || len(v.Evidence) == maxEvidence {
			continue
		}
		seen[e] = true
		v.Evidence = append(v.Evidence, Evidence{Process: e.member.label(), At: e.at.UTC(), Record: e.Record})
	}
	slices.SortStableFunc(v.Evidence, func(a, b Evidence) int { return a.At.Compare(b.At) })
}
