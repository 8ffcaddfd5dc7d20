package coordinator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/internal/atomicfile"
)

// Environment of a retraining's process.
const (
	// EnvSupervised makes a process end when its standard input closes. The kernel closes
	// it however the coordinator ends.
	EnvSupervised = "ERGOFLOW_SUPERVISED"
	// EnvRun is the number of the retraining's run. Runs that the process submits belong to
	// that run.
	EnvRun = "ERGOFLOW_RUN"
)

// terminateGrace is how long a process may take to end before it is killed.
const terminateGrace = 30 * time.Second

// processes are the processes of retrainings. The loop owns them.
type processes struct {
	loop    *loop
	logs    string // directory of their output
	command func(context.Context, queue.Run) *exec.Cmd
	running map[queue.ID]*process
	group   sync.WaitGroup
}

// process is one attempt.
type process struct {
	attempt   int
	terminate context.CancelFunc // asks it to end
}

func newProcesses(l *loop, logs string, command func(context.Context, queue.Run) *exec.Cmd) *processes {
	return &processes{loop: l, logs: logs, command: command, running: make(map[queue.ID]*process)}
}

// retrainer is the command of this program that retrains on the cluster with that control
// address and shard store.
func retrainer(dir, store string) func(context.Context, queue.Run) *exec.Cmd {
	return func(ctx context.Context, r queue.Run) *exec.Cmd {
		self, err := os.Executable()
		if err != nil {
			self = os.Args[0]
		}
		args := []string{"retrain", "--config", r.Config, "--dir", dir, "--store", store}
		if r.Schedule != "" {
			at := r.Scheduled
			if at.IsZero() { // a person started it
				at = r.Submitted
			}
			args = append(args, "--schedule", r.Schedule, "--scheduled", at.UTC().Format(time.RFC3339))
		}
		cmd := exec.CommandContext(ctx, self, args...)
		cmd.Args[0] = os.Args[0] // by which the program knows itself
		return cmd
	}
}

// launch starts the process of a run, unless the run has one.
func (p *processes) launch(r queue.Run) {
	if p.running[r.ID] != nil {
		return
	}
	ctx, terminate := context.WithCancel(p.loop.ctx)
	p.running[r.ID] = &process{attempt: r.Attempt, terminate: terminate}
	p.group.Add(1)
	p.loop.help(func(context.Context) {
		defer p.group.Done()
		defer terminate()
		outcome := p.execute(ctx, r)
		p.loop.do(func() {
			delete(p.running, r.ID)
			p.loop.stepQueue(outcome)
		})
	})
}

// terminate asks a process to end. Where there is none, the run has ended.
func (p *processes) terminate(id queue.ID, attempt int) {
	if one := p.running[id]; one != nil && one.attempt == attempt {
		one.terminate()
		return
	}
	p.loop.stepQueue(queue.Finished{ID: id, Attempt: attempt, Outcome: queue.Failed, Killed: true, Reason: "it has no process"})
}

// wait waits until all processes have ended, up to a bound.
func (p *processes) wait(bound time.Duration) {
	ended := make(chan struct{})
	go func() { p.group.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(bound):
		p.loop.log.Warn("retrainings have not ended in time", "waited", bound)
	}
}

func (p *processes) log(id queue.ID) string {
	return filepath.Join(p.logs, fmt.Sprintf("run-%d.log", id))
}

// forget removes the logs of runs that the queue no longer lists.
func (p *processes) forget(runs []queue.ID) {
	for _, id := range runs {
		if err := os.Remove(p.log(id)); err != nil && !errors.Is(err, os.ErrNotExist) {
			p.loop.log.Warn("cannot remove the log of a run", "error", err)
		}
	}
}

// execute runs the process of a run to its end.
func (p *processes) execute(ctx context.Context, r queue.Run) queue.Finished {
	e := queue.Finished{ID: r.ID, Attempt: r.Attempt, Outcome: queue.Failed}
	if err := atomicfile.MakeDirs(p.logs); err != nil {
		e.Reason = "directory of its log: " + err.Error()
		return e
	}
	log, err := os.OpenFile(p.log(r.ID), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		e.Reason = "its log: " + err.Error()
		return e
	}
	defer log.Close()
	begin, err := log.Seek(0, io.SeekEnd) // earlier attempts wrote before
	if err != nil {
		e.Reason = "its log: " + err.Error()
		return e
	}
	cmd := p.command(ctx, r)
	cmd.Env = append(cmd.Environ(), EnvSupervised+"=1", fmt.Sprintf("%s=%d", EnvRun, r.ID))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the coordinator
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = terminateGrace
	life, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		e.Reason = "its process does not start: " + err.Error()
		return e
	}
	defer life.Close()
	_ = cmd.Wait() // ProcessState has the outcome
	return concluded(e, cmd.ProcessState, ctx.Err() != nil, lastError(log, begin))
}

// retrainCodes says what the exit codes of `ergoflow retrain` mean for its run.
var retrainCodes = map[int]struct {
	outcome queue.Outcome
	reason  string
}{
	ergoflow.RetrainPromoted:    {queue.Done, ""}, // or there was nothing to do
	ergoflow.RetrainKept:        {queue.Done, "the champion stays"},
	ergoflow.RetrainRefused:     {queue.Done, "the gate refuses the candidate"},
	ergoflow.RetrainOutOfBudget: {queue.Done, "the budget ended the training, and nothing was promoted"},
	ergoflow.RetrainSkipped:     {queue.Skipped, "another retraining of the model was running"},
}

// concluded says what the end of a process means.
func concluded(e queue.Finished, state *os.ProcessState, told bool, said string) queue.Finished {
	code := state.ExitCode()
	known, ok := retrainCodes[code]
	switch {
	case ok:
		e.Outcome, e.Reason = known.outcome, known.reason
	case told || code < 0: // -1: a signal ended it
		e.Killed, e.Reason = true, state.String()
	case said != "":
		e.Reason = fmt.Sprintf("code %d: %s", code, said)
	default:
		e.Reason = fmt.Sprintf("code %d", code)
	}
	return e
}

// maxTail bounds how much of a log is read for the last error.
const maxTail = 64 << 10

// lastError is the last line of a log that is an error of this program, written at or after
// a position; empty: none.
func lastError(log *os.File, begin int64) (said string) {
	size, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	tail := make([]byte, min(max(0, size-begin), maxTail))
	if _, err := log.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	for line := range bytes.Lines(tail) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "ergoflow: "); ok {
			said = text
		}
	}
	return said
}
