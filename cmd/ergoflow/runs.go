package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/conduct"
	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/coordinator/wire"
)

func runsCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:     "runs",
		Short:   "The queue of runs of a coordinator: list, show, cancel, move",
		Example: "  ergoflow runs list --dir /var/lib/ergoflow",
	}, runsListCommand(), runsShowCommand(), runsCancelCommand(), runsMoveCommand())
}

func runsListCommand() *cobra.Command {
	var cluster clusterFlags
	var ended int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list (--dir DIR | --addr HOST:PORT)",
		Short: "List the runs under way, waiting and ended",
		Long: `Lists the runs under way, then those that wait in the order in which they begin,
then the last that have ended. A scheduled time that was not started is a run
that has ended as skipped, with its reason.`,
		Example: "  ergoflow runs list --dir /var/lib/ergoflow -n 100 --json",
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if ended < 0 {
				return usagef("-n is %d, less than 0", ended)
			}
			client, err := cluster.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer client.Close()
			list, err := client.Runs(cmd.Context(), ended)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(list)
			}
			return printRuns(list)
		},
	}
	cluster.add(cmd)
	cmd.Flags().IntVarP(&ended, "ended", "n", 20, "`number` of runs that have ended")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON (docs/formats.md)")
	return cmd
}

func printRuns(list []queue.Run) error {
	if len(list) == 0 {
		fmt.Fprintln(stdout, "no runs")
		return nil
	}
	t := tabwriter.NewWriter(stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "run\tkind\tname\tpriority\tscheduled\tstarted\tended\tstate")
	for _, r := range list {
		fmt.Fprintf(t, "%d\t%s\t%s\t%d\t%s\t%s\t%s\t%s\n", r.ID, r.Kind, runName(r), r.Priority, scheduledTimes(r), clockTime(r.Started), clockTime(r.Ended), runState(r))
	}
	return t.Flush()
}

// runName is the schedule or the experiment of a run.
func runName(r queue.Run) string {
	if r.Schedule != "" {
		return r.Schedule
	}
	return r.Name
}

func scheduledTimes(r queue.Run) string {
	s := clockTime(r.Scheduled)
	if r.Times < 2 {
		return s
	}
	more := ""
	if r.Uncounted {
		more = " or more"
	}
	return fmt.Sprintf("%s to %s (%d%s)", s, clockTime(r.Through), r.Times, more)
}

// runState is a run's state, or its outcome, with the reason.
func runState(r queue.Run) string {
	s := string(r.State)
	if r.State == queue.Ended {
		s = string(r.Outcome)
	}
	if r.Reason != "" {
		s += ": " + r.Reason
	}
	return s
}

// clockTime is a time in this machine's zone; a dash if there is none.
func clockTime(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04:05 MST")
}

func runsShowCommand() *cobra.Command {
	var cluster clusterFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "show N (--dir DIR | --addr HOST:PORT)",
		Short:   "Show one run",
		Example: "  ergoflow runs show 12 --dir /var/lib/ergoflow",
		Args:    exactly(1, "the number of a run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return cluster.withRun(cmd.Context(), args[0], func(client *conduct.Client, id queue.ID) error {
				r, err := client.Run(cmd.Context(), id)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(r)
				}
				return printOneRun(r)
			})
		},
	}
	cluster.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON (docs/formats.md)")
	return cmd
}

func printOneRun(r queue.Run) error {
	t := tabwriter.NewWriter(stdout, 0, 4, 2, ' ', 0)
	line := func(what, value string) {
		if value != "" && value != "-" {
			fmt.Fprintf(t, "%s\t%s\n", what, value)
		}
	}
	line("run", fmt.Sprintf("%d, %s", r.ID, r.Kind))
	line("name", r.Name)
	line("hash", r.Run)
	line("state", runState(r))
	line("schedule", r.Schedule)
	line("scheduled", scheduledTimes(r))
	line("deadline", clockTime(r.Deadline))
	line("priority", strconv.Itoa(r.Priority))
	line("workers", r.Workers.String())
	line("submitted", clockTime(r.Submitted))
	line("started", clockTime(r.Started))
	line("ended", clockTime(r.Ended))
	if r.Attempt > 1 {
		line("attempts", strconv.Itoa(r.Attempt))
	}
	if r.Parent != 0 {
		line("belongs to", fmt.Sprintf("run %d", r.Parent))
	}
	return t.Flush()
}

