package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/conduct"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/internal/flight"
	"github.com/ergoflow/ergoflow/internal/hostport"
	"github.com/ergoflow/ergoflow/internal/memory"
	"github.com/ergoflow/ergoflow/internal/systemd"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/model/experiment"
)

func coordinatorCommand() *cobra.Command {
	var c coordinator.Config
	var supervise bool
	var models string
	var bounds workersFor
	var traces string
	cmd := &cobra.Command{
		Use:   "coordinator --dir DIR",
		Short: "Run the coordinator of a cluster",
		Long: `Runs the coordinator of a cluster until SIGTERM or Ctrl-C.

On loopback a cluster speaks plain text. With an address beyond loopback the
first start makes a certificate authority and credentials in the directory, and
prints a command by which workers join: its token is good for 24 hours and 100
workers. "ergoflow tokens create" makes others. Commands on this machine find
credentials in --dir.`,
		Example: "  ergoflow coordinator --dir /var/lib/ergoflow --listen 10.0.0.1:7070 --gossip 10.0.0.1:7946 --join 10.0.0.1:7071",
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			outliveReaders()
			if err := checkAddresses(cmd, "listen", "gossip", "join", "jobs", "http", "accept-plaintext"); err != nil {
				return err
			}
			if err := checkNATS(c); err != nil {
				return err
			}
			if c.CertificateLife < 0 {
				return usagef("--certificate-life is %v, which is negative", c.CertificateLife)
			}
			if c.Dir == "" {
				return usagef("--dir is empty")
			}
			for _, p := range c.Peers {
				if err := hostport.Check(p); err != nil {
					return withHint(usagef("--peers: %w", err), "give HOST:PORT of every coordinator, with commas between them")
				}
			}
			if c.Insecure && c.AcceptPlaintext != "" {
				return withHint(usagef("--insecure excludes --accept-plaintext"), "leave --insecure out: with --accept-plaintext the coordinator accepts both")
			}
			memory.CollectEarly()
			ctx := cmd.Context()
			if supervise {
				ctx = conduct.Supervised(ctx)
			}
			var err error
			if c.Workers, err = bounds.value(); err != nil {
				return err
			}
			if models != "" {
				if c.Models, err = modelsForPage(models); err != nil {
					return err
				}
			}
			c.Log, c.Asked, c.Passing = logger(), flight.Asked(), supervise
			c.Flight = flight.NewKeeper(flight.Coordinator, coordinator.FlightPath(c.Dir), c.Log)
			c.Flight.KeepTrace()
			c.PlanOf, c.PlanOfStart = planOf, experiment.PlanOfStart
			c.Ready = func(a coordinator.Addresses) {
				jobs := a.NATS
				if jobs == "" {
					jobs = "at the coordinator that leads"
				}
				fmt.Fprintf(os.Stderr, "coordinator ready: control %s, gossip %s, jobs %s\n", a.Control, a.Gossip, jobs)
				if a.HTTP != "" {
					fmt.Fprintf(os.Stderr, "page: %s\n", pageURL(a))
				}
				if a.Plaintext != "" {
					fmt.Fprintf(os.Stderr, "workers in plain text gossip at %s\n", a.Plaintext)
				}
				systemd.Ready("control " + a.Control)
			}
			c.Beat = systemd.NewWatchdog().Beat
			defer context.AfterFunc(ctx, systemd.Stopping)()
			c.FirstToken = func(join, token string) {
				fmt.Fprintln(stdout, joinCommand(trust.Worker, join, token))
			}
			var stop func()
			if c.Tracer, stop, err = openTraces(ctx, traces, "ergoflow-coordinator", c.Log); err != nil {
				return err
			}
			defer stop()
			return coordinator.Run(ctx, c)
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.Dir, "dir", "", "directory of the coordinator's state (required)")
	f.StringVar(&c.Listen, "listen", "127.0.0.1:0", "address of the control service; port 0 picks a free one")
	f.StringSliceVar(&c.Peers, "peers", nil, "control addresses of all coordinators, this one's among them, where there are several: A,B,C (docs/operations.md)")
	f.StringVar(&c.Gossip, "gossip", "127.0.0.1:0", "address of the gossip; port 0 picks a free one")
	f.StringVar(&c.HTTP, "http", "", "address of the page and of the metrics for Prometheus, /metrics; beyond loopback for holders of a certificate alone (default: none)")
	f.StringVar(&models, "registry", "", "directory of the registry, or s3://BUCKET/PREFIX?endpoint=URL, that the page shows, and in which it promotes and rolls back (default: none)")
	f.StringVar(&c.Store, "store", "", "where shards are: a directory that every worker sees, nats://BUCKET[?replicas=N] or s3://BUCKET/PREFIX?endpoint=URL (default DIR/shards)")
	f.StringVar(&c.Jobs, "jobs", "", "address of the embedded job queue (default: port 0 on the host of --listen)")
	f.StringVar(&c.NATS, "nats", "", "URL of a NATS server with JetStream, or of several of a cluster: A,B,C (default: an embedded server)")
	f.StringVar(&c.NATSFiles, "nats-files", "", "directory with what the server of --nats asks for: ca.pem, user.creds or user.password, cert.pem and key.pem, each if needed")
	f.StringVar(&c.NATSDomain, "nats-domain", "", "domain of the JetStream behind --nats (default: that of the server)")
	f.IntVar(&c.NATSReplicas, "nats-replicas", 0, "servers of --nats that keep each stream of jobs, 1 to 5 (default: 3 with --peers; without, as many as keep it, 1 of a new one)")
	f.StringVar(&c.Join, "join", "", "address where workers join a secured cluster (default: port 0 on the host of --listen)")
	f.DurationVar(&c.CertificateLife, "certificate-life", 0, "how long certificates count that the coordinator signs; their holders renew them (default 720h)")
	f.BoolVar(&c.Insecure, "insecure", false, "speak plain text, also beyond loopback, without encryption or authentication")
	f.StringVar(&c.AcceptPlaintext, "accept-plaintext", "", "also accept workers in plain text, which gossip at this address, while they change one by one (docs/security.md)")
	addTraces(cmd, &traces)
	bounds.add(cmd, "number of workers of a run that is submitted without --workers-for, N or MIN:MAX (default: all)")
	addSupervised(cmd, &supervise)
	cmd.MarkFlagsMutuallyExclusive("jobs", "nats")
	cmd.MarkFlagRequired("dir")
	return cmd
}

