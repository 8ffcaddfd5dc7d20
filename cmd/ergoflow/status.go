package main

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/fleet"
	"github.com/ergoflow/ergoflow/coordinator/gossip"
	"github.com/ergoflow/ergoflow/coordinator/machine"
)

func statusCommand() *cobra.Command {
	var cluster clusterFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "status (--dir DIR | --addr HOST:PORT)",
		Short:   "Show the status of a cluster",
		Example: "  ergoflow status --dir ergoflow-runs/vn1d-demo --json",
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := cluster.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer client.Close()
			st, err := client.Status(cmd.Context(), "")
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(st)
			}
			return printStatus(st)
		},
	}
	cluster.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON (docs/formats.md)")
	return cmd
}

// printStatus prints the run, cut links, the workers and the refused connections.
func printStatus(st coordinator.Status) error {
	fmt.Fprintf(stdout, "state       %s\n", st.State)
	if st.Run != "" {
		printRun(st)
	}
	if st.Failure != "" {
		fmt.Fprintf(stdout, "failure     %s\n", st.Failure)
	}
	for _, l := range st.CutLinks {
		fmt.Fprintf(stdout, "cut link    %s and %s do not reach each other, since %s\n", l.Workers[0], l.Workers[1], l.Since.Format(time.RFC3339))
	}
	if len(st.Conducts) > 1 {
		if err := printConducted(st.Conducts); err != nil {
			return err
		}
	}
	if line := queueLine(st.Waiting); line != "" {
		fmt.Fprintf(stdout, "queue       %s\n", line)
	}
	if st.Reason != "" {
		fmt.Fprintf(stdout, "last        %s\n", st.Reason)
	}
	if !st.Secured && !gossip.IsLoopback(st.Gossip) {
		fmt.Fprintln(stdout, "insecure    connections are plain text: everybody who reaches the ports can join and change the training")
	}
	if st.AcceptsPlaintext {
		fmt.Fprintf(stdout, "insecure    %s\n", gossip.HalfSecured)
		fmt.Fprintf(stdout, "plain text  %s\n", plaintextLine(st.Plaintext))
	}
	if err := printWorkers(st.Workers); err != nil {
		return err
	}
	for i, r := range st.Refused {
		if i == 0 {
			fmt.Fprintln(stdout, "\nrefused")
		}
		fmt.Fprintf(stdout, "%s  %s: %s (%d times)\n", r.Time.Format(time.RFC3339), r.From, r.Reason, r.Count)
	}
	return nil
}

// plaintextLine says which workers keep a cluster from being secured.
func plaintextLine(workers []string) string {
	if len(workers) == 0 {
		return "no worker: start the coordinator again without --accept-plaintext"
	}
	return strings.Join(workers, ", ") + ": drain each, and start it again with --token (docs/security.md)"
}

// queueLine says how many runs wait; empty: none.
func queueLine(waiting int) string {
	switch waiting {
	case 0:
		return ""
	case 1:
		return "1 run waits"
	}
	return fmt.Sprintf("%d runs wait", waiting)
}

func printRun(st coordinator.Status) {
	fmt.Fprintf(stdout, "run         %s (%.12s)\n", st.Experiment, st.Run)
	fmt.Fprintf(stdout, "shards      %d of %d\n", st.Shards.Done, st.Shards.Total)
	fmt.Fprintf(stdout, "step        %d of %d\n", st.Step, st.Steps)
	if st.Loss != nil {
		fmt.Fprintf(stdout, "loss        %.4g\n", *st.Loss)
	}
	fmt.Fprintf(stdout, "generation  %d, world size %d\n", st.Generation, st.WorldSize)
	if w := st.WaitsFor; w != nil {
		fmt.Fprintf(stdout, "waits for   %s\n", waitLine(w))
	}
	if g := st.Goodput; g != nil && g.Seconds > 0 {
		printGoodput(*g)
	}
}

// printGoodput prints what the run's time went to, but for causes below a thousandth of it.
func printGoodput(g machine.Goodput) {
	part := func(seconds float64) string { return fmt.Sprintf("%.1f %%", 100*seconds/g.Seconds) }
	total := time.Duration(g.Seconds * float64(time.Second)).Round(time.Second)
	fmt.Fprintf(stdout, "goodput     %s of %s in useful steps\n", part(g.Useful), total)
	for _, l := range g.Lost {
		if l.Seconds >= g.Seconds/1000 {
			fmt.Fprintf(stdout, "  %-10s%s: %s\n", l.Cause, part(l.Seconds), l.Why)
		}
	}
}

// printConducted prints the runs that have workers at once.
func printConducted(runs []fleet.RunStatus) error {
	t := tabwriter.NewWriter(stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "\nrun\texperiment\tstate\tstep\tworkers\tuses")
	for _, r := range runs {
		uses := "all"
		if r.Bounds != (ergoflow.WorkerBounds{}) {
			uses = r.Bounds.String()
		}
		fmt.Fprintf(t, "%d\t%s (%.12s)\t%s\t%d of %d\t%d\t%s\n", r.Entry, r.Experiment, r.Run, r.State, r.Step, r.Steps, r.Workers, uses)
	}
	fmt.Fprintln(t)
	return t.Flush()
}

// waitLine describes the straggler that the other workers wait for.
func waitLine(w *machine.WaitsFor) string {
	return fmt.Sprintf("%s, %.3g ms a step; it is the last in %d of %d steps", w.Worker, 1e3*w.Seconds, w.Steps, w.Of)
}

func printWorkers(workers []machine.WorkerStatus) error {
	t := tabwriter.NewWriter(stdout, 0, 4, 2, ' ', 0)
	for i, w := range workers {
		if i == 0 {
			fmt.Fprintln(t, "\nworker\trun\trank\tpid\taddress\tdevice\tshards\tstep\tstate")
		}
		state := w.State
		if w.Slow {
			state += ", slow"
		}
		if w.Pace > 0 {
			state += fmt.Sprintf(", %.3g ms per shard", 1e3*w.Pace)
		}
		if w.Reason != "" {
			state += ": " + w.Reason
		}
		fmt.Fprintf(t, "%s\t%.12s\t%d\t%d\t%s\t%s\t%d\t%d\t%s\n", w.ID, cmp.Or(w.Run, "-"), w.Rank, w.PID, w.Addr, w.Device, len(w.Shards), w.Step, state)
	}
	return t.Flush()
}
