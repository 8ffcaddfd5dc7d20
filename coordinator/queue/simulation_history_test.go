package queue

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// flaws break the rules by which a group of coordinators answers, one at a time.
type flaws struct {
	unverified  bool // who leads no more, and does not know, answers what changes nothing
	uncommitted bool // a leader answers before what it persists is committed
	unnamed     bool // clients do not name their requests
}

// group is several coordinators that serve clients. One leads, in a term. Those that led before
// believe for a while that they do, and have machines of their own. What is committed is the
// disk of all.
type group struct {
	seed    uint64
	random  *rand.Rand
	flaws   flaws
	time    int64 // numbers what happens
	clock   time.Time
	term    int
	leaders []*leader // the last one leads
	disk    disk
	clients [3]*request    // what each waits for; nil: nothing
	created map[string]int // runs, by request
	history []porcupine.Operation
	trace   []string
	broken  string
	seen    map[string]int
}

type leader struct {
	term  int
	m     *Machine
	inbox []*attempt
}

// request is one of a client, which sends it again where no answer comes.
type request struct {
	client int
	event  Event
	name   string
	sent   int64 // the last time
	ends   int64 // when the answer arrives; 0: none is on its way
}

// attempt is a request on its way to a leader.
type attempt struct {
	*request
	call int64
}

func newGroup(seed uint64, f flaws) *group {
	g := &group{seed: seed, random: rand.New(rand.NewPCG(seed, 79)), flaws: f, clock: noon, disk: newDisk(),
		created: map[string]int{}, seen: map[string]int{}}
	g.elect()
	return g
}

func (g *group) chance(percent int) bool { return g.random.IntN(100) < percent }

func (g *group) logf(format string, args ...any) {
	g.trace = append(g.trace, fmt.Sprintf("%3d ", g.time)+fmt.Sprintf(format, args...))
}

// elect has another coordinator lead, which starts from what is committed.
func (g *group) elect() {
	g.term++
	g.seen["elections"]++
	m, err := New(Config{}, g.disk.ledger())
	if err != nil {
		g.broken = err.Error()
		return
	}
	l := &leader{term: g.term, m: m}
	g.leaders = append(g.leaders, l)
	g.logf("leader %d starts", g.term)
	g.handle(l, &attempt{request: &request{client: len(g.clients), event: Start{}}, call: g.time})
}

func (g *group) leads(l *leader) bool { return l.term == g.term }

// drop ends a leader, with what it was sent.
func (g *group) drop(l *leader) {
	g.logf("leader %d ends", l.term)
	g.leaders = slices.DeleteFunc(g.leaders, func(v *leader) bool { return v == l })
	if g.leads(l) {
		g.elect()
	}
}

// run is a history of so many happenings.
func (g *group) run() {
	for range 100 {
		g.time++
		switch n := g.random.IntN(100); {
		case n < 4:
			g.elect()
		case n < 8:
			g.drop(g.leaders[g.random.IntN(len(g.leaders))])
		case n < 14:
			g.finish()
		case n < 55:
			g.client(g.random.IntN(len(g.clients)))
		default:
			l := g.leaders[g.random.IntN(len(g.leaders))]
			if len(l.inbox) > 0 {
				a := l.inbox[0]
				l.inbox = l.inbox[1:]
				g.handle(l, a)
			}
		}
		if g.broken != "" {
			return
		}
	}
	for name, runs := range g.created {
		if runs > 1 {
			g.broken = fmt.Sprintf("request %s has added %d runs", name, runs)
		}
	}
	switch porcupine.CheckOperationsTimeout(oneMachine, g.history, 20*time.Second) {
	case porcupine.Illegal:
		g.broken = "no order of the requests explains the answers"
	case porcupine.Unknown:
		g.broken = "it takes too long to find an order of the requests"
	}
}

// client begins a request, takes an answer, or sends the request again.
func (g *group) client(i int) {
	r := g.clients[i]
	switch {
	case r == nil:
		r = g.request(i)
		g.clients[i] = r
	case r.ends > 0 && g.time >= r.ends:
		g.clients[i] = nil
		return
	case r.ends > 0 || g.time < r.sent+5:
		return
	default:
		g.seen["retries"]++
	}
	r.sent = g.time
	l := g.leaders[len(g.leaders)-1]
	if g.chance(40) {
		l = g.leaders[g.random.IntN(len(g.leaders))]
	}
	g.logf("client %d asks leader %d: %T%+v", i, l.term, r.event, r.event)
	l.inbox = append(l.inbox, &attempt{r, g.time})
}

func (g *group) request(client int) *request {
	r := &request{client: client, name: fmt.Sprintf("%d.%d", client, g.time)}
	name := r.name
	if g.flaws.unnamed {
		name = ""
	}
	schedule := fmt.Sprintf("s%d", g.random.IntN(2))
	switch g.random.IntN(9) {
	case 0, 1:
		plan := testPlan(fmt.Sprintf("hash%d", g.random.IntN(3)))
		r.event = Submit{Kind: Train, Plan: &plan, Queue: g.chance(70), Request: name}
	case 2:
		r.event = Submit{Kind: Retrain, Config: "/c.yaml", Request: name}
	case 3, 4:
		r.event = AddSchedule{Schedule{Name: schedule, Spec: g.spec(), Config: "/c.yaml"}}
	case 5:
		r.event = RemoveSchedule{schedule}
	case 6:
		r.event = RunSchedule{Name: schedule, Request: name}
	case 7:
		r.event = PauseSchedule{schedule}
	default:
		r.event = Cancel{ID(1 + g.random.IntN(int(g.disk.next)+1))}
	}
	return r
}

