package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/display"
	"github.com/ergoflow/ergoflow/coordinator/journal"
	"github.com/ergoflow/ergoflow/internal/finitejson"
)

func logsCommand() *cobra.Command {
	var cluster clusterFlags
	var l logReader
	var follow bool
	var since time.Duration
	cmd := &cobra.Command{
		Use:   "logs [--dir DIR | --addr HOST:PORT]",
		Short: "Show the events of a cluster",
		Long: fmt.Sprintf(`Prints the last %d events of a cluster, which its coordinator keeps: runs and
their workers, the queue, shards, checkpoints, refusals. --follow waits for
more; it goes on when the coordinator is started again, and says so.

Without --dir, --addr and --context it takes the coordinator that runs on this
machine. Each process has a log of its own besides: on standard error, or in
DIR/logs of a local run.`, journal.Kept),
		Example: "  ergoflow logs --follow\n  ergoflow logs --dir ergoflow-runs/vn1d-demo --warnings --since 1h",
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if since < 0 {
				return usagef("--since is %v, which is negative", since)
			}
			for _, topic := range l.topics {
				if !slices.Contains(journal.Topics, journal.Topic(topic)) {
					return usagef("--topic %.60q is not one of %s", topic, topicNames())
				}
			}
			if since > 0 {
				l.since = time.Now().Add(-since)
			}
			if !cluster.given() {
				running := runningHere()
				switch len(running) {
				case 0:
					return noLogs()
				case 1:
					cluster.dir = running[0]
				default:
					return severalRun("logs", running)
				}
			}
			if files := filepath.Join(cluster.dir, "logs"); cluster.dir != "" && exists(files) {
				fmt.Fprintf(os.Stderr, "the logs of the processes are in %s\n", files)
			}
			if follow {
				return l.follow(cmd.Context(), cluster)
			}
			return l.read(cmd.Context(), cluster, false)
		},
	}
	cluster.add(cmd)
	f := cmd.Flags()
	f.BoolVarP(&follow, "follow", "f", false, "wait for further events, until Ctrl-C")
	f.StringSliceVar(&l.topics, "topic", nil, "only events about these: "+topicNames())
	f.BoolVar(&l.warnings, "warnings", false, "only what somebody should look at")
	f.DurationVar(&since, "since", 0, "only events of the last `DURATION`, such as 30m")
	f.BoolVar(&l.json, "json", false, "print each event as a line of JSON (docs/formats.md)")
	return cmd
}

// topicNames are the topics of events with commas between.
func topicNames() string {
	var names []string
	for _, t := range journal.Topics {
		names = append(names, string(t))
	}
	return strings.Join(names, ", ")
}

// noLogs is the error where no coordinator runs. The logs of the last local run are files.
func noLogs() error {
	err := errors.New("no coordinator runs on this machine")
	var last string
	var newest time.Time
	dirs, _ := filepath.Glob(filepath.Join(runsDirectory, "*", "logs"))
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err == nil && info.ModTime().After(newest) {
			last, newest = dir, info.ModTime()
		}
	}
	if last == "" {
		return withHint(err, "name another machine's: --addr HOST:PORT, with --context if it is secured")
	}
	return withHint(err, "the logs of the last run are files: %s", filepath.Join(last, "*.log"))
}

// logReader prints the events that were asked for.
type logReader struct {
	topics   []string // empty: all
	warnings bool
	since    time.Time // zero: all
	json     bool

	last journal.Position // of the last event that it got
}

// again is the pause between two attempts to reach a coordinator.
const again = time.Second

// follow prints events until ctx ends. It looks for a coordinator that is away again and again.
func (l *logReader) follow(ctx context.Context, cluster clusterFlags) error {
	reached := false // since it was away
	for first := true; ; first = false {
		begin := l.last
		err := l.read(ctx, cluster, true)
		if ctx.Err() != nil || stdout.err != nil {
			return stdout.err
		}
		if first && l.last == begin {
			return err // it was never there
		}
		if l.last != begin {
			reached = true
		}
		if first || reached {
			fmt.Fprintf(os.Stderr, "the coordinator does not answer since %s: %v; waiting for it\n", time.Now().Format(time.TimeOnly), err)
			reached = false
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return nil
		}
	}
}

// read prints the events after the last one, with follow also those to come.
func (l *logReader) read(ctx context.Context, cluster clusterFlags, follow bool) error {
	client, err := cluster.dial(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	return client.Events(ctx, l.last, follow, l.print)
}

// print prints events, and says what the journal has forgotten and that another coordinator
// speaks.
func (l *logReader) print(events []journal.Event) error {
	for _, e := range events {
		switch {
		case l.last == journal.Position{}:
		case e.Start != l.last.Start:
			fmt.Fprintln(os.Stderr, "the coordinator was started again")
		case e.Number > l.last.Number+1:
			fmt.Fprintf(os.Stderr, "%d events are missing: the coordinator keeps the last %d\n", e.Number-l.last.Number-1, journal.Kept)
		}
		l.last = journal.Position{Start: e.Start, Number: e.Number}
		if l.leavesOut(e) {
			continue
		}
		line, err := l.line(e)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(stdout, line); err != nil {
			return err
		}
	}
	return nil
}

func (l *logReader) leavesOut(e journal.Event) bool {
	return l.warnings && !e.Warning || e.Time.Before(l.since) || len(l.topics) > 0 && !slices.Contains(l.topics, string(e.Topic))
}

func (l *logReader) line(e journal.Event) (string, error) {
	if l.json {
		b, _, err := finitejson.Marshal(e, "")
		return string(b), err
	}
	level := ""
	if e.Warning {
		level = "warning: "
	}
	return fmt.Sprintf("%s  %-11s %s%s", e.Time.Local().Format("2006-01-02 15:04:05"), e.Topic, level, display.Clean(e.Text)), nil
}
