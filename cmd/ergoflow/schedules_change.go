package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/conduct"
	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/coordinator/wire"
)

func schedulesAddCommand() *cobra.Command {
	var cluster clusterFlags
	var r wire.AddScheduleRequest
	var jitter, deadline time.Duration
	var priority int
	cmd := &cobra.Command{
		Use:   "add NAME 'CRON' --config FILE (--dir DIR | --addr HOST:PORT)",
		Short: "Add a schedule of retrainings to a coordinator",
		Long: `Adds a schedule: at the times of a cron line the coordinator runs
` + "`ergoflow retrain --config FILE`" + `, on its own machine. The coordinator keeps the
schedule. The same schedule may be added again, which changes nothing.

A time at which the coordinator was not there is missed: with --missed last (the
default) the last of them is started when it is back, with skip none, with all
the last ones. A time that comes while a run of the schedule is not over waits
for it (--overlap queue, at most one), is skipped, or replaces it. Times that
are not started are listed with their reason by ` + "`ergoflow runs list`" + `.`,
		Example: "  ergoflow schedules add nightly '30 2 * * *' --zone Europe/Berlin --config /var/lib/ergoflow/retrain.yaml --dir /var/lib/ergoflow",
		Args:    exactly(2, "the name of a schedule, and a cron line in quotes"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkPriority(priority); err != nil {
				return err
			}
			r.Name, r.Spec, r.Priority = args[0], args[1], int32(priority)
			if r.PauseAfter == 0 {
				return usagef("--pause-after is 0, not 1 or more")
			}
			var err error
			if r.JitterSeconds, err = wholeSeconds("--jitter", jitter); err != nil {
				return err
			}
			if r.DeadlineSeconds, err = wholeSeconds("--deadline", deadline); err != nil {
				return err
			}
			if r.Config, err = cluster.retrainConfig(r.Config); err != nil {
				return err
			}
			client, err := cluster.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer client.Close()
			return client.AddSchedule(cmd.Context(), &r)
		},
	}
	cluster.add(cmd)
	f := cmd.Flags()
	f.StringVar(&r.Config, "config", "", "`FILE` of the retraining, where the coordinator runs (required)")
	f.StringVar(&r.Zone, "zone", "", "time zone of the tz database, such as Europe/Berlin (default UTC)")
	f.StringVar(&r.Missed, "missed", "last", "what becomes of missed times: last, skip or all")
	f.Uint32Var(&r.CatchUp, "catch-up", 0, "number of missed times that --missed all starts, at most 100 (default 10)")
	f.StringVar(&r.Overlap, "overlap", "queue", "what becomes of a time while a run is not over: queue, skip or replace")
	f.DurationVar(&deadline, "deadline", 0, "a run that has not begun so long after its time is skipped (default: none is)")
	f.DurationVar(&jitter, "jitter", 0, "start up to that much later, to spread schedules of one time")
	f.Uint32Var(&r.PauseAfter, "pause-after", 5, "number of failures in a row after which the schedule pauses itself")
	addPriority(cmd, &priority)
	cmd.MarkFlagRequired("config")
	return cmd
}

// retrainConfig is the absolute name of a retraining's configuration on the coordinator's
// machine. Where that is this one, the file must be there.
func (f *clusterFlags) retrainConfig(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil || f.dir == "" {
		return path, err
	}
	if _, err := os.Stat(path); err != nil {
		return "", withHint(fmt.Errorf("configuration of the retraining: %w", err), "give --config a file; `ergoflow retrain init` writes one")
	}
	return path, nil
}

func wholeSeconds(flag string, d time.Duration) (int64, error) {
	if d < 0 || d%time.Second != 0 {
		return 0, usagef("%s is %v, not a number of seconds", flag, d)
	}
	return int64(d / time.Second), nil
}

// nextTimes is how many next times of a schedule are shown.
const nextTimes = 5

func schedulesListCommand() *cobra.Command {
	return schedulesOf("list", "List the schedules of a coordinator",
		"Lists the schedules: the next five times, here and in UTC, the last result, and\nhow many runs in a row have failed.", 0)
}

func schedulesShowCommand() *cobra.Command {
	return schedulesOf("show", "Show one schedule of a coordinator", "Shows one schedule, as list does all of them.", 1)
}

