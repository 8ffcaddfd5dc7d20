package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/gossip"
)

// cluster is a coordinator's process and processes of stubs.
type cluster struct {
	coordinator *exec.Cmd
	addresses   coordinator.Addresses
	settings
	functions int        // of a shard
	processes []*process // the oldest first
	next      int        // number of the next stub
	events    chan event // of all processes
	seen      seen
}

// settings are what the stubs are told.
type settings struct {
	gossip bool
	groups int     // of stubs that list one another
	pace   float64 // stubs that begin in a second; 0: all at once
}

// process has stubs.
type process struct {
	*exec.Cmd
	count int
}

// seen is what the stubs have told.
type seen struct {
	at          map[kind]span
	count       map[kind]int
	are         map[kind]map[int]bool // stubs that have joined, and those that are prepared
	lost        int                   // sessions that broke
	formed      map[uint64]bool       // generations
	generation  uint64                // the newest
	world       int                   // its members, once one of them has stepped
	stepped     int                   // members that have
	first, last time.Time             // when the first and the last of them did
	failures    map[string]int        // by reason
}

// span is from the first to the last event of a kind since the counts were reset.
type span struct{ first, last time.Time }

func (s *seen) reset() {
	s.at, s.count = map[kind]span{}, map[kind]int{}
	s.are = map[kind]map[int]bool{joined: {}, prepared: {}}
}

func (s *seen) add(e event) {
	at := time.Unix(0, e.Nanosecond)
	if s.count[e.Kind]++; s.count[e.Kind] == 1 {
		s.at[e.Kind] = span{at, at}
	}
	in := s.at[e.Kind] // processes write at the same time: their events come in another order
	if at.Before(in.first) {
		in.first = at
	}
	if at.After(in.last) {
		in.last = at
	}
	s.at[e.Kind] = in
	switch e.Kind {
	case joined, prepared:
		s.are[e.Kind][e.Worker] = true
	case lost:
		s.lost++
		delete(s.are[joined], e.Worker)
		delete(s.are[prepared], e.Worker)
	}
	if e.Kind == failed {
		s.failures[e.Text]++
	}
	if e.Generation > s.generation {
		s.generation, s.world, s.stepped, s.first, s.last = e.Generation, 0, 0, time.Time{}, time.Time{}
	}
	if e.Kind == formed {
		s.formed[e.Generation] = true
	}
	if e.Kind == stepped && e.Generation == s.generation {
		s.world = e.World
		if s.stepped++; s.stepped == 1 || at.Before(s.first) {
			s.first = at
		}
		if at.After(s.last) {
			s.last = at
		}
	}
}

// failure is one of the reasons for which stubs have failed; empty: none has.
func (s *seen) failure() string {
	reasons := slices.Sorted(maps.Keys(s.failures))
	if len(reasons) == 0 {
		return ""
	}
	return fmt.Sprintf("%d × %s", s.failures[reasons[0]], reasons[0])
}

// endsWithThis kills a process where this one dies. Otherwise they would load the machine of the
// next measurement.
var endsWithThis = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}

// open starts a coordinator on a directory.
func open(ctx context.Context, ergoflow, dir string, functions int, s settings) (*cluster, error) {
	c := &cluster{settings: s, functions: functions, events: make(chan event, 1<<16),
		seen: seen{formed: map[uint64]bool{}, failures: map[string]int{}}}
	c.seen.reset()
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	c.coordinator = exec.Command(ergoflow, "coordinator", "--dir", dir)
	c.coordinator.Stderr = log
	c.coordinator.SysProcAttr = endsWithThis
	if err := c.coordinator.Start(); err != nil {
		return nil, err
	}
	for {
		if c.addresses, err = coordinator.ReadAddresses(dir); err == nil {
			return c, nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("the coordinator does not start: %w", err), c.close())
		}
	}
}

// close kills all processes.
func (c *cluster) close() error {
	for _, p := range c.processes {
		p.end(syscall.SIGKILL)
	}
	err := c.coordinator.Process.Kill()
	_ = c.coordinator.Wait() // it was killed
	return err
}

// end sends a signal and waits for the end.
func (p *process) end(s syscall.Signal) {
	_ = p.Process.Signal(s) // it may have ended
	_ = p.Wait()            // by a signal
}

