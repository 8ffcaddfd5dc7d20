package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/internal/flight/explain"
)

func explainCommand() *cobra.Command {
	var cluster clusterFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "explain [DIR|FILE|HOST:PORT]...",
		Short: "Say who stopped first, and why",
		Long: `Reads what the flight recorders of all processes hold, finds the last time at
which something stopped, and says who stopped first and why, with the evidence.

DIR is the directory of a run or of a coordinator, which need not run any more,
or one with dumps. If a coordinator runs there, or at HOST:PORT, it asks all
workers for what they know now. Give further directories where workers kept
dumps that no coordinator took; their logs name them.`,
		Example: "  ergoflow explain ergoflow-runs/vn1d-demo\n  ergoflow explain 10.0.0.1:7070 --context ~/ergoflow-operator",
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := dumpsIn(args, &cluster)
			if err != nil {
				return err
			}
			v, err := explained(cmd.Context(), files, cluster)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(v)
			}
			printVerdict(v)
			return nil
		},
	}
	cluster.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON (docs/formats.md)")
	return cmd
}

// dumpsIn finds the files of dumps that arguments name, and the cluster to ask.
func dumpsIn(args []string, cluster *clusterFlags) (files []string, err error) {
	given := *cluster
	if cluster.dir != "" {
		args = append(args, cluster.dir)
	}
	for _, arg := range args {
		_, missing := os.Stat(arg)
		if _, _, err := net.SplitHostPort(arg); err == nil && errors.Is(missing, os.ErrNotExist) {
			if cluster.dir != "" || cluster.addr != "" {
				return nil, usagef("%s: another cluster is given already", arg)
			}
			cluster.addr = arg
			continue
		}
		found, err := explain.Files(arg)
		if err != nil && !errors.Is(err, explain.ErrNoDumps) {
			return nil, err
		}
		files = append(files, found...)
		if _, err := coordinator.ReadAddresses(arg); err == nil && cluster.dir == "" && cluster.addr == "" {
			cluster.dir = arg
		}
	}
	if len(files) == 0 && *cluster == (clusterFlags{context: given.context}) && given.context == "" {
		if len(args) == 0 {
			return nil, usagef("nothing to explain is given: want DIR, HOST:PORT, --dir, --addr or --context")
		}
		return nil, fmt.Errorf("%w in %s, and no coordinator runs there", explain.ErrNoDumps, args[0])
	}
	return files, nil
}

// explained reads files, asks the cluster for what its processes hold now, and finds the
// verdict. A cluster that does not answer is a note where there are files.
func explained(ctx context.Context, files []string, cluster clusterFlags) (explain.Verdict, error) {
	var sources []explain.Source
	var notes []string
	if cluster != (clusterFlags{}) {
		var err error
		if sources, err = askFlights(ctx, cluster); err != nil && len(files) == 0 {
			return explain.Verdict{}, err
		} else if err != nil {
			notes = append(notes, err.Error())
		}
	}
	dumps, problems := explain.Read(files, sources)
	v := explain.Explain(dumps)
	v.Notes = append(append(v.Notes, notes...), problems...)
	return v, nil
}

func askFlights(ctx context.Context, cluster clusterFlags) ([]explain.Source, error) {
	client, err := cluster.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return client.Flights(ctx)
}

// printVerdict prints the sentences, then what to do and what is known of the dumps.
func printVerdict(v explain.Verdict) {
	for _, sentence := range v.Sentences {
		fmt.Fprintln(stdout, sentence)
	}
	for i, candidate := range v.Candidates {
		if i == 0 {
			fmt.Fprintln(stdout, "possible:")
		}
		fmt.Fprintf(stdout, "  %s\n", candidate)
	}
	if v.Hint != "" {
		fmt.Fprintf(stdout, "hint: %s\n", v.Hint)
	}
	for _, note := range v.Notes {
		fmt.Fprintf(stdout, "note: %s\n", note)
	}
}
