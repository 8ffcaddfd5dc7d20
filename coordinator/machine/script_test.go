package machine

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

var update = flag.Bool("update", false, "rewrite the traces in testdata")

// TestScripts replays testdata/*.txt. A script is a list of events, one a line. The
// indented lines under each are the machine's answer: its effects in order, without
// pings, then "= reason". Lines with # are comments. -update rewrites the answers.
//
//	hello ID [version=V] [protocol=N] [numerics=N] [addr=A] [pid=N] [secret=N] [newest=G] [step=N made=G] [elsewhere] [loopback] [host=H]   a worker opens a session, with a state
//	submit RUN shards=N [groups=N] steps=N [every=N] [start=HASH] [until=generate] [replace]
//	scanned [shards=0,1,..|all] [checkpoint=N made=G]
//	saved step=N made=G [final]     made is the present generation where it is left out
//	prepared|failed|drain|close ID  and: prepared ID run=R order=N
//	report ID [step=N made=G] [hash=H] [generation=N] [latency=PEER:MS,…] [rate=PEER:MB/S,… sum=BYTES]
//	dismiss ID [by=WHO]             WHO drains a worker
//	ready|progress|complain ID ...  and: complain ID [peer=A] [silent=A,B]
//	checked ID peer=A [failure=F]   the link between them was checked
//	steps [n=N] [ID=T…]             every member makes N steps, one a second, a worker's
//	                                part of which takes it T ms per shard (default 10)
//	auto ID…                        these prepare, report their last step and get ready by themselves
//	mute ID                         answers no more pings
//	after DURATION                  time passes in ticks of 250 ms, answered by heartbeats
//	stall DURATION                  time passes without ticks: the coordinator is stopped
//	restart                         a new machine with the persisted ledger, all sessions gone
//	status                          a digest of the status
//	goodput                         what the run's time went to
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := newPlayer(t).play(string(text))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(text) {
				t.Errorf("trace differs:\n%s", firstDifference(string(text), got))
			}
		})
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return fmt.Sprintf("line %d\nwant %s\ngot  %s", i+1, w[i], g[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

// scriptConfig is the configuration of the machine in scripts.
var scriptConfig = Config{Release: ergoflow.Release{Version: "v1", Protocol: 1, OldestProtocol: 1, Numerics: 1}}

type player struct {
	t        *testing.T
	machine  *Machine
	now      time.Time
	ledger   Ledger
	sessions map[string]Session
	next     Session
	muted    map[string]bool
	auto     map[string]bool
	held     map[string]ergoflow.Mark // an automatic worker's state, where it has one
	run      string
	shards   int
	out      strings.Builder
}

func newPlayer(t *testing.T) *player {
	p := &player{t: t, now: time.Unix(1_000_000, 0).UTC(), sessions: map[string]Session{},
		muted: map[string]bool{}, auto: map[string]bool{}, held: map[string]ergoflow.Mark{}}
	p.machine = New(scriptConfig, Ledger{})
	return p
}

func (p *player) play(script string) string {
	p.machine.Step(p.now, Start{})
	for line := range strings.Lines(script) {
		if strings.HasPrefix(line, " ") {
			continue
		}
		p.out.WriteString(line)
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#") {
			p.do(parseCommand(p.t, line))
		}
	}
	return p.out.String()
}

func (p *player) pass(d time.Duration, stalled bool) {
	end := p.now.Add(d)
	for !stalled && p.now.Add(250*time.Millisecond).Before(end) {
		p.now = p.now.Add(250 * time.Millisecond)
		p.event(Tick{})
	}
	p.now = end
	p.event(Tick{})
}

func (p *player) event(e Event) {
	effects, reason := p.machine.Step(p.now, e)
	var pinged, answers []Event
	for _, effect := range effects {
		send, isSend := effect.(Send)
		if ping, isPing := send.Message.(message.Ping); isSend && isPing {
			if !p.muted[string(send.To)] {
				pinged = append(pinged, Received{send.Session, message.Heartbeat{Number: ping.Heard + 1}})
			}
			continue
		}
		fmt.Fprintf(&p.out, "    %s\n", effect)
		switch effect := effect.(type) {
		case Persist:
			p.ledger = effect.Ledger
		case Close:
			if p.sessions[string(effect.To)] == effect.Session {
				delete(p.sessions, string(effect.To))
			}
		case Send:
			if p.auto[string(effect.To)] {
				answers = append(answers, p.answer(string(effect.To), effect)...)
			}
		}
	}
	if reason != "" {
		fmt.Fprintf(&p.out, "    = %s\n", reason)
	}
	for _, e := range append(pinged, answers...) {
		p.event(e)
	}
}

// members are the workers that train.
func (p *player) members() []WorkerStatus {
	return slices.DeleteFunc(p.machine.Status().Workers, func(w WorkerStatus) bool { return w.Rank < 0 || w.State != "training" })
}

// everyoneSteps lets all members make a step. own is the time of a member's own part in
// seconds; the ring takes one millisecond.
func (p *player) everyoneSteps(own func(id string, shards int) float64) {
	workers := p.members()
	times, longest := make([]float64, len(workers)), 0.0
	for i, w := range workers {
		times[i] = own(string(w.ID), len(w.Shards))
		longest = max(longest, times[i])
	}
	for i, w := range workers {
		id := string(w.ID)
		step := w.Step + 1
		p.held[id] = ergoflow.Mark{Generation: p.ledger.Generation, Step: step}
		p.event(Received{p.sessions[id], message.Progress{Generation: p.ledger.Generation, Step: step,
			Loss: 1 / float64(step+1), Samples: 100, Timing: message.Timing{Gradient: times[i], Ring: longest - times[i] + 1e-3}}})
	}
}

// answer is an automatic worker's answer to a message.
func (p *player) answer(id string, send Send) []Event {
	switch m := send.Message.(type) {
	case message.Prepare:
		return []Event{Received{send.Session, message.Prepared{Run: m.Plan.Run, Number: m.Number}}}
	case message.Form:
		held, has := p.held[id]
		return []Event{Received{send.Session, message.Report{Generation: m.Generation, HasState: has, State: held, Hash: "h"}}}
	case message.Assign:
		p.held[id] = m.Source.State
		return []Event{Received{send.Session, message.Ready{Generation: m.Generation}}}
	}
	return nil
}

func (p *player) status() {
	s := p.machine.Status()
	fmt.Fprintf(&p.out, "    %s: generation %d, world %d, step %d of %d, shards %d of %d", s.State, s.Generation,
		s.WorldSize, s.Step, s.Steps, s.Shards.Done, s.Shards.Total)
	if s.Checkpoint != nil {
		fmt.Fprintf(&p.out, ", checkpoint %d", *s.Checkpoint)
	}
	if s.Loss != nil {
		fmt.Fprintf(&p.out, ", loss %.3f", *s.Loss)
	}
	if s.Failure != "" {
		fmt.Fprintf(&p.out, ", failure: %s", s.Failure)
	}
	for _, kind := range Endings {
		if n := s.Endings[kind]; n > 0 {
			fmt.Fprintf(&p.out, ", %d ended: %s", n, kind)
		}
	}
	if f := s.WaitsFor; f != nil {
		fmt.Fprintf(&p.out, ", in %d of %d steps for %s: %.3g s", f.Steps, f.Of, f.Worker, f.Seconds)
	}
	p.out.WriteString("\n")
	for _, l := range s.CutLinks {
		fmt.Fprintf(&p.out, "    cut: %v since %s\n", l.Workers, l.Since.Format(time.TimeOnly))
	}
	for _, w := range s.Workers {
		fmt.Fprintf(&p.out, "    %s: rank %d, %s, shards %v, step %d %s", w.ID, w.Rank, w.State, w.Shards, w.Step, w.Reason)
		if w.Slow {
			fmt.Fprintf(&p.out, ", slow at %.3g s per shard", w.Pace)
		}
		p.out.WriteString("\n")
	}
}
