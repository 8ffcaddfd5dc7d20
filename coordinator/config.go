package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/dashboard"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/internal/flight"
	"github.com/ergoflow/ergoflow/internal/tracing"
)

// Config of a coordinator.
type Config struct {
	Dir    string // of its state; made where it is missing
	Listen string // control service, host:port; default 127.0.0.1:0
	Gossip string // gossip, host:port; default 127.0.0.1:0
	// Peers are the control addresses of all coordinators with which a cluster of several begins,
	// this one's among them, each as the others reach it. Empty: this is the only one.
	Peers     []string
	Join      string // where processes join, host:port; default port 0 on the host of Listen
	Store     string // where shards are, as store.Parse has it: a directory that all workers see, nats:// or s3://; default Dir/shards
	Jobs      string // embedded job queue, host:port; default port 0 on the host of Listen
	HTTP      string // page and metrics, host:port; empty: none
	NATS      string // URL of a job queue; default: an embedded one
	NATSFiles string // directory with what that server asks for, as jobs.Access
	// NATSDomain is the domain of JetStream that keeps the jobs of NATS; empty: the server's own.
	NATSDomain string
	// NATSReplicas is how many servers of NATS keep each stream of jobs. Default: 3 where there are
	// several coordinators; otherwise as many as keep it, and 1 of a new stream.
	NATSReplicas int
	Insecure     bool // allows addresses beyond loopback without encryption and authentication
	// AcceptPlaintext has a secured coordinator also accept workers without a certificate, while
	// a cluster changes from plain text: it is where they gossip, host:port. Empty: it accepts none.
	AcceptPlaintext string
	// CertificateLife is how long a certificate counts that the coordinator signs. Default: a
	// month. Processes renew theirs after two thirds of it.
	CertificateLife time.Duration
	// Passing says that the coordinator ends with the command that started it. It copies its
	// checkpoints into the bucket of its shards only under a name that the location gives: its
	// directory may be removed, and nobody would remove the copies.
	Passing bool
	Workers ergoflow.WorkerBounds // of a run that is submitted without bounds; default: it uses all
	Log     *slog.Logger          // default slog.Default()

	// PlanOf makes the plan of a configuration, and fails where that is invalid. The
	// coordinator refuses a run with another plan. Default: it accepts any plan.
	PlanOf func(config []byte) (ergoflow.Plan, error)

	// PlanOfStart makes the plan of the run that an encoded state is the start of, and fails
	// for any other state. Default: no run can begin from an earlier state.
	PlanOfStart func(encoded []byte) (ergoflow.Plan, error)

	// Retrainer is the command of a retraining's process. Default: this program's `retrain`, on
	// this cluster.
	Retrainer func(context.Context, queue.Run) *exec.Cmd

	// Models is the registry that the page shows; nil: none.
	Models *dashboard.Models

	Ready func(Addresses) // called once, when all services are open
	// FirstToken is called once, before Ready, by the first start of a secured cluster: with the
	// address to join at and a token for workers.
	FirstToken func(join, token string)
	Tracer     *tracing.Tracer // nil: no traces
	Beat       func()          // called many times a second while the coordinator decides; nil: nobody watches

	// Flight keeps what the process did in the last minutes; nil: Run makes one. Asked has all
	// processes of the cluster dump theirs; nil: nobody asks.
	Flight *flight.Keeper
	Asked  <-chan os.Signal

	timing   machine.Config // tests shorten it
	patience time.Duration  // with a NATS server that is away; tests shorten it
	election time.Duration  // of consensus.Config; tests prolong it: many of them share few processors
	location store.Location // of Store
}

// FlightPath is the directory of the flight recorders' dumps in a coordinator's.
func FlightPath(dir string) string { return filepath.Join(dir, "flight") }

func (c Config) validated() (Config, error) {
	if c.Dir == "" {
		return c, errors.New("the coordinator needs a directory for its state")
	}
	if c.Insecure && c.AcceptPlaintext != "" {
		return c, errors.New("a coordinator without certificates accepts plain text alone: Insecure excludes AcceptPlaintext")
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return c, fmt.Errorf("directory %s: %w", c.Dir, err)
	}
	c.Dir = dir
	if err := c.Workers.Validate(); err != nil {
		return c, err
	}
	c.Listen = cmp.Or(c.Listen, "127.0.0.1:0")
	c.Gossip = cmp.Or(c.Gossip, "127.0.0.1:0")
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Flight == nil {
		c.Flight = flight.NewKeeper(flight.Coordinator, FlightPath(dir), c.Log)
	}
	if c.Store == "" && len(c.Peers) > 0 {
		return c, fmt.Errorf("%w: each would have shards of its own", ErrCommonStore)
	}
	c.Store = cmp.Or(c.Store, filepath.Join(dir, "shards"))
	if c.location, err = parseStore(c.Store, c.NATS == "", max(1, len(c.Peers))); err != nil {
		return c, err
	}
	c.Store = c.location.String()
	if c.NATS == "" && (c.NATSDomain != "" || c.NATSReplicas != 0) {
		return c, errors.New("a domain and replicas of jobs are those of other NATS servers: they need NATS")
	}
	if len(c.Peers) > 1 {
		c.NATSReplicas = cmp.Or(c.NATSReplicas, replicasOfSeveral)
	}
	if len(c.Peers) > 0 && c.AcceptPlaintext != "" {
		return c, ErrOneAtATime
	}
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return c, fmt.Errorf("control address: %w", err)
	}
	free := net.JoinHostPort(host, "0")
	c.Join, c.Jobs = cmp.Or(c.Join, free), cmp.Or(c.Jobs, free)
	return c, nil
}

// replicasOfSeveral is how many servers keep each stream of jobs where there are several
// coordinators: they are there to survive the loss of a machine.
const replicasOfSeveral = 3

var (
	// ErrCommonStore: the shards of several coordinators must outlive each of them.
	ErrCommonStore = errors.New("several coordinators need a store that all machines reach")
	// ErrOneAtATime: it is not for several coordinators.
	ErrOneAtATime = errors.New("a cluster changes from plain text to certificates with one coordinator")
)
