package consensus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/addresstest"
	"github.com/ergoflow/ergoflow/internal/trust/secure"
)

// words is a State: the entries themselves.
type words struct {
	mu      sync.Mutex
	Index   uint64
	Entries []string
	write   func(entry []byte) error // to a disk; nil: none is needed
}

func (w *words) Applied() (uint64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Index, nil
}

func (w *words) Apply(index uint64, entry []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.write != nil {
		if err := w.write(entry); err != nil {
			return err
		}
	}
	w.Index = index
	if entry != nil {
		w.Entries = append(w.Entries, string(entry))
	}
	return nil
}

func (w *words) Snapshot() ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return json.Marshal(w)
}

func (w *words) Restore(b []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Entries = nil
	return json.Unmarshal(b, w)
}

func (w *words) list() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.Entries)
}

// member is a process of a coordinator, as far as the consensus is concerned.
type member struct {
	t       testing.TB
	dir     string
	address string
	state   *words // outlives the process, as a file does
	release ergoflow.Release

	*Node
	server *grpc.Server
	cancel context.CancelFunc
	ended  chan error // of Run
	wire.UnimplementedCoordinatorsServer
}

func (m *member) Link(s wire.Coordinators_LinkServer) error { return m.Serve(s) }
func (m *member) Introduce(context.Context, *wire.CoordinatorRequest) (*wire.Coordinator, error) {
	return m.Describe()
}

func dial(address string) (*grpc.ClientConn, error) {
	return secure.Client(address, insecure.NewCredentials())
}

// start starts the process, which serves before it takes part.
func (m *member) start(peers ...string) {
	m.t.Helper()
	l, err := net.Listen("tcp", m.address)
	if err != nil {
		m.t.Fatal(err)
	}
	m.Node, err = Open(Config{Dir: m.dir, Peers: peers, Dial: dial, Election: time.Second, Release: m.release, Log: slog.New(slog.DiscardHandler)}, m.state)
	if err != nil {
		m.t.Fatal(err)
	}
	m.server = grpc.NewServer(grpc.WaitForHandlers(true))
	wire.RegisterCoordinatorsServer(m.server, m)
	go m.server.Serve(l)
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel, m.ended = cancel, make(chan error, 1)
	go func() { m.ended <- m.Run(ctx) }()
}

// stop ends the process and returns what Run did.
func (m *member) stop() error {
	m.server.Stop()
	m.cancel()
	err := <-m.ended
	if closed := m.Close(); closed != nil {
		m.t.Error(closed)
	}
	m.Node = nil
	return err
}

var firstRelease = ergoflow.Release{Version: "v1", Protocol: 1, OldestProtocol: 1}

// cluster starts n members.
func cluster(t testing.TB, n int) []*member {
	var list []*member
	var peers []string
	for range n {
		m := &member{t: t, dir: t.TempDir(), address: addresstest.Free(t), state: &words{}, release: firstRelease}
		list, peers = append(list, m), append(peers, m.address)
	}
	for _, m := range list {
		m.start(peers...)
		t.Cleanup(func() {
			if m.Node != nil {
				m.stop()
			}
		})
	}
	return list
}

// leader waits until one of the members leads.
func leader(t testing.TB, members ...*member) (*member, *Term) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	type found struct {
		m *member
		t *Term
	}
	first := make(chan found, len(members))
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer cancel()
	for _, m := range members {
		if m.Node == nil {
			continue
		}
		waiting.Go(func() {
			if term, err := m.AwaitTerm(ctx); err == nil {
				first <- found{m, term}
			}
		})
	}
	select {
	case f := <-first:
		return f.m, f.t
	case <-ctx.Done():
		t.Fatal("nobody leads")
		return nil, nil
	}
}

// until waits for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for !holds() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatal("it does not come to that: " + what)
		}
	}
}

func propose(t *testing.T, term *Term, entry string) {
	t.Helper()
	if err := term.Propose([]byte(entry)); err != nil {
		t.Fatal(err)
	}
}

func TestEveryMemberHasTheEntries(t *testing.T) {
	members := cluster(t, 3)
	_, term := leader(t, members...)
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprint("entry ", i))
		propose(t, term, want[i])
	}
	if err := term.Verify(); err != nil {
		t.Error(err)
	}
	for _, m := range members {
		until(t, "all entries at "+m.address, func() bool { return slices.Equal(m.state.list(), want) })
	}
}

func TestAnotherLeads(t *testing.T) {
	members := cluster(t, 3)
	first, term := leader(t, members...)
	propose(t, term, "before")
	first.stop()
	if err := term.Propose([]byte("too late")); !errors.Is(err, ErrDeposed) {
		t.Errorf("the old leader's proposal: %v", err)
	}
	second, later := leader(t, members...)
	if second == first || later.Number() <= term.Number() {
		t.Fatalf("term %d follows %d", later.Number(), term.Number())
	}
	propose(t, later, "after")
	first.start() // with its log; it needs no addresses
	until(t, "the old leader catches up", func() bool { return slices.Equal(first.state.list(), []string{"before", "after"}) })
}

