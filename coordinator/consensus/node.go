package consensus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	"google.golang.org/grpc"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/wire"
)

const (
	// electionTimeout is the default of Config.Election.
	electionTimeout = 500 * time.Millisecond
	// linkTimeout bounds one exchange between two members.
	linkTimeout = 2 * time.Second
	// keptEntries of the log stay behind a snapshot, for members that are a little behind.
	keptEntries    = 1024
	keptSnapshots  = 2
	connectionPool = 3 // open connections to each member
)

var (
	// ErrDeposed: the member does not lead any more. Whether its last proposal counts is unknown.
	ErrDeposed = errors.New("this coordinator does not lead any more")
	// ErrRemoved: the others have removed the member.
	ErrRemoved = errors.New("this coordinator was removed from the cluster")
)

// Config of a member.
type Config struct {
	Dir   string   // of its log
	Peers []string // control addresses with which a cluster begins, this one's among them
	Dial  func(address string) (*grpc.ClientConn, error)
	Log   *slog.Logger
	// Election is how long a member hears nothing of the leader before it asks for votes, at
	// least: it waits up to twice as long, at random. A leader that reaches no majority for this
	// long gives up. Default 500 ms.
	Election time.Duration
	// HasLedger says that the state is of a time when this coordinator was alone: the cluster
	// begins with it.
	HasLedger bool
	Release   ergoflow.Release
}

// Node is this process's member.
type Node struct {
	config Config
	id     string
	starts uint64
	log    *log
	state  State

	failing sync.Once
	failed  chan struct{} // closed when the member cannot go on
	failure error         // why; readable once failed is closed

	mu      sync.Mutex
	address string // by which the others know it; empty: it does not know yet
	links   *links // nil: raft does not run
	raft    *raft.Raft
	changed chan struct{} // closed and replaced when another leads, or none
}

// Open opens the member's log. The member takes part once Run does.
func Open(c Config, state State) (*Node, error) {
	l, err := openLog(c.Dir)
	if err != nil {
		return nil, err
	}
	n := &Node{config: c, log: l, state: state, failed: make(chan struct{}), changed: make(chan struct{})}
	if n.id, n.address, n.starts, err = l.identity(); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return n, nil
}

// Run takes part in the consensus until ctx ends. Without a log it first waits until the cluster
// begins, or until the others add it. It fails when the member cannot write, and with ErrRemoved.
func (n *Node) Run(ctx context.Context) error {
	configuration, err := n.join(ctx)
	if err == nil {
		err = n.start(configuration)
	}
	if err != nil {
		return err
	}
	defer n.stop()
	elected := make(chan raft.Observation, observations)
	observer := raft.NewObserver(elected, false, func(o *raft.Observation) bool {
		switch o.Data.(type) {
		case raft.LeaderObservation, raft.RaftState:
			return true
		}
		return false
	})
	n.raft.RegisterObserver(observer)
	defer n.raft.DeregisterObserver(observer)
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		select {
		case <-elected:
			n.mu.Lock()
			close(n.changed)
			n.changed = make(chan struct{})
			n.mu.Unlock()
		case <-ticker.C:
			if n.raft.State() == raft.Shutdown {
				return ErrRemoved
			}
		case <-n.failed:
			return n.failure
		case <-ctx.Done():
			return nil
		}
	}
}

const (
	// watchInterval is between two looks at what raft does not tell.
	watchInterval = 200 * time.Millisecond
	// observations of raft wait until they are read; further ones are lost, which a look finds.
	observations = 16
)

// start starts raft. The first member of a cluster has its configuration.
func (n *Node) start(begin *raft.Configuration) error {
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(filepath.Join(n.config.Dir, "snapshots"), keptSnapshots, logger(n.config.Log))
	if err != nil {
		return fmt.Errorf("snapshots of the consensus: %w", err)
	}
	links := newLinks(n.address, n.config.Release, n.config.Dial)
	transport := raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: links, MaxPool: connectionPool, Timeout: linkTimeout, Logger: logger(n.config.Log)})
	c := n.raftConfig()
	if begin != nil {
		if err := raft.BootstrapCluster(c, n.log, n.log, snapshots, transport, *begin); err != nil {
			return errors.Join(fmt.Errorf("begin the cluster: %w", err), transport.Close())
		}
	}
	r, err := raft.NewRaft(c, fsm{n.state, n.fail}, n.log, n.log, snapshots, transport)
	if err != nil {
		return errors.Join(fmt.Errorf("start the consensus: %w", err), transport.Close())
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.links, n.raft = links, r
	return nil
}

func (n *Node) raftConfig() *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = raft.ServerID(n.id)
	silence := cmp.Or(n.config.Election, electionTimeout)
	c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout = silence, silence, silence
	c.TrailingLogs, c.SnapshotThreshold = keptEntries, keptEntries
	c.Logger = logger(n.config.Log)
	return c
}

// handover bounds the attempt to have another member lead.
const handover = time.Second

// HandOver has another member lead, if this one does, and waits for that a second at most. Where it
// fails, this member leads on.
func (n *Node) HandOver() {
	if !n.Leads() {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = n.raft.LeadershipTransfer().Error() // Leads says whether it failed
	}()
	select { // the transfer may never end (hashicorp/raft issue 696)
	case <-done:
	case <-time.After(handover):
	}
}

// stop hands leadership over if it can, and ends raft.
func (n *Node) stop() {
	n.HandOver()
	if err := n.raft.Shutdown().Error(); err != nil {
		n.config.Log.Warn("the consensus did not end in order", "error", err)
	}
}

// Close closes the log. Run has returned.
func (n *Node) Close() error { return n.log.close() }

// fail ends Run.
func (n *Node) fail(err error) {
	n.failing.Do(func() {
		n.failure = err
		close(n.failed)
	})
}

// Serve carries a connection of another member.
func (n *Node) Serve(stream wire.Coordinators_LinkServer) error {
	n.mu.Lock()
	l := n.links
	n.mu.Unlock()
	if l == nil {
		return errNoMember
	}
	return l.serve(stream)
}

// running is raft; nil: it does not run yet.
func (n *Node) running() *raft.Raft {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.raft
}

// Changed returns a channel that is closed when another member leads, or none.
func (n *Node) Changed() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.changed
}

// Leads reports whether this member leads, as far as it knows.
func (n *Node) Leads() bool {
	r := n.running()
	return r != nil && r.State() == raft.Leader
}

// Leader is the control address of the member that leads, and its term; empty: none is known.
func (n *Node) Leader() (address string, term uint64) {
	r := n.running()
	if r == nil {
		return "", 0
	}
	leader, _ := r.LeaderWithID()
	return string(leader), r.CurrentTerm()
}