func schedulesOf(name, short, long string, arguments int) *cobra.Command {
	var cluster clusterFlags
	var asJSON bool
	use, example, what := name, "  ergoflow schedules "+name, "no arguments"
	if arguments > 0 {
		use, example, what = use+" NAME", example+" nightly", "the name of a schedule"
	}
	cmd := &cobra.Command{
		Use:     use + " (--dir DIR | --addr HOST:PORT)",
		Short:   short,
		Long:    long,
		Example: example + " --dir /var/lib/ergoflow",
		Args:    exactly(arguments, what),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := cluster.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer client.Close()
			list, err := client.Schedules(cmd.Context(), strings.Join(args, ""), nextTimes)
			switch {
			case err != nil:
				return scheduleError(err, cluster)
			case asJSON && arguments > 0:
				return printJSON(list[0])
			case asJSON:
				return printJSON(list)
			}
			return printSchedules(list)
		},
	}
	cluster.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON (docs/formats.md)")
	return cmd
}

func printSchedules(list []queue.ScheduleStatus) error {
	if len(list) == 0 {
		fmt.Fprintln(stdout, "no schedules")
	}
	for i, s := range list {
		if i > 0 {
			fmt.Fprintln(stdout)
		}
		if err := printSchedule(s); err != nil {
			return err
		}
	}
	return nil
}

func printSchedule(s queue.ScheduleStatus) error {
	fmt.Fprintf(stdout, "%s  %q in %s: %s\n", s.Name, s.Spec, zoneName(s.Zone), s.Config)
	t := tabwriter.NewWriter(stdout, 0, 4, 2, ' ', 0)
	if s.Paused {
		fmt.Fprintf(t, "  paused\t%s\n", s.Why)
	}
	for i, at := range s.Next {
		what := ""
		if i == 0 {
			what = "next"
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\n", what, clockTime(at), at.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	if r := s.Last; r != nil {
		fmt.Fprintf(t, "  last result\t%s\n", resultLine(r))
	}
	if r := s.Skipped; r != nil {
		fmt.Fprintf(t, "  last skipped\t%s\n", resultLine(r))
	}
	if !s.LastStarted.IsZero() {
		fmt.Fprintf(t, "  last started\t%s\n", clockTime(s.LastStarted))
	}
	if !s.LastDone.IsZero() {
		fmt.Fprintf(t, "  last success\t%s\n", clockTime(s.LastDone))
	}
	fmt.Fprintf(t, "  failures\t%d in a row, it pauses after %d\n", s.Failures, s.PauseAfter)
	return t.Flush()
}

func zoneName(zone string) string {
	if zone == "" {
		return "UTC"
	}
	return zone
}

func resultLine(r *queue.Result) string {
	line := fmt.Sprintf("run %d, %s at %s", r.Run, r.Outcome, clockTime(r.Ended))
	if r.Reason != "" {
		line += ": " + r.Reason
	}
	return line
}

// scheduleChange is a command that does one thing to a schedule.
func scheduleChange(name, short, long string, action wire.ChangeScheduleRequest_Action) *cobra.Command {
	var cluster clusterFlags
	cmd := &cobra.Command{
		Use:     name + " NAME (--dir DIR | --addr HOST:PORT)",
		Short:   short,
		Long:    long,
		Example: "  ergoflow schedules " + name + " nightly --dir /var/lib/ergoflow",
		Args:    exactly(1, "the name of a schedule"),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := cluster.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer client.Close()
			id, err := client.ChangeSchedule(cmd.Context(), args[0], action)
			if err == nil && id != 0 {
				fmt.Fprintf(stdout, "run %d is in the queue: `ergoflow runs show %d %s` shows it\n", id, id, cluster)
			}
			return scheduleError(err, cluster)
		},
	}
	cluster.add(cmd)
	return cmd
}

func schedulesPauseCommand() *cobra.Command {
	return scheduleChange("pause", "Pause a schedule: its times pass without runs",
		"Pauses a schedule. A run under way goes on; one that waits is skipped.", wire.ChangeScheduleRequest_ACTION_PAUSE)
}

func schedulesResumeCommand() *cobra.Command {
	return scheduleChange("resume", "Resume a schedule that was paused, or has paused itself",
		"Resumes a schedule. Times that have passed meanwhile are listed as skipped.", wire.ChangeScheduleRequest_ACTION_RESUME)
}

func schedulesRunCommand() *cobra.Command {
	return scheduleChange("run", "Start a run of a schedule now, outside its times",
		"Adds a run of the schedule to the queue, also while it is paused.", wire.ChangeScheduleRequest_ACTION_RUN)
}

func schedulesRemoveCommand() *cobra.Command {
	return scheduleChange("remove", "Remove a schedule",
		"Removes a schedule, and cancels its runs that wait. A run under way goes on.", wire.ChangeScheduleRequest_ACTION_REMOVE)
}

func scheduleError(err error, cluster clusterFlags) error {
	if errors.Is(err, conduct.ErrUnknown) {
		return withHint(err, "`ergoflow schedules list %s` shows their names", cluster)
	}
	return err
}