// add starts a process of so many stubs, one of several that start at the same time.
func (c *cluster) add(count, several int) error {
	o := order{Control: c.addresses.Control, Version: c.addresses.Version, First: c.next, Count: count, Functions: c.functions, Groups: c.groups}
	if c.pace > 0 {
		o.Every = time.Duration(float64(several) / c.pace * float64(time.Second))
	}
	if c.gossip {
		o.Gossip = c.addresses.Gossip
	}
	encoded, err := json.Marshal(o)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	p := &process{Cmd: exec.Command(self), count: count}
	p.Env = append(os.Environ(), stubOrder+"="+string(encoded), "GOGC=400") // each has a hundred workers' garbage
	p.Stderr, p.SysProcAttr = os.Stderr, endsWithThis
	output, writer, err := os.Pipe() // not StdoutPipe: Wait would close it before all is read
	if err != nil {
		return err
	}
	p.Stdout = writer
	err = p.Start()
	writer.Close()
	if err != nil {
		return errors.Join(err, output.Close())
	}
	c.processes, c.next = append(c.processes, p), c.next+count
	go func() { // ends with the process
		defer output.Close()
		for lines := bufio.NewScanner(output); lines.Scan(); {
			var e event
			if json.Unmarshal(lines.Bytes(), &e) == nil { // the last line of one that is killed may be cut
				c.events <- e
			}
		}
	}()
	return nil
}

// oldest takes the oldest process off the list.
func (c *cluster) oldest() *process {
	p := c.processes[0]
	c.processes = c.processes[1:]
	return p
}

// await reads events until what is wanted is seen.
func (c *cluster) await(ctx context.Context, what string, wanted func(*seen) bool) error {
	for !wanted(&c.seen) {
		select {
		case e := <-c.events:
			c.seen.add(e)
		case <-ctx.Done():
			return fmt.Errorf("%s: still %v, generation %d with %d of %d members that have stepped; failures: %s: %w",
				what, c.seen.count, c.seen.generation, c.seen.stepped, c.seen.world, c.seen.failure(), ctx.Err())
		}
	}
	return nil
}

// awaitStep waits until every member of a generation after another one has stepped, and it has so
// many members.
func (c *cluster) awaitStep(ctx context.Context, after uint64, world int) error {
	return c.await(ctx, fmt.Sprintf("a step of %d members after generation %d", world, after), func(s *seen) bool {
		return s.generation > after && s.world == world && s.stepped == world
	})
}

// listed asks the coordinator for its list of members, and counts the stubs in it.
func (c *cluster) listed() (stubs int, err error) {
	if !c.gossip {
		return 0, nil
	}
	g, err := gossip.Join(context.Background(), gossip.Config{Name: "observer", Bind: "127.0.0.1:0", Seeds: []string{c.addresses.Gossip},
		Wait: time.Minute, Sparing: true, Meta: gossip.Meta{Role: gossip.RoleWorker}})
	if err != nil {
		return 0, err
	}
	for _, m := range g.Members() {
		if isStub(m.Name) {
			stubs++
		}
	}
	return stubs, g.Close()
}

// usage is what a process has used.
type usage struct {
	cpu  float64 // seconds
	peak float64 // resident memory, MiB
	now  float64
}

func (c *cluster) usage() (usage, error) { return usageOf(c.coordinator.Process.Pid) }

// stubs is the processor time of those processes of stubs that have not ended, in seconds.
func (c *cluster) stubs() (cpu float64, err error) {
	for _, p := range c.processes {
		u, err := usageOf(p.Process.Pid)
		if err != nil {
			return 0, err
		}
		cpu += u.cpu
	}
	return cpu, nil
}

func usageOf(pid int) (u usage, err error) {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	status, err := os.ReadFile(filepath.Join(proc, "status"))
	if err != nil {
		return u, err
	}
	for line := range strings.Lines(string(status)) {
		for name, to := range map[string]*float64{"VmHWM:": &u.peak, "VmRSS:": &u.now} {
			if value, ok := strings.CutPrefix(line, name); ok {
				if _, err := fmt.Sscanf(value, "%f kB", to); err != nil {
					return u, fmt.Errorf("%s: %w", line, err)
				}
				*to /= 1 << 10
			}
		}
	}
	stat, err := os.ReadFile(filepath.Join(proc, "stat"))
	if err != nil {
		return u, err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const ticks = 100 // a second: Linux has no other
	for _, i := range []int{11, 12} {
		n, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return u, err
		}
		u.cpu += n / ticks
	}
	return u, nil
}
