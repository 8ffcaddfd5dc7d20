package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"runtime"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/conduct"
	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/display"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/gossip"
	"github.com/ergoflow/ergoflow/internal/hostport"
	"github.com/ergoflow/ergoflow/internal/memory"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/training/trainer"
)

// A finding is one line of the doctor's report.
type finding struct {
	Check  string `json:"check"`
	OK     bool   `json:"ok"`
	Needed bool   `json:"needed"` // whether ergoflow cannot run without it
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
}

// wantedDisk is the free space that a demo run needs, in bytes.
const wantedDisk = 2 << 30

func doctorCommand() *cobra.Command {
	var asJSON bool
	var dir string
	cmd := &cobra.Command{
		Use:     "doctor",
		Short:   "Check that this machine can run ergoflow",
		Example: "  ergoflow doctor",
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			findings := examine(cmd.Context(), dir)
			if asJSON {
				if err := printJSON(findings); err != nil {
					return err
				}
			} else if err := printFindings(findings); err != nil {
				return err
			}
			for _, f := range findings {
				if f.Needed && !f.OK {
					return withHint(fmt.Errorf("doctor: %s: %s", f.Check, f.Detail), "%s", f.Hint)
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON (docs/formats.md)")
	cmd.Flags().StringVar(&dir, "dir", ".", "directory whose disk, permissions and coordinator to check")
	return cmd
}

func printFindings(findings []finding) error {
	t := tabwriter.NewWriter(stdout, 0, 4, 2, ' ', 0)
	for _, f := range findings {
		mark := "ok"
		if !f.OK {
			mark = "no"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", mark, f.Check, f.Detail)
		if !f.OK && f.Hint != "" {
			fmt.Fprintf(t, "\t\thint: %s\n", f.Hint)
		}
	}
	return t.Flush()
}

func examine(ctx context.Context, dir string) []finding {
	findings := []finding{
		examineProcessors(),
		examineMemory(),
		examineDisk(dir),
		examineLoopback(),
		examinePip(ctx),
	}
	if f, ok := examineCluster(ctx, dir); ok {
		findings = append(findings, f)
	}
	works := false
	for _, b := range backend.List() {
		f := finding{Check: "backend " + b.Backend, OK: b.Works, Detail: b.Device}
		if !b.Works {
			f.Detail = b.Problem
			if b.Backend == backend.XLACPU {
				f.Hint = "run `ergoflow backend install cpu`; pure Go is ten times slower"
			}
		}
		works = works || b.Works
		findings = append(findings, f)
	}
	return append(findings, finding{Check: "any backend", OK: works, Needed: true, Detail: "computes", Hint: "run `ergoflow backend install cpu`"})
}

// examineProcessors says how many may be used: those of the process's affinity, or the share
// of its cgroup if that is less.
func examineProcessors() finding {
	f := finding{Check: "processors", OK: true, Needed: true, Detail: fmt.Sprintf("%d, %s/%s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)}
	if n := runtime.GOMAXPROCS(0); n < runtime.NumCPU() {
		f.Detail = fmt.Sprintf("%d of %d, %s/%s: the limit of the cgroup, or GOMAXPROCS", n, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
	}
	return f
}

// examineMemory compares the memory that may be used with that of a worker on xla:cpu.
func examineMemory() finding {
	least := trainer.LeastMemory(backend.XLACPU)
	f := finding{Check: "memory", Hint: fmt.Sprintf("a worker on xla:cpu needs %s, and more for large networks: raise the limit (docs/operations.md)", humanize.IBytes(least))}
	l, err := memory.Find()
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	f.OK, f.Detail = l.Bytes >= least, l.String()
	return f
}

func examineDisk(dir string) finding {
	f := finding{Check: "disk", Needed: true}
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		f.Detail = fmt.Sprintf("%s: %v", dir, err)
		f.Hint = "name an existing directory with --dir"
		return f
	}
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		f.Detail = fmt.Sprintf("%s cannot be written to: %v", dir, err)
		f.Hint = "name a directory of your own with --dir"
		return f
	}
	free := st.Bavail * uint64(st.Bsize)
	f.OK = free >= wantedDisk
	f.Detail = fmt.Sprintf("%s free at %s", humanize.IBytes(free), dir)
	f.Hint = fmt.Sprintf("free %s or more for a run", humanize.IBytes(wantedDisk))
	return f
}

func examineLoopback() finding {
	f := finding{Check: "loopback", Needed: true, OK: true, Detail: "127.0.0.1 listens"}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.OK, f.Detail, f.Hint = false, err.Error(), "allow connections over 127.0.0.1, which a local cluster uses"
		return f
	}
	l.Close()
	return f
}

// examineCluster looks whether the coordinator that runs on a directory, if one does, keeps
// strangers out.
func examineCluster(ctx context.Context, dir string) (f finding, ok bool) {
	at, err := conduct.EndpointIn(dir, "")
	if errors.Is(err, coordinator.ErrNotRunning) {
		return f, false
	}
	f = finding{Check: "cluster", Hint: "`ergoflow status --dir " + dir + "` says more"}
	if err != nil {
		f.Detail = err.Error()
		return f, true
	}
	client, err := conduct.Dial(at)
	if err != nil {
		f.Detail = err.Error()
		return f, true
	}
	defer client.Close()
	st, err := client.Status(ctx, "")
	switch {
	case err != nil:
		f.Detail = err.Error()
	case st.AcceptsPlaintext:
		f.Detail = gossip.HalfSecured
		f.Hint = "in plain text: " + display.Plaintext(st.Plaintext)
	case st.Secured:
		f.OK, f.Detail = true, "connections are encrypted, and need certificates"
	case hostport.IsLoopback(st.Gossip):
		f.OK, f.Detail = true, "plain text, on loopback alone"
	default:
		f.Detail = "plain text (--insecure): everybody who reaches the ports can join, read checkpoints, submit runs and change gradients"
		f.Hint = "start the coordinator without --insecure; it prints how workers join (docs/security.md)"
	}
	return f, true
}

func examinePip(ctx context.Context) finding {
	f := finding{Check: "python3 with pip", Detail: "installs the XLA plugin", OK: true}
	if err := exec.CommandContext(ctx, "python3", "-m", "pip", "--version").Run(); err != nil {
		f.OK, f.Detail, f.Hint = false, err.Error(), "on Debian: apt install python3-pip; needed once, for `ergoflow backend install`"
	}
	return f
}
