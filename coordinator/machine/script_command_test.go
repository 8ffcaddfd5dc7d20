package machine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// A command is one line of a script: a name, arguments, and options key=value.
type command struct {
	t       *testing.T
	line    string
	name    string
	args    []string
	options map[string]string
}

func parseCommand(t *testing.T, line string) command {
	words := strings.Fields(line)
	c := command{t: t, line: line, name: words[0], options: map[string]string{}}
	for _, w := range words[1:] {
		if k, v, ok := strings.Cut(w, "="); ok {
			c.options[k] = v
		} else {
			c.args = append(c.args, w)
		}
	}
	return c
}

// id is the first argument; empty: there is none.
func (c command) id() string {
	if len(c.args) == 0 {
		return ""
	}
	return c.args[0]
}

func (c command) says(arg string) bool { return slices.Contains(c.args, arg) }

func (c command) has(option string) bool {
	_, ok := c.options[option]
	return ok
}

func (c command) text(option, otherwise string) string {
	if v, ok := c.options[option]; ok {
		return v
	}
	return otherwise
}

func (c command) number(option string, otherwise int) int {
	v, ok := c.options[option]
	if !ok {
		return otherwise
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		c.t.Fatalf("%s: %v", c.line, err)
	}
	return n
}

// mark is the state with the step of an option, made by the option made or else by the
// generation.
func (c command) mark(option string, present ergoflow.Generation) ergoflow.Mark {
	return ergoflow.Mark{
		Generation: ergoflow.Generation(c.number("made", int(present))),
		Step:       ergoflow.Step(c.number(option, 0)),
	}
}

// do plays one command.
func (p *player) do(c command) {
	if !p.doSession(c) && !p.doRun(c) && !p.doTime(c) {
		p.t.Fatalf("unknown command %q", c.name)
	}
}

// doSession plays what happens in a worker's session. It reports whether the command is
// one of these.
func (p *player) doSession(c command) bool {
	id := c.id()
	session := p.sessions[id]
	generation := ergoflow.Generation(c.number("generation", int(p.ledger.Generation)))
	step := ergoflow.Step(c.number("step", 0))
	received := func(m message.FromWorker) { p.event(Received{session, m}) }
	switch c.name {
	case "hello":
		p.hello(c)
	case "close":
		delete(p.sessions, id)
		p.event(Closed{session, "the stream broke"})
	case "prepared":
		order := 0
		if w := p.machine.worker(session); w != nil {
			order = int(w.order)
		}
		received(message.Prepared{Run: c.text("run", p.run), Number: uint64(c.number("order", order))})
	case "failed":
		received(message.Failed{Run: c.text("run", p.run), Reason: "it does not compile"})
	case "drain":
		received(message.Drain{})
	case "dismiss":
		p.event(Drain{Worker: ergoflow.WorkerID(id), By: c.text("by", "operator/ada")})
	case "report":
		report := message.Report{Generation: generation, HasState: c.has("step"), Hash: c.text("hash", "h")}
		if report.HasState {
			report.State = c.mark("step", p.ledger.Generation)
		}
		for pair := range strings.SplitSeq(c.text("latency", ""), ",") {
			peer, ms, _ := strings.Cut(pair, ":")
			if t, err := strconv.ParseFloat(ms, 64); err == nil {
				report.Links = append(report.Links, message.Link{Peer: ergoflow.WorkerID(peer), Latency: t / 1000})
			}
		}
		for pair := range strings.SplitSeq(c.text("rate", ""), ",") {
			peer, rate, _ := strings.Cut(pair, ":")
			if r, err := strconv.ParseFloat(rate, 64); err == nil {
				report.Links = append(report.Links, message.Link{Peer: ergoflow.WorkerID(peer), Latency: -1, Rate: r * 1e6})
			}
		}
		report.SumBytes = int64(c.number("sum", 0))
		received(report)
	case "ready":
		received(message.Ready{Generation: generation})
	case "progress":
		p.held[id] = ergoflow.Mark{Generation: generation, Step: step}
		received(message.Progress{Generation: generation, Step: step, Loss: 1 / float64(step+1), Samples: 100})
	case "complain":
		complaint := message.Complaint{Generation: generation, Step: step, Peer: ergoflow.WorkerID(c.text("peer", "")), Reason: "the ring broke"}
		for id := range strings.SplitSeq(c.text("silent", ""), ",") {
			if id != "" {
				complaint.Silent = append(complaint.Silent, ergoflow.WorkerID(id))
			}
		}
		received(complaint)
	case "checked":
		received(message.LinkChecked{Peer: ergoflow.WorkerID(c.text("peer", "")), Failure: c.text("failure", "")})
	case "auto":
		for _, id := range c.args {
			p.auto[id] = true
		}
	case "mute":
		p.muted[id] = true
	default:
		return false
	}
	return true
}

