// Package termination hears that a machine is about to end because its owner takes it back, as
// clouds do with spot and preemptible machines: a command of the user's asks the cloud.
package termination

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/time/rate"
)

const (
	// interval is how often the command runs. AWS recommends 5 s; of all clouds, Google's and
	// Azure's notices are the shortest, 30 s before the end.
	interval = 5 * time.Second
	// patience is how long the command may take.
	patience = 10 * time.Second
)

// ErrCommand: the shell cannot run the command.
var ErrCommand = errors.New("the command cannot be run")

// Codes of a shell for a command that it cannot execute, and for one that it does not find
// (POSIX.1-2017, Shell Command Language, 2.8.2).
const (
	cannotExecute = 126
	notFound      = 127
)

// Watch runs a command by /bin/sh every 5 s. It returns a context that ends with ctx, or when
// the command ends with code 0: the machine is about to end. Any other code, and a command that takes
// longer than 10 s, says that it is not.
//
// Watch itself returns when the command says so for the first time: what starts on a machine
// that is about to end waits until it has ended, or the notice is taken back. It fails with
// ErrCommand, or with ctx's error. The caller calls stop when it no longer uses the context.
func Watch(ctx context.Context, command string, log *slog.Logger) (until context.Context, stop func(), err error) {
	return watcher{command, log.With("command", command), interval, patience}.start(ctx)
}

type watcher struct {
	command            string
	log                *slog.Logger
	interval, patience time.Duration
}

func (w watcher) start(ctx context.Context) (context.Context, func(), error) {
	ending, err := w.ask(ctx)
	if err != nil {
		return nil, nil, err
	}
	if ending {
		w.log.Warn("this machine is about to end: the worker waits, and does not join unless the notice is taken back")
		if err := w.wait(ctx, false); err != nil {
			return nil, nil, err
		}
	}
	until, end := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if w.wait(until, true) == nil {
			w.log.Warn("this machine is about to end: the worker drains")
			end()
		}
	}()
	return until, func() { end(); <-done }, nil
}

// wait returns nil when the command's answer is the given one, or ctx's error.
func (w watcher) wait(ctx context.Context, want bool) error {
	tick := time.NewTicker(w.interval)
	defer tick.Stop()
	trouble := rate.Sometimes{First: 1, Interval: time.Hour}
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		ending, err := w.ask(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			trouble.Do(func() {
				w.log.Warn("whether this machine is about to end is not known; further cases are logged once an hour", "error", err)
			})
		case ending == want:
			return nil
		}
	}
}

// ask reports whether the command says that the machine is about to end.
func (w watcher) ask(ctx context.Context) (ending bool, err error) {
	limited, cancel := context.WithTimeout(ctx, w.patience)
	defer cancel()
	cmd := exec.CommandContext(limited, "/bin/sh", "-c", w.command)
	// All processes of the command end with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err = cmd.Run()
	code := new(exec.ExitError)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case limited.Err() != nil:
		w.log.Debug("the command of the termination notice takes too long", "limit", w.patience)
		return false, nil
	case errors.As(err, &code) && (code.ExitCode() == cannotExecute || code.ExitCode() == notFound):
		return false, fmt.Errorf("%w: the shell ends with code %d: %s", ErrCommand, code.ExitCode(), w.command)
	case errors.As(err, &code):
		return false, nil
	case err != nil: // there is no shell
		return false, fmt.Errorf("%w: %w", ErrCommand, err)
	}
	return true, nil
}
