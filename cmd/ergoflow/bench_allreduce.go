package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/allreduce/bench"
	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/conduct"
	"github.com/ergoflow/ergoflow/internal/trust"
)

// allReduceBench are the flags of bench allreduce.
type allReduceBench struct {
	world          int
	bytes          []int
	wire, topology string
	rounds         int
	rank           int
	peers          []string
	tcp, tls       bool
	credentials    string // directory
	inherited      bool
	asJSON         bool
}

func benchAllReduceCommand() *cobra.Command {
	var b allReduceBench
	cmd := &cobra.Command{
		Use:   "allreduce",
		Short: "Time the all-reduce of training",
		Long: `Times the all-reduce of vectors of float32 between processes on this machine,
over the transport that training uses. On one machine that is shared memory:
--tcp and --tls use what training uses between machines. Each process gets its
share of the processor's cores, unless GOMAXPROCS is set. With --rank this
process is one rank, and you start the others in the same way, on this machine
or on others.`,
		Example: "  ergoflow bench allreduce --world 4 --bytes 16384,7100000 --wire bf16 --json",
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			alone := cmd.Flags().Changed("rank")
			if alone {
				b.world = len(b.peers)
			}
			opts, err := b.validate(alone)
			if err != nil {
				return err
			}
			var results []bench.Result
			if alone {
				results, err = b.takePart(cmd.Context(), opts)
			} else {
				results, err = b.startAll(cmd.Context())
			}
			if err != nil {
				return err
			}
			if b.asJSON {
				return printJSON(results)
			}
			for _, r := range results {
				fmt.Fprintf(stdout, "%d × %10d bytes  %-4s  median %9.3f ms  p99 %9.3f ms  bus %6.2f GB/s\n",
					r.World, r.Bytes, r.Wire, r.Median, r.P99, r.BusBandwidth)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.IntVar(&b.world, "world", 2, "number of processes")
	f.IntSliceVar(&b.bytes, "bytes", []int{16 << 10, 1_600_000, 7_100_000, 64_000_000}, "sizes of the vectors of float32 in bytes")
	f.StringVar(&b.wire, "wire", "f32", "number format between processes: f32, bf16 or int8")
	f.StringVar(&b.topology, "topology", "auto", "connections between the ranks: auto, mesh, ring, doubling or hosts")
	f.IntVar(&b.rounds, "rounds", 0, "number of timed sums of each size (default: as many as move 256 MB, 10 to 1000)")
	f.IntVar(&b.rank, "rank", 0, "rank of this process among --peers")
	f.StringSliceVar(&b.peers, "peers", nil, "addresses of all ranks, HOST:PORT, comma-separated, with --rank")
	f.BoolVar(&b.tcp, "tcp", false, "connect by TCP, as if every process had its own machine")
	f.BoolVar(&b.tls, "tls", false, "the same with TLS, by certificates that are thrown away")
	f.StringVar(&b.credentials, "credentials", "", "with --rank: directory of a worker's certificate, for TLS")
	f.BoolVar(&b.inherited, "inherited", false, "listen on file descriptor 3 and leave when standard input closes")
	f.MarkHidden("inherited")
	f.BoolVar(&b.asJSON, "json", false, "print JSON (docs/formats.md)")
	cmd.MarkFlagsRequiredTogether("rank", "peers")
	cmd.MarkFlagsMutuallyExclusive("rank", "world")
	cmd.MarkFlagsMutuallyExclusive("rank", "tls")
	return cmd
}

func (b *allReduceBench) validate(alone bool) (allreduce.Options, error) {
	opts := allreduce.Options{Numerics: fmt.Sprint(ergoflow.ThisRelease().Numerics)}
	if alone && (b.rank < 0 || b.rank >= b.world) {
		return opts, usagef("--rank is %d, outside 0 to %d", b.rank, b.world-1)
	}
	if !alone && b.credentials != "" {
		return opts, usagef("--credentials is of one rank: add --rank, or use --tls")
	}
	if err := within("world", []int{b.world}, 1, 64); err != nil {
		return opts, err
	}
	if err := within("bytes", b.bytes, 4, 1<<30); err != nil {
		return opts, err
	}
	for _, n := range b.bytes {
		if n%4 != 0 {
			return opts, usagef("--bytes has %d, which is not a multiple of 4", n)
		}
	}
	if err := within("rounds", []int{b.rounds}, 0, 1<<20); err != nil {
		return opts, err
	}
	var err error
	if opts.Wire, err = allreduce.ParseWire(b.wire); err != nil {
		return opts, usagef("--wire: %v", err)
	}
	if opts.Topology, err = allreduce.ParseTopology(b.topology); err != nil {
		return opts, usagef("--topology: %v", err)
	}
	return opts, nil
}

// takePart runs one rank.
func (b *allReduceBench) takePart(ctx context.Context, opts allreduce.Options) ([]bench.Result, error) {
	var l net.Listener
	var err error
	if b.inherited {
		ctx = conduct.Supervised(ctx)
		f := os.NewFile(3, "listener")
		l, err = net.FileListener(f)
		f.Close()
	} else {
		l, err = net.Listen("tcp", b.peers[b.rank])
	}
	if err != nil {
		return nil, fmt.Errorf("listen as rank %d: %w", b.rank, err)
	}
	part := bench.Part{Rank: b.rank, Peers: b.peers, TCP: b.tcp, Options: opts, Sizes: b.bytes, Rounds: b.rounds}
	if b.credentials != "" {
		if part.Credentials, err = trust.OpenCredentials(b.credentials); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	return part.Run(ctx, l)
}

// startAll starts a process for each rank.
func (b *allReduceBench) startAll(ctx context.Context) (results []bench.Result, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var sizes []string
	for _, n := range b.bytes {
		sizes = append(sizes, strconv.Itoa(n))
	}
	certificates := make([]string, b.world)
	if b.tls {
		var dir string
		if dir, err = os.MkdirTemp("", "ergoflow-bench-"); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		if certificates, err = bench.Certify(ctx, dir, b.world); err != nil {
			return nil, err
		}
	}
	apart := b.tcp || b.tls
	return bench.Local(ctx, b.world, apart, func(rank int, peers []string) *exec.Cmd {
		cmd := exec.Command(self, "bench", "allreduce", "--inherited", "--json",
			"--rank", strconv.Itoa(rank), "--peers", strings.Join(peers, ","), "--bytes", strings.Join(sizes, ","),
			"--wire", b.wire, "--topology", b.topology, "--rounds", strconv.Itoa(b.rounds),
			"--tcp="+strconv.FormatBool(apart), "--credentials", certificates[rank])
		cmd.Args[0] = "ergoflow" // for ps
		if os.Getenv("GOMAXPROCS") == "" {
			cmd.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", max(runtime.NumCPU()/b.world, 1)))
		}
		return cmd
	})
}
