package consensus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/raft"
	"google.golang.org/grpc"
)

var (
	// ErrNotLost: a coordinator that is said to be lost answers, or others were to be named.
	ErrNotLost = errors.New("the majority of coordinators is not lost")
	// ErrNoCluster: the directory has taken part in no cluster of several.
	ErrNoCluster = errors.New("this coordinator was not one of several")
)

// Recover makes the member whose log is in a directory the only one of its cluster. The
// addresses must be those of all others, and none of them may answer. The process must not run:
// its state belongs to the caller.
func Recover(ctx context.Context, dir string, lost []string, dial func(string) (*grpc.ClientConn, error), state State, said *slog.Logger) error {
	l, err := openLog(dir)
	if err != nil {
		return err
	}
	err = recoverIn(ctx, dir, l, lost, dial, state, said)
	return errors.Join(err, l.close())
}

func recoverIn(ctx context.Context, dir string, l *log, lost []string, dial func(string) (*grpc.ClientConn, error), state State, said *slog.Logger) error {
	id, own, _, err := l.identity()
	if err != nil {
		return err
	}
	n := &Node{id: id, config: Config{Dir: dir, Dial: dial, Log: said}}
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(filepath.Join(dir, "snapshots"), keptSnapshots, logger(said))
	if err != nil {
		return fmt.Errorf("snapshots of the consensus: %w", err)
	}
	var failure error
	machine := fsm{state, func(err error) { failure = err }}
	_, transport := raft.NewInmemTransport(raft.ServerAddress(own))
	known, err := raft.GetConfiguration(n.raftConfig(), machine, l, l, snapshots, transport)
	if err != nil {
		return fmt.Errorf("members in the log of the consensus: %w", err)
	}
	if len(known.Servers) == 0 {
		return fmt.Errorf("%w: %s", ErrNoCluster, dir)
	}
	var others []string
	for _, s := range known.Servers {
		if string(s.ID) != id {
			others = append(others, string(s.Address))
		}
	}
	slices.Sort(others)
	if named := slices.Sorted(slices.Values(lost)); !slices.Equal(named, others) {
		return fmt.Errorf("%w: the others are %s, and not %s", ErrNotLost, strings.Join(others, ","), strings.Join(named, ","))
	}
	for address := range n.ask(ctx, others) {
		return fmt.Errorf("%w: that of %s answers", ErrNotLost, address)
	}
	alone := raft.Configuration{Servers: []raft.Server{{ID: raft.ServerID(id), Address: raft.ServerAddress(own)}}}
	if err := raft.RecoverCluster(n.raftConfig(), machine, l, l, snapshots, transport, alone); err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	return failure
}
