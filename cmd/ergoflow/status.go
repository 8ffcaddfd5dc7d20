package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
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
			client, err := cluster.dial()
			if err != nil {
				return err
			}
			defer client.Close()
			st, err := client.Status(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(st)
			}
			fmt.Fprintf(stdout, "state       %s\n", st.State)
			if st.Run != "" {
				fmt.Fprintf(stdout, "run         %s (%.12s)\n", st.Experiment, st.Run)
				fmt.Fprintf(stdout, "shards      %d of %d\n", st.Shards.Done, st.Shards.Total)
				fmt.Fprintf(stdout, "step        %d of %d\n", st.Step, st.Steps)
				if st.Loss != nil {
					fmt.Fprintf(stdout, "loss        %.4g\n", *st.Loss)
				}
				fmt.Fprintf(stdout, "generation  %d, world size %d\n", st.Generation, st.WorldSize)
				if f := st.WaitsFor; f != nil {
					fmt.Fprintf(stdout, "waits for   %s, %.3g ms a step; it is the last in %d of %d steps\n", f.Worker, 1e3*f.Seconds, f.Steps, f.Of)
				}
			}
			if st.Failure != "" {
				fmt.Fprintf(stdout, "failure     %s\n", st.Failure)
			}
			if st.Reason != "" {
				fmt.Fprintf(stdout, "last        %s\n", st.Reason)
			}
			t := tabwriter.NewWriter(stdout, 0, 4, 2, ' ', 0)
			for i, w := range st.Workers {
				if i == 0 {
					fmt.Fprintln(t, "\nworker\trank\tpid\taddress\tdevice\tshards\tstep\tstate")
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
				fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%s\t%d\t%d\t%s\n", w.ID, w.Rank, w.PID, w.Addr, w.Device, len(w.Shards), w.Step, state)
			}
			if err := t.Flush(); err != nil {
				return err
			}
			for i, r := range st.Refused {
				if i == 0 {
					fmt.Fprintln(stdout, "\nrefused")
				}
				fmt.Fprintf(stdout, "%s  %s: %s (%d times)\n", r.Time.Format(time.RFC3339), r.From, r.Reason, r.Count)
			}
			return nil
		},
	}
	cluster.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON (docs/formats.md)")
	return cmd
}