// checkNATS refuses what the options on a NATS server cannot mean.
func checkNATS(c coordinator.Config) error {
	switch {
	case c.NATSReplicas < 0 || c.NATSReplicas > 5:
		return usagef("--nats-replicas is %d: must be from 1 to 5", c.NATSReplicas)
	case strings.ContainsAny(c.NATSDomain, ".*> \t"):
		return usagef("--nats-domain %q: a domain has no '.', '*', '>' or space", c.NATSDomain)
	case c.NATS == "" && (c.NATSDomain != "" || c.NATSReplicas != 0):
		return withHint(usagef("--nats-domain and --nats-replicas are of the server of --nats"), "give --nats URL, or leave them out: the embedded server is one")
	}
	return nil
}

// planOf makes the plan of a submitted configuration.
func planOf(config []byte) (ergoflow.Plan, error) {
	e, err := experiment.Parse(config)
	if err != nil {
		return ergoflow.Plan{}, err
	}
	return e.Plan()
}

func addSupervised(cmd *cobra.Command, supervise *bool) {
	cmd.Flags().BoolVar(supervise, "supervised", false, "leave when standard input closes")
	cmd.Flags().MarkHidden("supervised")
}

// checkAddresses refuses malformed addresses to listen on, which would otherwise count as
// addresses beyond loopback.
func checkAddresses(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		f := cmd.Flag(name)
		address := f.Value.String()
		if address == "" && f.DefValue == "" {
			continue // the default depends on other flags
		}
		_, _, err := net.SplitHostPort(address)
		if err == nil {
			_, err = net.ResolveTCPAddr("tcp", address)
		}
		if err != nil {
			return withHint(usagef("--%s %q: %w", name, address, err), "give HOST:PORT, as in 127.0.0.1:0")
		}
	}
	return nil
}

// logger writes one line per event to standard error.
func logger() *slog.Logger {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	slog.SetDefault(log)
	return log
}