func runsCancelCommand() *cobra.Command {
	var cluster clusterFlags
	cmd := &cobra.Command{
		Use:   "cancel N (--dir DIR | --addr HOST:PORT)",
		Short: "Cancel a run that waits or is under way",
		Long: `Cancels a run. Workers that train it stop at once, and the steps since its last
checkpoint are lost; submitted again it continues from that. The process of a
retraining is told to end, and what it has submitted is cancelled with it.`,
		Example: "  ergoflow runs cancel 12 --dir /var/lib/ergoflow",
		Args:    exactly(1, "the number of a run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return cluster.withRun(cmd.Context(), args[0], func(client *conduct.Client, id queue.ID) error {
				return client.ChangeRun(cmd.Context(), &wire.ChangeRunRequest{Id: uint64(id), Action: wire.ChangeRunRequest_ACTION_CANCEL})
			})
		},
	}
	cluster.add(cmd)
	return cmd
}

func runsMoveCommand() *cobra.Command {
	var cluster clusterFlags
	var first, last bool
	var priority int
	cmd := &cobra.Command{
		Use:     "move N (--first | --last | --priority P) (--dir DIR | --addr HOST:PORT)",
		Short:   "Move a run that waits",
		Example: "  ergoflow runs move 12 --first --dir /var/lib/ergoflow",
		Args:    exactly(1, "the number of a run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkPriority(priority); err != nil {
				return err
			}
			return cluster.withRun(cmd.Context(), args[0], func(client *conduct.Client, id queue.ID) error {
				move := &wire.ChangeRunRequest{Id: uint64(id), Action: wire.ChangeRunRequest_ACTION_PRIORITY, Priority: int32(priority)}
				switch {
				case first:
					move.Action = wire.ChangeRunRequest_ACTION_FIRST
				case last:
					move.Action = wire.ChangeRunRequest_ACTION_LAST
				}
				return client.ChangeRun(cmd.Context(), move)
			})
		},
	}
	cluster.add(cmd)
	cmd.Flags().BoolVar(&first, "first", false, "before all others that wait")
	cmd.Flags().BoolVar(&last, "last", false, "behind all others")
	addPriority(cmd, &priority)
	cmd.MarkFlagsMutuallyExclusive("first", "last", "priority")
	cmd.MarkFlagsOneRequired("first", "last", "priority")
	return cmd
}

func addPriority(cmd *cobra.Command, priority *int) {
	cmd.Flags().IntVar(priority, "priority", 0, fmt.Sprintf("priority in the queue, -%d to %d: each level passes up to 100 runs", queue.MaxPriority, queue.MaxPriority))
}

func checkPriority(p int) error {
	if p < -queue.MaxPriority || p > queue.MaxPriority {
		return usagef("--priority is %d, not in -%d…%d", p, queue.MaxPriority, queue.MaxPriority)
	}
	return nil
}

// withRun calls a function with the cluster's client and the number of a run.
func (f *clusterFlags) withRun(ctx context.Context, number string, call func(*conduct.Client, queue.ID) error) error {
	id, err := strconv.ParseUint(number, 10, 64)
	if err != nil || id == 0 {
		return withHint(usagef("%q is not the number of a run", number), "`ergoflow runs list %s` shows the numbers", f)
	}
	client, err := f.dial(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	err = call(client, queue.ID(id))
	if errors.Is(err, conduct.ErrUnknown) {
		return withHint(err, "`ergoflow runs list %s -n 1000` shows the runs", f)
	}
	return err
}