// A restarted member applies no entry twice, though raft hands it the log again.
func TestRestartOfAll(t *testing.T) {
	members := cluster(t, 3)
	_, term := leader(t, members...)
	propose(t, term, "one")
	for _, m := range members {
		until(t, "one entry", func() bool { return len(m.state.list()) == 1 })
	}
	for _, m := range members {
		m.stop()
	}
	for _, m := range members {
		m.start()
	}
	_, term = leader(t, members...)
	propose(t, term, "two")
	for _, m := range members {
		until(t, "two entries", func() bool { return slices.Equal(m.state.list(), []string{"one", "two"}) })
	}
}

func TestNoMajority(t *testing.T) {
	members := cluster(t, 3)
	first, term := leader(t, members...)
	for _, m := range members {
		if m != first {
			m.stop()
		}
	}
	if err := term.Propose([]byte("alone")); !errors.Is(err, ErrDeposed) {
		t.Errorf("a proposal without a majority: %v", err)
	}
	if err := term.Verify(); !errors.Is(err, ErrDeposed) {
		t.Errorf("a verification without a majority: %v", err)
	}
}

// What a leader decided in an earlier term is void, also when it has become the leader again.
func TestEntryOfAnEarlierTerm(t *testing.T) {
	members := cluster(t, 3)
	m, term := leader(t, members...)
	f := m.raft.Apply(seal(term.number-1, []byte("stale")), proposalTimeout)
	if err := f.Error(); err != nil {
		t.Fatal(err)
	}
	if err, _ := f.Response().(error); !errors.Is(err, errOldTerm) {
		t.Errorf("an entry of an earlier term: %v", err)
	}
	propose(t, term, "fresh")
	for _, m := range members {
		until(t, "the other entry alone", func() bool { return slices.Equal(m.state.list(), []string{"fresh"}) })
	}
}

func TestMembersChange(t *testing.T) {
	members := cluster(t, 3)
	lead, term := leader(t, members...)
	propose(t, term, "early")
	more := &member{t: t, dir: t.TempDir(), address: addresstest.Free(t), state: &words{}, release: firstRelease}
	more.start(members[0].address, more.address)
	t.Cleanup(func() { more.stop() })
	until(t, "the newcomer answers", func() bool { return lead.Add(t.Context(), more.address) == nil })
	until(t, "the newcomer has the ledger", func() bool { return slices.Equal(more.state.list(), []string{"early"}) })
	if err := lead.Add(t.Context(), more.address); err != nil {
		t.Errorf("added again: %v", err)
	}
	var other *member
	for _, m := range members {
		if m != lead {
			other = m
		}
	}
	if err := lead.Remove(other.address); err != nil {
		t.Fatal(err)
	}
	until(t, "three members", func() bool { all, err := lead.Members(); return err == nil && len(all) == 3 })
	if err := lead.Remove("192.0.2.1:1"); !errors.Is(err, ErrNoCoordinator) {
		t.Errorf("a stranger removed: %v", err)
	}
	propose(t, term, "late")
	until(t, "the newcomer goes on", func() bool { return slices.Equal(more.state.list(), []string{"early", "late"}) })
}

// A member whose disk is full ends: its ledger would lack an entry.
func TestMemberThatCannotWrite(t *testing.T) {
	members := cluster(t, 3)
	lead, term := leader(t, members...)
	var broken *member
	for _, m := range members {
		if m != lead {
			broken = m
		}
	}
	full := errors.New("no room")
	broken.state.mu.Lock()
	broken.state.write = func([]byte) error { return full }
	broken.state.mu.Unlock()
	propose(t, term, "one")
	if err := <-broken.ended; !errors.Is(err, full) {
		t.Errorf("it ended with %v", err)
	}
	broken.ended <- nil // for stop
	propose(t, term, "two")
}

// A snapshot takes the place of the log's beginning, and brings a newcomer up to date.
func TestSnapshot(t *testing.T) {
	members := cluster(t, 3)
	lead, term := leader(t, members...)
	for i := range 5 {
		propose(t, term, fmt.Sprint(i))
	}
	if err := lead.raft.ReloadConfig(reloaded(lead)); err != nil {
		t.Fatal(err)
	}
	if err := lead.raft.Snapshot().Error(); err != nil {
		t.Fatal(err)
	}
	if first, err := lead.log.FirstIndex(); err != nil || first == 1 {
		t.Fatalf("the log begins at %d (%v)", first, err)
	}
	more := &member{t: t, dir: t.TempDir(), address: addresstest.Free(t), state: &words{}, release: firstRelease}
	more.start(lead.address, more.address)
	t.Cleanup(func() { more.stop() })
	until(t, "the newcomer answers", func() bool { return lead.Add(t.Context(), more.address) == nil })
	until(t, "the newcomer has the snapshot", func() bool { return len(more.state.list()) == 5 })
}
