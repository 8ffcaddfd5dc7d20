package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/report"
)

// runningHere are the directories of the coordinators that run on this machine, as far as this
// user may see them: those in the directory of runs, and those whose processes have a ledger
// open. So nothing has to be written down when one starts, or removed when one is killed.
func runningHere() []string {
	dirs, _ := filepath.Glob(filepath.Join(runsDirectory, "*"))
	seen := make(map[string]bool)
	var running []string
	for _, dir := range append(dirs, openLedgers("/proc")...) {
		a, err := coordinator.ReadAddresses(dir)
		if err != nil || !lives(a.PID) {
			continue
		}
		resolved, err := filepath.EvalSymlinks(dir)
		if err == nil {
			resolved, err = filepath.Abs(resolved)
		}
		if err != nil || seen[resolved] {
			continue
		}
		seen[resolved] = true
		running = append(running, dir)
	}
	return running
}

// lives reports whether there is a process of that number, of any user.
func lives(pid int) bool {
	if pid <= 0 {
		return false
	}
	err := syscall.Kill(pid, 0)
	return err == nil || err == syscall.EPERM
}

// openLedgers are the directories whose coordinator.db a process has open, by the links that Linux
// keeps of open files. It sees the processes of this user alone; root sees all.
func openLedgers(proc string) (dirs []string) {
	links, _ := filepath.Glob(filepath.Join(proc, "[0-9]*", "fd", "*"))
	name := string(filepath.Separator) + filepath.Base(coordinator.LedgerPath(""))
	for _, link := range links {
		target, err := os.Readlink(link)
		if dir, ok := strings.CutSuffix(target, name); err == nil && ok && !slices.Contains(dirs, dir) {
			// The process of the ledger says so itself: another one may only be reading it.
			if a, err := coordinator.ReadAddresses(dir); err == nil && strconv.Itoa(a.PID) == filepath.Base(filepath.Dir(filepath.Dir(link))) {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

// found is a run whose coordinator has ended.
type found struct {
	dir        string
	experiment string
	run        string // hash
	step       ergoflow.Step
	steps      ergoflow.Step
	loss       float64 // of the last step
	hasLoss    bool
	saved      time.Time
	page       string // of its report; empty: none
	err        error  // why no more is known than the directory
}

// lastRun is the run in the directory of runs that saved a state last. It only reads.
func lastRun(ctx context.Context) (last found, ok bool) {
	var newest time.Time
	for _, dir := range runsWithCheckpoints() {
		if info, err := os.Stat(coordinator.CheckpointPath(dir)); err == nil && info.ModTime().After(newest) {
			newest, last.dir, ok = info.ModTime(), dir, true
		}
	}
	if !ok {
		return last, false
	}
	if written, err := report.Read(last.dir); err == nil {
		last.page = written.Page
	}
	last.err = last.read(ctx)
	return last, true
}

// read reads the newest checkpoint.
func (f *found) read(ctx context.Context) error {
	store, done, err := readCheckpoints(ctx, f.dir)
	if err != nil {
		return err
	}
	defer done()
	info, encoded, err := store.Read(checkpoint.Latest)
	if err != nil {
		return err
	}
	e, st, err := experiment.DecodeState(encoded)
	if err != nil {
		return err
	}
	f.experiment, f.run, f.step, f.steps, f.saved = info.Experiment, info.Run, info.Step, ergoflow.Step(e.Training.Steps), info.Time
	if n := len(st.Losses); n > 0 {
		f.loss, f.hasLoss = st.Losses[n-1], true
	}
	return nil
}
