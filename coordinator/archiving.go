package coordinator

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/archive"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/coordinator/journal"
	"github.com/ergoflow/ergoflow/data/store"
)

// archiving copies checkpoints from the coordinator's disk into the store of the shards, beside
// the loop. One is copied at a time. Meanwhile of each run only the newest waits, and it waits
// on the disk. Nil stands for none: its methods do nothing.
type archiving struct {
	archive *archive.Archive
	objects store.Store
	saved   *checkpoint.Store
	named   bool // whether a person chose the cluster's name
	log     *slog.Logger
	told    rate.Sometimes // of copies: a small run makes many a second

	wake chan struct{} // holds one token when a run begins to wait

	mu      sync.Mutex
	waiting []string // runs whose newest checkpoint is not known to be in the store
	last    Archive  // for the status
}

// Archive is what the status says of the checkpoints in the store.
type Archive struct {
	Store   string        `json:"store"`
	Cluster string        `json:"cluster"` // name under which they are there
	Run     string        `json:"run"`     // of the last that was copied by this process; empty: none
	Step    ergoflow.Step `json:"step"`    // likewise
	Time    time.Time     `json:"time"`    // likewise, of the copy
	Waiting int           `json:"waiting"` // runs whose newest checkpoint is on the coordinator's disk alone
	Problem string        `json:"problem"` // why; empty: none is known
}

// Of a copy that fails, pauses double and are random.
const (
	firstCopyPause = time.Second
	maxCopyPause   = 5 * time.Minute
	// copyParting is how long a coordinator that ends goes on with copies, if it is the only one.
	copyParting = 10 * time.Second
)

// openArchive has checkpoints copied into a store of objects; nil: there is none. An embedded
// server of NATS does not count: its files are on the same disk.
func (l *loop) openArchive(c Config, objects store.Store) error {
	if objects == nil || c.keepsObjects() || c.Passing && c.location.Cluster == "" {
		return nil
	}
	name := c.location.Cluster
	if name == "" {
		if err := l.ledger.load(keyCluster, &name); err != nil {
			return err
		}
	}
	if name == "" {
		name = strings.ToLower(rand.Text())[:12]
		if err := l.ledger.store(keyCluster, name); err != nil {
			return err
		}
	}
	in, err := archive.New(objects, name)
	if err != nil {
		return err
	}
	l.archiving = &archiving{
		archive: in, objects: objects, saved: l.saved, named: c.location.Cluster != "", log: l.about(journal.Checkpoint),
		told: rate.Sometimes{Interval: storedInterval}, wake: make(chan struct{}, 1), last: Archive{Store: in.String(), Cluster: name},
	}
	return nil
}

// offer has the newest checkpoint of a run copied. It does not wait.
func (a *archiving) offer(run string) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Contains(a.waiting, run) {
		a.waiting = append(a.waiting, run)
	}
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// next waits for a run that waits, and takes it; an empty one when it is time to sweep. It fails
// when none waits and ctx has ended.
func (a *archiving) next(ctx context.Context, sweep <-chan time.Time) (run string, ok bool) {
	for {
		a.mu.Lock()
		if len(a.waiting) > 0 {
			run, a.waiting = a.waiting[0], a.waiting[1:]
			a.mu.Unlock()
			return run, true
		}
		a.mu.Unlock()
		if ctx.Err() != nil {
			return "", false
		}
		select {
		case <-a.wake:
		case <-sweep:
			return "", true
		case <-ctx.Done():
		}
	}
}

// keep copies until ctx ends, and what waits then for the time of parting at most.
func (a *archiving) keep(ctx context.Context, parting time.Duration) {
	if a == nil {
		return
	}
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() {
		select {
		case <-time.After(parting):
			stop()
		case <-working.Done():
		}
	})()
	if !a.persist(ctx, func() error { return a.begin(working) }) {
		return
	}
	sweep := time.NewTicker(sweepInterval)
	defer sweep.Stop()
	for {
		run, ok := a.next(ctx, sweep.C)
		if !ok || !a.persist(ctx, func() error { return a.do(working, run) }) {
			return
		}
	}
}

// persist repeats what fails. It gives up, and returns false, when ctx has ended or another
// coordinator has taken over.
func (a *archiving) persist(ctx context.Context, do func() error) bool {
	for pause := firstCopyPause; ; pause = min(2*pause, maxCopyPause) {
		err := do()
		a.report(err)
		if err == nil || errors.Is(err, archive.ErrTaken) {
			return err == nil
		}
		select {
		case <-time.After(pause/2 + mathrand.N(pause)):
			continue
		case <-ctx.Done():
		}
		a.log.Warn("the newest checkpoint is on this disk alone; the next start of this coordinator copies it", "store", a.archive, "error", err)
		return false
	}
}

