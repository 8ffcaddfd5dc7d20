package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/conduct"
	"github.com/ergoflow/ergoflow/internal/flight"
	"github.com/ergoflow/ergoflow/internal/systemd"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/worker"
	"github.com/ergoflow/ergoflow/worker/termination"
)

// namePrefix before an address of --join says what holds without it: a name stands for all the
// addresses that DNS has for it. Other programs need it.
const namePrefix = "dns+"

// drainGrace is how long a worker may take to drain.
const drainGrace = 12 * time.Second

func workerCommand() *cobra.Command {
	c := worker.Config{CacheBytes: 64 << 30}
	var join, token, drainWhen, traces string
	var threads int
	var supervise bool
	var flightDir string
	cmd := &cobra.Command{
		Use:   "worker --join HOST:PORT[,HOST:PORT]",
		Short: "Join a cluster: generate shards, compute gradients",
		Long: `Joins the gossip at any of the given members, finds the coordinator through it
and carries out its commands. SIGTERM, SIGHUP or Ctrl-C drains: the worker
finishes its step, hands its shards over and leaves. A second signal ends it at
once. The other workers continue in both cases. On a spot machine --drain-when
asks the cloud whether the machine is about to end (docs/deploy.md).

A name in --join stands for all the addresses that DNS has for it, as those of a
headless service: NAME:PORT, or dns+NAME:PORT.

A worker of a secured cluster joins with a token, at the address that the
coordinator's join command names. It makes a key, has the coordinator sign its
certificate, keeps both in --credentials, and never needs the token again.`,
		Example: "  ergoflow worker --join 127.0.0.1:7946\n  ergoflow worker --join 10.0.0.1:7071 --listen 10.0.0.2:0 --gossip 10.0.0.2:0 --token ERGO1…",
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			outliveReaders()
			if err := checkAddresses(cmd, "listen", "gossip", "http"); err != nil {
				return err
			}
			for _, address := range strings.Split(join, ",") {
				c.Join = append(c.Join, strings.TrimPrefix(address, namePrefix))
			}
			if slices.Contains(c.Join, "") {
				return withHint(usagef("--join %q has an empty address", join), "give HOST:PORT[,HOST:PORT]")
			}
			if threads < 0 {
				return usagef("--threads is %d, not 0 (all) or more", threads)
			}
			drain := cmd.Context()
			if supervise {
				drain = conduct.Supervised(drain)
			}
			c.Log = logger()
			c.Flight, c.Asked = flight.NewKeeper(flight.Worker, flightDir, c.Log), flight.Asked()
			c.Flight.KeepTrace()
			if drainWhen != "" {
				until, stop, err := termination.Watch(drain, drainWhen, c.Log)
				if drain.Err() != nil {
					return nil
				}
				if err != nil {
					return fmt.Errorf("--drain-when: %w", err)
				}
				defer stop()
				drain = until
			}
			if threads > 0 {
				backend.SetThreads(threads)
			}
			ctx, cancel := context.WithCancel(context.WithoutCancel(drain))
			defer cancel()
			defer context.AfterFunc(drain, func() { time.AfterFunc(drainGrace, cancel) })()
			c.Stuck = func(doing string) {
				fmt.Fprintf(os.Stderr, "ergoflow: the worker is to end, but %s does not stop: the process ends without waiting for it\n", doing)
				os.Exit(1)
			}
			c.Drain = drain.Done()
			c.Joined = func() { systemd.Ready("joined at " + join) }
			c.Beat = systemd.NewWatchdog().Beat
			defer context.AfterFunc(drain, systemd.Stopping)()
			if err := enrolled(drain, &c, token); err != nil {
				return err
			}
			var stop func()
			var err error
			if c.Tracer, stop, err = openTraces(ctx, traces, "ergoflow-worker", c.Log); err != nil {
				return err
			}
			defer stop()
			return worker.Run(ctx, c)
		},
	}
	f := cmd.Flags()
	f.StringVar(&join, "join", "", "gossip addresses of any members, comma-separated; of a secured cluster the address to join at (required)")
	f.StringVar(&token, "token", "", "token of a secured cluster, for the first start; @FILE reads it from a file")
	f.StringVar(&c.NATSFiles, "nats-files", "", "directory with what the coordinator's --nats server asks for: ca.pem, user.creds or user.password, cert.pem and key.pem, each if needed")
	f.StringVar(&c.CredentialsDir, "credentials", "", "directory of the worker's credentials (default: one for the address of --join in the user's configuration)")
	f.StringVar(&flightDir, "flight", "", "directory of the flight recorder's dumps that the coordinator has not taken (default: a temporary one)")
	f.StringVar(&c.Cache, "shard-cache", "", "directory for copies of shards that come from nats:// or s3:// (default: one in the user's cache)")
	f.Var((*byteSize)(&c.CacheBytes), "shard-cache-size", "most that the copies may take, as in 20GiB")
	f.StringVar(&c.Gossip, "gossip", "127.0.0.1:0", "own gossip address; port 0 picks a free one")
	f.StringVar(&c.Listen, "listen", "127.0.0.1:0", "address for gradients and state between workers; port 0 picks a free one")
	f.StringVar(&c.HTTP, "http", "", "address of the metrics for Prometheus, /metrics; beyond loopback for holders of a certificate alone (default: none)")
	f.StringVar(&c.Backend, "backend", backend.Auto, "compute backend: auto, xla:cuda, xla:cpu or go")
	addSimulator(cmd, &c.Engine)
	addTraces(cmd, &traces)
	f.BoolVar(&c.Insecure, "insecure", false, "speak plain text, also beyond loopback, without encryption or authentication")
	f.StringVar(&drainWhen, "drain-when", "", "shell command, run every 5 s; when it succeeds, this machine is about to end and the worker drains")
	f.IntVar(&threads, "threads", 0, "number of processor threads (default: all)")
	addSupervised(cmd, &supervise)
	cmd.MarkFlagRequired("join")
	return cmd
}
