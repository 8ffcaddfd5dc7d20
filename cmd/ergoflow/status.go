package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/conduct"
	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/display"
	"github.com/ergoflow/ergoflow/coordinator"
)

// The bounds of --watch, in seconds.
const (
	shortestWatch = 0.1
	longestWatch  = 3600
)

func statusCommand() *cobra.Command {
	var cluster clusterFlags
	var asJSON bool
	var sort string
	var seconds float64
	cmd := &cobra.Command{
		Use:   "status [--dir DIR | --addr HOST:PORT]",
		Short: "Show the status of a cluster",
		Long: `Shows the run, what its time goes to, and the workers.

Without --dir, --addr and --context it takes the coordinator that runs on this
machine. If there are several it lists them, and if there is none it says what
finished last in ergoflow-runs.

--watch shows it again and again, on the whole screen of a terminal: keys sort
the workers and scroll, q ends it. Without a terminal it prints a block of text
each time. When the coordinator does not answer it says so, and goes on when
that is back.`,
		Example: "  ergoflow status\n  ergoflow status --watch --sort wait\n  ergoflow status --dir ergoflow-runs/vn1d-demo --json",
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			order, err := display.ParseOrder(sort)
			if err != nil {
				return usagef("--sort: %w", err)
			}
			watch := cmd.Flags().Changed("watch")
			if watch && !(seconds >= shortestWatch && seconds <= longestWatch) {
				return usagef("--watch is %g seconds, not %g to %d", seconds, shortestWatch, longestWatch)
			}
			if !cluster.given() {
				running := runningHere()
				switch {
				case len(running) == 1:
					cluster.dir = running[0]
				case len(running) == 0 && (watch || asJSON):
					return noneRuns()
				case len(running) == 0:
					return printLast(ctx)
				case watch || asJSON:
					return severalRun("status", running)
				default:
					return printRunning(ctx, running)
				}
			}
			asking := asking{cluster: cluster}
			defer asking.close()
			st, err := asking.status(ctx)
			switch {
			case err != nil:
				return err
			case asJSON:
				return printJSON(st)
			case !watch:
				return display.Text(stdout, st, order)
			}
			f := display.Following{Where: cluster.String(), Every: time.Duration(seconds * float64(time.Second)), Order: order, Ask: asking.status}
			if term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd())) {
				return display.Watch(ctx, f, st, os.Stdin, os.Stdout)
			}
			return display.Blocks(ctx, f, st, stdout)
		},
	}
	cluster.add(cmd)
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON (docs/formats.md)")
	f.StringVar(&sort, "sort", display.Orders()[0], "order of the workers: "+strings.Join(display.Orders(), ", ")+"; a minus before it reverses it")
	f.Float64Var(&seconds, "watch", 1, "show it again every so many `SECONDS`, until q or Ctrl-C")
	f.Lookup("watch").NoOptDefVal = "1"
	cmd.MarkFlagsMutuallyExclusive("json", "watch")
	return cmd
}

// asking asks a coordinator again and again. After a failure it looks for it anew: one that is
// started again may have another address.
type asking struct {
	cluster clusterFlags
	client  *conduct.Client // nil: none is open
}

func (a *asking) status(ctx context.Context) (st coordinator.Status, err error) {
	if a.client == nil {
		if a.client, err = a.cluster.dial(ctx); err != nil {
			a.client = nil
			return st, err
		}
	}
	if st, err = a.client.Status(ctx, ""); err != nil {
		a.close()
	}
	return st, err
}

func (a *asking) close() {
	if a.client != nil {
		a.client.Close()
		a.client = nil
	}
}

// listWait bounds how long each of several coordinators may take to answer.
const listWait = 2 * time.Second

// printRunning lists the coordinators of this machine.
func printRunning(ctx context.Context, dirs []string) error {
	t := tabwriter.NewWriter(stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "directory\texperiment\tstate\tstep\tworkers")
	for _, dir := range dirs {
		one := asking{cluster: clusterFlags{dir: dir}}
		answer, cancel := context.WithTimeout(ctx, listWait)
		st, err := one.status(answer)
		cancel()
		one.close()
		if err != nil {
			fmt.Fprintf(t, "%s\t-\t%s\t\t\n", dir, strings.ReplaceAll(err.Error(), "\n", " "))
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d of %d\t%d\n", dir, cmp.Or(st.Experiment, "-"), st.State, st.Step, st.Steps, len(st.Workers))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "hint: one of them: ergoflow status --dir %s\n", dirs[0])
	return nil
}

// severalRun is the error of a command that is for one coordinator.
func severalRun(command string, dirs []string) error {
	return withHint(usagef("%d coordinators run on this machine", len(dirs)), "name one: ergoflow %s --dir %s", command, strings.Join(dirs[:min(len(dirs), 5)], " or "))
}

// noneRuns is the error of a command that needs a coordinator.
func noneRuns() error {
	return withHint(errors.New("no coordinator runs on this machine"), "name another machine's: --addr HOST:PORT, with --context if it is secured; `ergoflow status` says what finished last")
}

// printLast says what finished last in the directory of runs.
func printLast(ctx context.Context) error {
	last, ok := lastRun(ctx)
	if !ok {
		return withHint(fmt.Errorf("no coordinator runs on this machine, and there is no run in %s", runsDirectory), "start one with `ergoflow run vn1d --preset demo`; another machine's: --addr HOST:PORT")
	}
	fmt.Fprintf(stdout, "no coordinator runs on this machine\n\nlast        %s\n", last.dir)
	if last.err != nil {
		return last.err
	}
	fmt.Fprintf(stdout, "run         %s (%.12s)\n", last.experiment, last.run)
	state := "interrupted"
	if last.step == last.steps {
		state = "finished"
	}
	fmt.Fprintf(stdout, "state       %s, saved %s\nstep        %d of %d\n", state, clockTime(last.saved), last.step, last.steps)
	if last.hasLoss {
		fmt.Fprintf(stdout, "loss        %.4g\n", last.loss)
	}
	if last.page != "" {
		fmt.Fprintf(stdout, "report      %s\nlook at it  ergoflow report %s\n", last.page, last.dir)
		return nil
	}
	fmt.Fprintf(stdout, "look at it  ergoflow checkpoints list --dir %s\n", last.dir)
	if logs := filepath.Join(last.dir, "logs"); exists(logs) {
		fmt.Fprintf(stdout, "logs        %s\n", logs)
	}
	return nil
}