// report notes for the status how the last attempt went, and logs what is new.
func (a *archiving) report(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	a.mu.Lock()
	before := a.last.Problem
	a.last.Problem = text
	a.mu.Unlock()
	switch {
	case text == before:
	case err == nil:
		a.log.Info("checkpoints are copied into the store again", "store", a.archive)
	case errors.Is(err, archive.ErrTaken):
		a.log.Error("this coordinator copies no more checkpoints into the store: give each cluster a name of its own (cluster=NAME in --store)", "error", err)
	default:
		a.log.Warn("cannot copy a checkpoint into the store; trying again", "error", err)
	}
}

// begin takes the checkpoints in the store over, says what is there, and has those copied that
// are missing.
func (a *archiving) begin(ctx context.Context) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	before, err := a.archive.Take(ctx, archive.Holder{Host: host, PID: os.Getpid(), Version: ergoflow.Build(), Began: time.Now().UTC()})
	if err != nil {
		return err
	}
	if before != nil && before.Host != host {
		a.log.Warn("this coordinator keeps its checkpoints in the store in place of another one: that one must have ended",
			"cluster", a.archive.Cluster(), "host", before.Host, "began", before.Began)
	}
	list, err := a.saved.List()
	if err != nil {
		return err
	}
	for _, info := range list {
		a.offer(info.Run)
	}
	if len(list) > 0 {
		return nil
	}
	all, err := archive.All(ctx, a.objects)
	if err != nil {
		return err
	}
	a.tell(all)
	return nil
}

// tell says what a coordinator that has no checkpoints finds in the store.
func (a *archiving) tell(all []archive.Entry) {
	const most = 5
	var own, others []string
	for i, e := range all {
		switch {
		case i > 0 && all[i-1].Cluster == e.Cluster && all[i-1].Run == e.Run: // an earlier state
		case e.Cluster == a.archive.Cluster():
			own = append(own, e.String())
		default:
			others = append(others, fmt.Sprintf("%s (%s)", e.Cluster, e))
		}
	}
	if len(own) > 0 {
		a.log.Info("the store has checkpoints of this cluster: a run that is submitted again continues from them", "runs", own[:min(most, len(own))], "of", len(own))
	}
	if len(others) > 0 && !a.named {
		a.log.Info("the store has checkpoints of other clusters: if this coordinator takes the place of one of them, start it with cluster=NAME in --store",
			"clusters", others[:min(most, len(others))], "of", len(others))
	}
}

// do copies the newest checkpoint of a run and removes older ones; of no run it sweeps.
func (a *archiving) do(ctx context.Context, run string) error {
	if run == "" {
		removed, err := a.archive.Sweep(ctx, time.Now().Add(-grace))
		if removed > 0 {
			a.log.Info("removed what interrupted copies of checkpoints left in the store", "objects", removed)
		}
		return err
	}
	there, err := a.archive.Entries(ctx, run)
	if err != nil {
		return err
	}
	var newest ergoflow.Mark
	if len(there) > 0 {
		newest = there[0].Mark
	}
	info, data, err := a.later(run, newest, len(there) > 0)
	if err != nil {
		return err
	}
	if data != nil {
		if err := a.archive.Save(ctx, info, data); err != nil {
			return err
		}
		a.mu.Lock()
		a.last.Run, a.last.Step, a.last.Time = run, info.Step, time.Now().UTC()
		a.mu.Unlock()
		a.told.Do(func() {
			a.log.Info("a checkpoint is in the store", "run", run, "step", info.Step, "store", a.archive)
		})
	}
	_, err = a.archive.Prune(ctx, run, keptCheckpoints, 1)
	return err
}

// later reads the most advanced checkpoint of a run on the disk that can be read, if the store's
// newest one, where it has one, is before that; no data otherwise.
func (a *archiving) later(run string, newest ergoflow.Mark, has bool) (info checkpoint.Info, data []byte, err error) {
	all, err := a.saved.Run(run)
	if err != nil {
		return info, nil, err
	}
	for _, listed := range all {
		if has && listed.Mark().Compare(newest) <= 0 {
			break
		}
		info, data, err := a.saved.Read(listed.ID)
		if err == nil {
			return info, data, nil
		}
		if !errors.Is(err, checkpoint.ErrCorrupt) && !errors.Is(err, checkpoint.ErrNotFound) { // pruned since
			return info, nil, err
		}
	}
	return info, nil, nil
}

// status is for the status; nil: there is no archive.
func (a *archiving) status() *Archive {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.last
	s.Waiting = len(a.waiting)
	return &s
}
