package coordinator

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/coordinator/dashboard"
	"github.com/ergoflow/ergoflow/coordinator/fleet"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/internal/atomicfile"
)

// Bounds of what the page shows.
const (
	shownCheckpoints = 20
	shownSchedules   = 50
)

// pageSource is what the page gets from the loop.
func (l *loop) pageSource(c Config) (dashboard.Source, error) {
	s := dashboard.Source{State: l.pageState, Events: l.events, Drain: l.drain, Change: l.changeForPage, Models: c.Models, Log: l.log}
	if l.security == nil {
		return s, nil
	}
	s.Access.Check, s.Access.KeyFile = l.security.revoked.Check, PageKeyPath(c.Dir)
	var err error
	s.Access.Key, err = pageKey(s.Access.KeyFile)
	return s, err
}

// pageState takes a snapshot for the page.
func (l *loop) pageState(whole bool) (s dashboard.State, ok bool) {
	var machines []fleet.MachineStatus
	ok = l.do(func() {
		machines = l.fleet.Machines(whole)
		if !whole {
			return
		}
		s.Queue, s.Waiting = shownRuns(l.runs.Runs(statusEnded), statusLive+statusEnded), l.runs.Waiting()
		s.Schedules = l.runs.Schedules(1)
		s.Security.Refusals, s.Security.Plaintext = l.refused.count, l.inPlaintext()
		s.Security.Refused = make([]dashboard.Refusal, len(l.refused.last))
		for i, r := range l.refused.last {
			s.Security.Refused[i] = dashboard.Refusal(r)
		}
	})
	s.Runs = []dashboard.Run{}
	for _, m := range machines {
		if m.Run != "" {
			s.Runs = append(s.Runs, dashboard.Run{Entry: m.Entry, Status: m.Status, Workers: m.Count})
		}
	}
	slices.SortFunc(s.Runs, func(a, b dashboard.Run) int { return cmp.Compare(a.Entry, b.Entry) })
	if !ok || !whole {
		return s, ok
	}
	s.Version, s.PID, s.GossipAddr = ergoflow.Build(), os.Getpid(), l.gossip
	s.Scheduled, s.Schedules = len(s.Schedules), s.Schedules[:min(len(s.Schedules), shownSchedules)]
	s.Workers = []dashboard.Worker{}
	for _, m := range machines {
		for _, w := range m.Status.Workers {
			s.Workers = append(s.Workers, dashboard.WorkerOf(w))
		}
	}
	l.addSecurity(&s.Security)
	s.Checkpoints, s.CheckpointProblem = l.shownCheckpoints()
	return s, true
}

func (l *loop) addSecurity(s *dashboard.Security) {
	if l.security == nil {
		return
	}
	s.Secured, s.Accepts, s.Authority = true, l.security.acceptsPlaintext(), "elsewhere"
	if l.security.authority != nil {
		s.Authority = "here"
	}
	s.Expires = l.security.own.Certificate().NotAfter
}

// shownCheckpoints are the newest. They come from the disk, in a transaction that the loop does
// not wait for.
func (l *loop) shownCheckpoints() (list []checkpoint.Info, problem string) {
	list, err := l.saved.List()
	if err != nil {
		problem = err.Error()
	}
	slices.SortFunc(list, func(a, b checkpoint.Info) int { return b.Time.Compare(a.Time) })
	return append([]checkpoint.Info{}, list[:min(len(list), shownCheckpoints)]...), problem
}

// drain has a worker leave in order.
func (l *loop) drain(worker ergoflow.WorkerID, by string) error {
	var refusal string
	if !l.do(func() {
		l.step(machine.Drain{Worker: worker, By: by})
		refusal, l.answer = l.answer, ""
	}) {
		return errors.New("the coordinator ends")
	}
	if refusal != "" {
		return errors.New(refusal)
	}
	return nil
}

// changeForPage hands a request to the queue. A refusal is an error.
func (l *loop) changeForPage(e queue.Event) (queue.ID, error) {
	a, err := l.request(e)
	switch {
	case err != nil:
		return 0, errors.New(status.Convert(err).Message())
	case a.Refusal != "":
		return 0, errors.New(a.Refusal)
	}
	return a.ID, nil
}

// PageKeyPath is the file with the key that the page of a secured coordinator on loopback asks
// for.
func PageKeyPath(dir string) string { return filepath.Join(dir, "page.key") }

// maxKey bounds the file of the key, in bytes.
const maxKey = 256

// pageKey reads the key of the page, and makes it where it is missing. Who can read the file is
// the coordinator's user, who can read the credentials of an operator beside it, too.
func pageKey(path string) (string, error) {
	b, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		key := rand.Text()
		return key, atomicfile.WritePrivate(path, []byte(key+"\n"))
	case err != nil:
		return "", fmt.Errorf("key of the page: %w", err)
	}
	key := strings.TrimSpace(string(b))
	if len(key) < 16 || len(key) > maxKey {
		return "", fmt.Errorf("key of the page: %s has %d characters, not 16 to %d: delete it, and a new one is made", path, len(key), maxKey)
	}
	return key, nil
}