func (g *group) spec() string { return []string{"@daily", "@hourly"}[g.random.IntN(2)] }

// finish ends a run that is under way.
func (g *group) finish() {
	for _, id := range slices.Sorted(maps.Keys(g.disk.runs)) {
		if r := g.disk.runs[id]; r.isUnderWay() && g.chance(50) {
			g.handle(g.leaders[len(g.leaders)-1], &attempt{&request{client: len(g.clients), event: Finished{ID: id, Attempt: r.Attempt, Outcome: Done}}, g.time})
			return
		}
	}
}

// handle has a leader handle a request. It answers once what it persists is committed, or, where
// it persists nothing, once it has verified that it leads.
func (g *group) handle(l *leader, a *attempt) {
	effects, _ := l.m.Step(g.clock, a.event)
	p, persists := Persist{}, false
	var answer *Answer
	for _, e := range effects {
		switch e := e.(type) {
		case Persist:
			p, persists = e, true
		case Answer:
			answer = &e
		}
	}
	fate := g.random.IntN(100)
	switch {
	case !g.leads(l):
		g.seen["asks who leads no more"]++
		if persists && g.flaws.uncommitted || !persists && g.flaws.unverified {
			g.answer(l, a, answer)
			return
		}
		g.drop(l)
		return
	case fate < 5: // it ends before it can commit or verify anything
		if persists && g.flaws.uncommitted {
			g.answer(l, a, answer)
		}
		g.drop(l)
		return
	}
	if persists {
		if _, adds := p.added(g.disk.next); adds && a.name != "" {
			g.created[a.name]++
		}
		g.disk.persist(p)
	}
	if fate < 12 { // nobody hears that it did
		g.seen["lost answers"]++
		g.note(a, answer, g.time)
		g.drop(l)
		return
	}
	g.answer(l, a, answer)
}

// added is the first run that a request adds to those before next.
func (e Persist) added(next ID) (ID, bool) {
	for _, r := range e.Runs {
		if r.ID >= next && r.Scheduled.IsZero() {
			return r.ID, true
		}
	}
	return 0, false
}

// answer sends an answer, which may be lost.
func (g *group) answer(l *leader, a *attempt, answer *Answer) {
	until := g.time
	if g.chance(15) {
		g.seen["lost answers"]++
	} else {
		until += int64(g.random.IntN(6))
		if a.ends == 0 {
			a.ends = until + 1
		}
	}
	g.note(a, answer, until)
	g.logf("leader %d handles %T%+v: %+v", l.term, a.event, a.event, answer)
}

// note enters an attempt into the history: it has its effect between its call and until.
func (g *group) note(a *attempt, answer *Answer, until int64) {
	g.seen["requests"]++
	g.history = append(g.history, porcupine.Operation{ClientId: a.client, Input: a.event, Call: 2 * a.call, Output: answer, Return: 2*until + 1})
}

// oneMachine is what the group must look like: one machine that handles one request at a time.
// Its state is the ledger, as text.
var oneMachine = porcupine.Model{
	Init: func() any { return encodeLedger(Ledger{Next: 1}) },
	Step: func(state, input, output any) (bool, any) {
		d := newDisk()
		var l Ledger
		if err := json.Unmarshal([]byte(state.(string)), &l); err != nil {
			panic(err)
		}
		d.read(l)
		m, err := New(Config{}, l)
		if err != nil {
			panic(err)
		}
		effects, _ := m.Step(noon, input.(Event))
		var answer *Answer
		for _, e := range effects {
			switch e := e.(type) {
			case Persist:
				d.persist(e)
			case Answer:
				answer = &e
			}
		}
		want := output.(*Answer)
		if (want == nil) != (answer == nil) || want != nil && *want != *answer {
			return false, state
		}
		return true, encodeLedger(d.ledger())
	},
}

func encodeLedger(l Ledger) string {
	slices.SortFunc(l.Schedules, func(a, b Schedule) int { return strings.Compare(a.Name, b.Name) })
	b, err := json.Marshal(l)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// TestHistories has clients ask coordinators of which others take over, and checks that the
// answers are those of one machine, and that a request which is sent again adds one run.
func TestHistories(t *testing.T) {
	if *replay >= 0 {
		g := newGroup(uint64(*replay), flaws{})
		g.run()
		tell(t, g.seed, g.trace, g.broken)
		return
	}
	count := worlds()
	var next atomic.Uint64
	var mu sync.Mutex
	seen := map[string]int{}
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			for seed := next.Add(1) - 1; seed < count; seed = next.Add(1) - 1 {
				g := newGroup(seed, flaws{})
				g.run()
				mu.Lock()
				for what, n := range g.seen {
					seen[what] += n
				}
				mu.Unlock()
				if g.broken != "" {
					t.Errorf("seed %d: %s\n%s\nagain: make simulate SEED=%d", seed, g.broken, strings.Join(g.trace, "\n"), seed)
					return
				}
			}
		})
	}
	group.Wait()
	t.Logf("%d seeds: %v", count, seen)
	for _, what := range []string{"elections", "retries", "lost answers", "asks who leads no more"} {
		if seen[what] == 0 {
			t.Errorf("no history had: %s", what)
		}
	}
}

// TestFlawsAreFound checks that TestHistories can fail.
func TestFlawsAreFound(t *testing.T) {
	for name, f := range map[string]flaws{
		"answer without verifying": {unverified: true},
		"answer before the commit": {uncommitted: true},
		"do not name requests":     {unnamed: true},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(300) {
				g := newGroup(seed, f)
				if g.run(); g.broken != "" {
					t.Logf("found by seed %d: %s", seed, g.broken)
					return
				}
			}
			t.Error("not found in 300 seeds")
		})
	}
}