func (p *player) hello(c command) {
	id := c.id()
	p.next++
	old := p.sessions[id]
	p.sessions[id] = p.next
	delete(p.held, id)
	if c.has("step") {
		p.held[id] = c.mark("step", p.ledger.Generation)
	}
	p.event(Opened{
		Session: p.next,
		Hello: message.Hello{
			Worker: message.Worker{ID: ergoflow.WorkerID(id), Release: ergoflow.Release{Version: c.text("version", "v1"),
				Protocol: uint32(c.number("protocol", 1)), OldestProtocol: uint32(c.number("protocol", 1)), Numerics: uint32(c.number("numerics", 1))},
				DataAddress: c.text("addr", "host-"+id+":1"),
				Device:      "go", PID: c.number("pid", 1), Secret: uint64(c.number("secret", 1))},
			Run: p.run, HasState: c.has("step"), State: p.held[id], Newest: ergoflow.Generation(c.number("newest", 0)),
		},
		Elsewhere: c.says("elsewhere"), Loopback: c.says("loopback"), Host: c.text("host", ""),
	})
	if p.sessions[id] == 0 && old != 0 { // refused: the old session stays
		p.sessions[id] = old
	}
}

// doRun plays what happens to the run. It reports whether the command is one of these.
func (p *player) doRun(c command) bool {
	shard := c.number("shard", 0)
	state := c.mark("step", p.ledger.Generation)
	switch c.name {
	case "submit":
		p.submit(c)
	case "withdraw":
		p.event(Withdraw{Entry: uint64(c.number("entry", 0)), Reason: "cancelled"})
	case "scanned":
		p.event(p.scanned(c))
	case "unreadable":
		p.event(Unreadable{p.run, state, c.has("checkpoint"), c.mark("checkpoint", p.ledger.Generation)})
	case "generated":
		p.event(Generated{p.run, shard})
	case "unpublished":
		p.event(Unpublished{p.run, []int{shard}, "the queue is not there"})
	case "dead":
		p.event(Dead{p.run, shard, "drift is not finite"})
	case "saved":
		p.event(Saved{p.run, state, c.says("final")})
	case "unsaved":
		p.event(NotSaved{Run: p.run, Step: state.Step, Reason: "the file is damaged"})
	case "full":
		p.event(NotSaved{p.run, state.Step, "the disk is full", &Shortage{Path: "/disk", Bytes: 7, What: "the checkpoint"}})
	case "room":
		p.event(Room{})
	case "alive":
		p.event(Alive{ergoflow.WorkerID(c.id()), uint64(c.number("secret", 1))})
	default:
		return false
	}
	return true
}

func (p *player) submit(c command) {
	plan := ergoflow.Plan{Run: c.id(), Experiment: "vn1d/smoke", Dataset: "data-" + c.id(),
		Shards: c.number("shards", 4), Groups: c.number("groups", 0),
		Steps: ergoflow.Step(c.number("steps", 10)), CheckpointEvery: ergoflow.Step(c.number("every", 5)), Config: []byte("{}"),
		Start: c.text("start", "")}
	until := StageTrain
	if c.text("until", "train") == "generate" {
		until = StageGenerate
	}
	p.run, p.shards = plan.Run, plan.Shards
	p.event(Submit{Plan: plan, Until: until, Replace: c.says("replace"), Entry: uint64(c.number("entry", 0))})
}

func (p *player) scanned(c command) Scanned {
	e := Scanned{Run: p.run}
	if v := c.text("shards", "all"); v == "all" {
		for k := range p.shards + 1 {
			e.Present = append(e.Present, k)
		}
	} else {
		for s := range strings.SplitSeq(v, ",") {
			if k, err := strconv.Atoi(s); err == nil {
				e.Present = append(e.Present, k)
			}
		}
	}
	if c.has("checkpoint") {
		e.HasCheckpoint, e.Checkpoint = true, c.mark("checkpoint", p.ledger.Generation)
	}
	return e
}

// doTime plays what happens to the coordinator's process, and time that passes. It
// reports whether the command is one of these.
func (p *player) doTime(c command) bool {
	switch c.name {
	case "steps":
		for range c.number("n", 1) {
			p.now = p.now.Add(time.Second)
			p.event(Tick{})
			p.everyoneSteps(func(id string, shards int) float64 { return 1e-3 * float64(c.number(id, 10)*shards) })
		}
	case "after", "stall":
		d, err := time.ParseDuration(c.id())
		if err != nil {
			p.t.Fatal(err)
		}
		p.pass(d, c.name == "stall")
	case "restart":
		p.machine = New(scriptConfig, p.ledger)
		clear(p.sessions)
		p.event(Start{})
	case "stop":
		p.event(Stop{})
	case "status":
		p.status()
	case "goodput":
		g := p.machine.Goodput()
		fmt.Fprintf(&p.out, "    %.3f s, useful %.3f s\n", g.Seconds, g.Useful)
		for _, l := range g.Lost {
			fmt.Fprintf(&p.out, "    %-10s %7.3f s  %s\n", l.Cause, l.Seconds, l.Why)
		}
	default:
		return false
	}
	return true
}
