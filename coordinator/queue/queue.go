package queue

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow"
)

// Config holds the machine's bounds. Zero values mean the defaults.
type Config struct {
	Retrainings int                   // 1: processes of retrainings
	KeepRuns    int                   // 10,000: ended runs that are kept,
	KeepFor     time.Duration         // 400 days: for as long as that
	Crashes     int                   // 3: a retraining whose process was killed so often has failed
	Workers     ergoflow.WorkerBounds // of a run that is submitted without: all
	Backoff     time.Duration         // 10 s: before a killed process is started again; doubled each time
}

func (c Config) withDefaults() Config {
	c.Retrainings = cmp.Or(c.Retrainings, 1)
	c.KeepRuns = cmp.Or(c.KeepRuns, 10_000)
	c.KeepFor = cmp.Or(c.KeepFor, 400*24*time.Hour)
	c.Crashes = cmp.Or(c.Crashes, 3)
	c.Backoff = cmp.Or(c.Backoff, 10*time.Second)
	return c
}

// Ledger is what the machine must find again after a restart.
type Ledger struct {
	Next      ID // number of the next run; 0: it is the first
	Runs      []Run
	Schedules []Schedule
}

// Machine is the state. It is not for use by several goroutines.
type Machine struct {
	config    Config
	now       time.Time
	next      ID
	runs      map[ID]*Run
	live      []*Run // by place, then number
	ended     []*Run // the oldest first
	schedules map[string]*scheduled
	taken     map[identity]bool // scheduled times that have a run of their own
	requests  map[string]ID     // by the request's name
	workers   int               // that there are
	stopping  bool

	changed Persist // of this step, without contents
	dirty   struct {
		runs      map[ID]bool
		schedules map[string]bool
	}
	effects []Effect
	reasons []string
}

// identity of a scheduled run.
type identity struct {
	schedule string
	seconds  int64
}

// New returns the machine that continues from a ledger, or begins with the zero Ledger.
// Its first event must be Start.
func New(config Config, ledger Ledger) (*Machine, error) {
	m := &Machine{config: config.withDefaults(), next: max(1, ledger.Next),
		runs: make(map[ID]*Run), schedules: make(map[string]*scheduled), taken: make(map[identity]bool), requests: make(map[string]ID)}
	m.clean()
	for _, s := range ledger.Schedules {
		if err := s.Validate(); err != nil {
			return nil, err
		}
		m.schedules[s.Name] = &scheduled{Schedule: s}
	}
	for i := range ledger.Runs {
		r := ledger.Runs[i]
		if err := r.Validate(); err != nil {
			return nil, err
		}
		if m.runs[r.ID] != nil {
			return nil, fmt.Errorf("there are two runs %d", r.ID)
		}
		m.next = max(m.next, r.ID+1)
		m.enter(&r)
	}
	slices.SortFunc(m.ended, func(a, b *Run) int { return cmp.Or(a.Ended.Compare(b.Ended), cmp.Compare(a.ID, b.ID)) })
	return m, nil
}

// enter adds a run to the indices.
func (m *Machine) enter(r *Run) {
	m.runs[r.ID] = r
	if r.isLive() {
		i, _ := slices.BinarySearchFunc(m.live, r, byPlace)
		m.live = slices.Insert(m.live, i, r)
	} else {
		m.ended = append(m.ended, r)
	}
	if !r.Scheduled.IsZero() && r.Times == 0 {
		m.taken[identityOf(r)] = true
	}
	if s := m.schedules[r.Schedule]; s != nil {
		s.newest = max(s.newest, r.ID)
	}
	for _, name := range r.Requests {
		m.requests[name] = r.ID
	}
}

func identityOf(r *Run) identity { return identity{r.Schedule, r.Scheduled.Unix()} }

func byPlace(a, b *Run) int { return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(a.ID, b.ID)) }

func (m *Machine) sortLive() { slices.SortFunc(m.live, byPlace) }

func (m *Machine) clean() {
	m.dirty.runs, m.dirty.schedules = make(map[ID]bool), make(map[string]bool)
	m.changed, m.effects, m.reasons = Persist{}, nil, nil
}

// Step handles one event.
func (m *Machine) Step(now time.Time, event Event) (effects []Effect, reason string) {
	m.now = now.UTC().Round(0) // without the monotonic clock, as the ledger has it
	switch e := event.(type) {
	case Start:
		m.start(e)
	case Tick:
		m.tick()
	case Workers:
		m.workers = e.Count
	case Submit:
		m.submit(e)
	case Finished:
		m.finished(e)
	case Cancel:
		m.cancelled(e)
	case Move:
		m.move(e)
	case AddSchedule:
		m.addSchedule(e.Schedule)
	case RemoveSchedule:
		m.removeSchedule(e.Name)
	case PauseSchedule:
		m.pauseSchedule(e.Name)
	case ResumeSchedule:
		m.resumeSchedule(e.Name)
	case RunSchedule:
		m.runSchedule(e.Name, e.Request)
	case Stop:
		m.stop()
	}
	m.expire()
	m.begin()
	m.prune()
	effects, reason = m.effects, strings.Join(m.reasons, "; ")
	if p, changed := m.persist(); changed {
		effects = append([]Effect{p}, effects...)
	}
	m.clean()
	return effects, reason
}

// persist collects what the step has changed.
func (m *Machine) persist() (p Persist, changed bool) {
	p = m.changed
	p.Next = m.next
	for _, id := range slices.Sorted(maps.Keys(m.dirty.runs)) {
		if r := m.runs[id]; r != nil {
			p.Runs = append(p.Runs, *r)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.dirty.schedules)) {
		if s := m.schedules[name]; s != nil {
			p.Schedules = append(p.Schedules, s.Schedule)
		}
	}
	return p, len(p.Runs)+len(p.Schedules)+len(p.RemovedRuns)+len(p.RemovedSchedules) > 0
}

func (m *Machine) emit(e Effect) { m.effects = append(m.effects, e) }

func (m *Machine) because(format string, args ...any) {
	m.reasons = append(m.reasons, fmt.Sprintf(format, args...))
}

func (m *Machine) warn(format string, args ...any) { m.emit(Warn{fmt.Sprintf(format, args...)}) }

func (m *Machine) answer(id ID) { m.emit(Answer{ID: id}) }

func (m *Machine) refuse(format string, args ...any) {
	m.emit(Answer{Refusal: fmt.Sprintf(format, args...)})
}

func (m *Machine) refuseUnknown(format string, args ...any) {
	m.emit(Answer{Refusal: fmt.Sprintf(format, args...), Unknown: true})
}

// Runs returns the runs: those that are waiting or under way in the queue's order, then at
// most ended of those that have ended, the newest first.
func (m *Machine) Runs(ended int) []Run {
	list := make([]Run, 0, len(m.live)+min(ended, len(m.ended)))
	for _, r := range m.live {
		if r.isUnderWay() {
			list = append(list, *r)
		}
	}
	for _, r := range m.live {
		if !r.isUnderWay() {
			list = append(list, *r)
		}
	}
	for _, r := range slices.Backward(m.ended) {
		if ended--; ended < 0 {
			break
		}
		list = append(list, *r)
	}
	return list
}

// Waiting is the number of runs that wait.
func (m *Machine) Waiting() int {
	n := 0
	for _, r := range m.live {
		if r.State == Waiting {
			n++
		}
	}
	return n
}

// Run returns a run.
func (m *Machine) Run(id ID) (Run, bool) {
	if r := m.runs[id]; r != nil {
		return *r, true
	}
	return Run{}, false
}
