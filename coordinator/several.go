package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/consensus"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/secure"
	"github.com/ergoflow/ergoflow/internal/upkeep"
)

// patienceOfSeveral is the silence of a coordinator after which a worker looks for another, where
// there are several. A leader that is cut off has been replaced by then, and the next one waits 5 s
// for those that hold the state.
const patienceOfSeveral = 3 * time.Second

// ErrOneOfSeveral: the directory is that of one of several coordinators. Alone it would change a
// ledger that is not its own.
var ErrOneOfSeveral = errors.New("this coordinator is one of several, and was started without the others' addresses")

// openConsensus opens this coordinator's part in a cluster of several, if it has one.
func (k *coordinator) openConsensus(closing *closer) error {
	if len(k.Peers) == 0 {
		begun, err := consensus.HasBegun(k.Dir)
		if err == nil && begun {
			err = fmt.Errorf("%w: %s", ErrOneOfSeveral, k.Dir)
		}
		return err
	}
	entries, err := k.ledger.entries()
	if err != nil {
		return err
	}
	applied, err := k.ledger.Applied()
	if err != nil {
		return err
	}
	k.ledger.propose = k.propose
	k.node, err = consensus.Open(consensus.Config{
		Dir: k.Dir, Peers: k.Peers, Dial: k.dialMember, Log: k.Log, Release: ergoflow.ThisRelease(), Election: k.election,
		HasLedger: applied == 0 && len(entries) > 0,
	}, k.ledger)
	if err != nil {
		return err
	}
	closing.add(k.node.Close)
	return nil
}

// dialMember prepares a connection to another coordinator.
func (k *coordinator) dialMember(address string) (*grpc.ClientConn, error) {
	return secure.Client(address, secure.Dial(k.security.credentials(), trust.Coordinator))
}

// propose makes changes of the ledger in the present term.
func (k *coordinator) propose(list []change) error {
	term := k.term.Load()
	if term == nil {
		return consensus.ErrDeposed
	}
	entry, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return term.Propose(entry)
}

// electionPatience is how long a call waits until a coordinator leads. An election is faster.
const electionPatience = 2 * time.Second

// elsewhere answers what the leader alone can do, while this coordinator does not lead. Where none
// leads it waits for the election, so that workers begin with the next leader at once.
func (k *coordinator) elsewhere(ctx context.Context, opened <-chan struct{}) error {
	if k.node == nil {
		return status.Error(codes.Unavailable, "the coordinator starts, or ends")
	}
	late := time.After(electionPatience)
	for {
		changed := k.node.Changed()
		if leader, _ := k.node.Leader(); leader != "" && !k.node.Leads() {
			return wire.NotLeading(leader)
		}
		select {
		case <-opened:
			return nil
		case <-changed:
		case <-late:
			return wire.NotLeading("")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// confirm returns once a majority has said that this coordinator leads. Otherwise one that has been
// deposed would answer by what was before.
func (k *coordinator) confirm() error {
	term := k.term.Load()
	if term == nil || term.Verify() == nil {
		return nil // without a term the service has gone, or is that of the only coordinator
	}
	leader, _ := k.node.Leader()
	return wire.NotLeading(leader)
}

// takePart takes part in the consensus, and leads in its terms, until ctx ends.
func (k *coordinator) takePart(ctx context.Context) error {
	if err := k.publishAddresses(k.addresses()); err != nil {
		return err
	}
	if k.bucket != nil {
		if err := k.ledger.storeHere(keyAddresses, k.addresses()); err != nil { // the next process takes the same ports
			return err
		}
	}
	// The node ends last: until then it can hand its leadership over.
	taking, end := context.WithCancel(context.Background())
	defer end()
	group, failed := errgroup.WithContext(context.Background())
	group.Go(func() error { return k.node.Run(taking) })
	group.Go(func() error {
		others := &others{coordinator: k, silent: make(map[string]bool), invite: slices.Clone(k.Peers)}
		upkeep.Every(taking, meetInterval, others.meet, upkeep.Log(k.Log, "meeting other coordinators in the gossip"))
		return nil
	})
	if k.bucket != nil {
		group.Go(func() error { k.bucket.keep(taking); return nil })
	}
	group.Go(func() error {
		upkeep.Every(taking, yieldInterval, k.yield, upkeep.Log(k.Log, "handing the leadership over"))
		return nil
	})
	group.Go(func() error {
		defer end()
		leading, stop := context.WithCancel(ctx)
		defer stop()
		defer context.AfterFunc(failed, stop)()
		return k.takeTurns(leading)
	})
	return group.Wait()
}

// yieldInterval is between two looks whether another should lead.
const yieldInterval = 100 * time.Millisecond

// yield has another coordinator lead while this one cannot: what it conducted with takes its time to
// end, such as the process of a retraining. It may have been elected again meanwhile.
func (k *coordinator) yield(context.Context) error {
	if k.leaving.Load() {
		k.node.HandOver()
	}
	return nil
}

// takeTurns leads whenever this coordinator is elected, until ctx ends.
func (k *coordinator) takeTurns(ctx context.Context) error {
	for ctx.Err() == nil {
		term, err := k.node.AwaitTerm(ctx)
		if err == nil {
			err = k.leadIn(ctx, term)
		}
		if err != nil && !errors.Is(err, consensus.ErrDeposed) && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return nil
}

// leadIn leads in one term.
func (k *coordinator) leadIn(ctx context.Context, term *consensus.Term) error {
	k.term.Store(term)
	defer k.term.Store(nil)
	k.Log.Info("this coordinator leads", "term", term.Number())
	defer k.members.SetTerm(0)
	k.members.SetTerm(term.Number())
	err := k.handIn(term)
	if err == nil {
		err = k.lead(ctx, term)
	}
	if errors.Is(err, consensus.ErrDeposed) {
		leader, now := k.node.Leader()
		k.Log.Info("this coordinator does not lead any more", "term", now, "leader", leader, "reason", err)
	}
	return errors.Join(err, k.publishAddresses(k.addresses()))
}

// handIn makes the ledger of a coordinator that was alone that of the cluster, once.
func (k *coordinator) handIn(term *consensus.Term) error {
	applied, err := k.ledger.Applied()
	if err != nil || applied > 0 {
		return err
	}
	entries, err := k.ledger.entries()
	if err != nil || len(entries) == 0 {
		return err
	}
	if err := k.propose(entries); err != nil {
		return fmt.Errorf("hand in the ledger: %w", err)
	}
	k.handedIn.Store(true)
	return nil
}

// verifyInterval is between two questions whether the term still counts.
const verifyInterval = 50 * time.Millisecond

// keepTerm asks a majority whether the term still counts, and until ctx ends fails when it does
// not. What workers sent before the question may then count as heard: it renews their leases.
func (l *loop) keepTerm(ctx context.Context) error {
	ticker := time.NewTicker(verifyInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
		heard := make(map[machine.Session]uint64)
		if !l.do(func() {
			for number, s := range l.sessions {
				heard[number] = s.heartbeat
			}
		}) {
			return nil
		}
		if err := l.term.Verify(); err != nil {
			return err
		}
		l.do(func() {
			for number, heartbeat := range heard {
				if s := l.sessions[number]; s != nil {
					if s.vouched == 0 && heartbeat > 0 { // the worker waits for its first lease
						s.send(l.messages.ToWorker(message.Ping{Heard: heartbeat}))
					}
					s.vouched = heartbeat
				}
			}
		})
	}
}
