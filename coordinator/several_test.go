package coordinator

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/coordinator/consensus"
	"github.com/ergoflow/ergoflow/coordinator/leader"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/addresstest"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/secure"
)

// several starts n coordinators of one cluster, with a directory of shards.
func several(t *testing.T, n int) []*server {
	t.Helper()
	return severalWith(t, n, filepath.Join(t.TempDir(), "shards"), func(*Config) {})
}

// severalWith starts them with a store, and changes their configurations.
func severalWith(t *testing.T, n int, store string, change func(*Config)) []*server {
	t.Helper()
	var peers []string
	for range n {
		peers = append(peers, addresstest.Free(t))
	}
	var list []*server
	for _, address := range peers {
		list = append(list, startMemberWith(t, t.TempDir(), store, address, peers, change))
	}
	return list
}

func startMember(t *testing.T, dir, store, address string, peers []string) *server {
	t.Helper()
	return startMemberWith(t, dir, store, address, peers, func(*Config) {})
}

func startMemberWith(t *testing.T, dir, store, address string, peers []string, change func(*Config)) *server {
	t.Helper()
	s := startWith(t, dir, func(c *Config) {
		c.Listen, c.Peers, c.Store, c.election = address, peers, store, 2*time.Second
		change(c)
	})
	s.store = store
	return s
}

// train has a worker train the plan, whose shards are there.
func (s *server) train() *fake {
	s.t.Helper()
	makeShards(s.t, filepath.Dir(s.store), 0, 1, 2, 3, 4)
	s.submit(plan, wire.Stage_STAGE_TRAIN)
	return connect(s.t, s, "a", -1)
}

// coordinators is what a coordinator says of all.
func (s *server) coordinators() (c Coordinators) {
	s.t.Helper()
	reply, err := wire.NewCoordinatorsClient(s.conn).List(s.t.Context(), &wire.ListCoordinatorsRequest{})
	if err == nil {
		err = json.Unmarshal(reply.GetJson(), &c)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// leading waits until one of the servers leads, and conducts runs.
func leading(t *testing.T, list ...*server) *server {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(patience); ; {
		for _, s := range list {
			if s.conn == nil {
				continue
			}
			if _, err := s.client.Status(t.Context(), &wire.StatusRequest{}); err == nil {
				return s
			}
		}
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatal("nobody leads")
		}
	}
}

// A run goes on under another coordinator: with its generations, its state, its queue and its
// checkpoints.
func TestAnotherCoordinatorLeads(t *testing.T) {
	t.Parallel()
	list := several(t, 3)
	first := leading(t, list...)
	a := first.train()
	before := first.await("a checkpoint", func(st Status) bool { return st.Step >= 12 && st.Checkpoint != nil })
	for _, s := range list {
		if s == first {
			continue
		}
		_, err := s.client.Status(t.Context(), &wire.StatusRequest{})
		if leader, not := wire.Leader(err); !not || leader != first.Control {
			t.Errorf("%s says %v, %s leads", s.Control, err, first.Control)
		}
		// The leader answers once a majority has the checkpoint: the third may have it a little later.
		if c := s.coordinators(); c.Leader != first.Control || len(c.Members) != 3 {
			t.Errorf("%s says %+v", s.Control, c)
		}
	}
	a.kill()
	first.close()

	second := leading(t, list...)
	if second == first {
		t.Fatal("the same leads")
	}
	b := connect(t, second, "b", -1) // loads the checkpoint and checks it
	after := second.await("training again", func(st Status) bool { return st.State == "training" && st.Step > 10 })
	if after.Generation <= before.Generation || len(after.Runs) != 1 || after.Runs[0].ID != 1 {
		t.Errorf("generation %d after %d, runs %+v", after.Generation, before.Generation, after.Runs)
	}
	second.await("the end", func(st Status) bool { return st.State == "done" })
	b.kill()

	// The one that was away comes back, and has what it missed.
	peers := []string{list[0].Control, list[1].Control, list[2].Control}
	again := startMember(t, first.dir, second.store, first.Control, peers)
	until(t, "it has the ledger", func() bool {
		c := second.coordinators()
		for _, m := range c.Members {
			if m.Applied != c.Applied {
				return false
			}
		}
		return true
	})
	second.close()
	third := leading(t, again, list[0], list[1], list[2])
	if st := third.status(); st.State != "done" || st.Runs[0].ID != 1 {
		t.Errorf("it says %+v", st)
	}
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(patience); !holds(); {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatal("it does not come to that: " + what)
		}
	}
}

// The ledger of a coordinator that was alone becomes that of the cluster.
func TestOneBecomesSeveral(t *testing.T) {
	t.Parallel()
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	peers := []string{addresstest.Free(t), addresstest.Free(t), addresstest.Free(t)}
	store := filepath.Join(t.TempDir(), "shards")
	alone := startWith(t, dirs[2], func(c *Config) { c.Listen, c.Store = peers[2], store })
	alone.submit(plan, wire.Stage_STAGE_TRAIN)
	alone.close()
	var list []*server
	for i, dir := range dirs {
		list = append(list, startMember(t, dir, store, peers[i], peers))
	}
	lead := leading(t, list...)
	if c := lead.status(); len(c.Runs) != 1 || c.Run != plan.Run {
		t.Errorf("it conducts %+v", c.Runs)
	}
	until(t, "all are members, with its ledger", func() bool {
		c := lead.coordinators()
		for _, m := range c.Members {
			if m.Applied != c.Applied {
				return false
			}
		}
		return len(c.Members) == 3
	})
}

// Without a majority no coordinator accepts anything, nor keeps workers.
func TestNoMajorityOfCoordinators(t *testing.T) {
	t.Parallel()
	list := several(t, 3)
	first := leading(t, list...)
	a := connect(t, first, "a", -1)
	for _, s := range list {
		if s != first {
			s.close()
		}
	}
	<-a.done // its session ends
	_, err := first.client.Submit(t.Context(), &wire.SubmitRequest{Plan: plan, Until: wire.Stage_STAGE_TRAIN})
	if _, not := wire.Leader(err); !not || status.Code(err) != codes.Unavailable {
		t.Errorf("a submission without a majority: %v", err)
	}
}

// A checkpoint that is stored is at a majority, and the next leader has it before it decides.
func TestCheckpointsAreCopied(t *testing.T) {
	t.Parallel()
	list := several(t, 3)
	first := leading(t, list...)
	a := first.train()
	first.await("a checkpoint", func(st Status) bool { return st.Checkpoint != nil })
	a.kill()
	var dirs []string
	for _, s := range list {
		dirs = append(dirs, s.dir)
		s.close()
	}
	have := 0
	for _, dir := range dirs {
		saved, err := checkpoint.Open(CheckpointPath(dir), true)
		if err != nil {
			t.Fatal(err)
		}
		if all, err := saved.Run(plan.Run); err == nil && len(all) > 0 {
			have++
		}
		saved.Close()
	}
	if have < 2 {
		t.Errorf("%d of 3 coordinators have a checkpoint", have)
	}
}

// An old copy of a directory takes no part: what it has promised since is lost.
func TestOldCopyOfACoordinator(t *testing.T) {
	t.Parallel()
	list := several(t, 3)
	lead := leading(t, list...)
	var follower *server
	for _, s := range list {
		if s != lead {
			follower = s
		}
	}
	peers := []string{list[0].Control, list[1].Control, list[2].Control}
	noted := func() uint64 {
		reply, err := wire.NewCoordinatorsClient(lead.conn).Introduce(t.Context(), &wire.CoordinatorRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range reply.GetMembers() {
			if m.GetAddress() == follower.Control {
				return m.GetStarts()
			}
		}
		return 0
	}
	until(t, "its first start is in the ledger", func() bool { return noted() == 1 })
	follower.close()
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(follower.dir)); err != nil {
		t.Fatal(err)
	}
	again := startMember(t, follower.dir, follower.store, follower.Control, peers)
	until(t, "its second start is in the ledger", func() bool { return noted() == 2 })
	again.close()
	err := Run(t.Context(), Config{Dir: copied, Listen: follower.Control, Peers: peers, Store: follower.store, Log: slog.New(slog.DiscardHandler)})
	if !errors.Is(err, consensus.ErrOldCopy) {
		t.Errorf("an old copy: %v", err)
	}
}

// A lost disk is no disk: the coordinator is removed, and added again with an empty directory.
func TestLostDiskOfACoordinator(t *testing.T) {
	t.Parallel()
	list := several(t, 3)
	lead := leading(t, list...)
	lead.submit(plan, wire.Stage_STAGE_TRAIN)
	var lost *server
	for _, s := range list {
		if s != lead {
			lost = s
		}
	}
	peers := []string{list[0].Control, list[1].Control, list[2].Control}
	lost.close()
	err := Run(t.Context(), Config{Dir: t.TempDir(), Listen: lost.Control, Peers: peers, Store: lost.store, Log: slog.New(slog.DiscardHandler)})
	if !errors.Is(err, consensus.ErrReplaced) {
		t.Errorf("with an empty directory: %v", err)
	}
	change := func(r *wire.ChangeCoordinatorsRequest) error {
		_, err := wire.NewCoordinatorsClient(lead.conn).Change(t.Context(), r)
		return err
	}
	if err := change(&wire.ChangeCoordinatorsRequest{Remove: lost.Control}); err != nil {
		t.Fatal(err)
	}
	again := startMember(t, t.TempDir(), lost.store, lost.Control, peers)
	until(t, "it is added", func() bool { return change(&wire.ChangeCoordinatorsRequest{Add: lost.Control}) == nil })
	until(t, "it has the ledger", func() bool {
		c := again.coordinators()
		return len(c.Members) == 3 && c.Leader == lead.Control && c.Applied > 0 && c.Applied == lead.coordinators().Applied
	})
}

// Where the majority is lost for ever, one goes on alone, and says what it has.
func TestRecover(t *testing.T) {
	t.Parallel()
	list := several(t, 3)
	lead := leading(t, list...)
	lead.submit(plan, wire.Stage_STAGE_TRAIN)
	log := slog.New(slog.DiscardHandler)
	var others []string
	var rest []*server
	for _, s := range list {
		if s != lead {
			others, rest = append(others, s.Control), append(rest, s)
		}
	}
	rest[0].close()
	until(t, "one has the run", func() bool { return lead.coordinators().Applied > 0 })
	lead.close()
	if _, err := Recover(t.Context(), lead.dir, others, log); !errors.Is(err, consensus.ErrNotLost) {
		t.Errorf("while another answers: %v", err)
	}
	rest[1].close()
	if _, err := Recover(t.Context(), lead.dir, others[:1], log); !errors.Is(err, consensus.ErrNotLost) {
		t.Errorf("with one name of two: %v", err)
	}
	if applied, err := Recover(t.Context(), lead.dir, others, log); err != nil || applied == 0 {
		t.Fatalf("%d entries, %v", applied, err)
	}
	if err := Run(t.Context(), Config{Dir: lead.dir, Store: lead.store, Log: log}); !errors.Is(err, ErrOneOfSeveral) {
		t.Errorf("without the addresses: %v", err)
	}
	alone := startMember(t, lead.dir, lead.store, lead.Control, []string{lead.Control})
	if st := leading(t, alone).status(); len(st.Runs) != 1 || len(alone.coordinators().Members) != 1 {
		t.Errorf("it says %+v", st.Runs)
	}
	if _, err := Recover(t.Context(), t.TempDir(), others, log); !errors.Is(err, consensus.ErrNoCluster) {
		t.Errorf("a directory of no cluster: %v", err)
	}
}

// Secured coordinators have one authority. They gossip with the key of the one that leads, trust
// one another, and tokens that one has made count at the next.
func TestSecuredCoordinators(t *testing.T) {
	t.Parallel()
	first := t.TempDir()
	if _, err := trust.CreateAuthority(t.Context(), filepath.Join(first, authorityDir), clusterName, time.Now()); err != nil {
		t.Fatal(err)
	}
	dirs, peers := []string{first, t.TempDir(), t.TempDir()}, []string{addresstest.Free(t), addresstest.Free(t), addresstest.Free(t)}
	store := filepath.Join(t.TempDir(), "shards")
	var list []*server
	for i, dir := range dirs {
		if i > 0 {
			if err := os.CopyFS(filepath.Join(dir, authorityDir), os.DirFS(filepath.Join(first, authorityDir))); err != nil {
				t.Fatal(err)
			}
		}
		list = append(list, startMember(t, dir, store, peers[i], peers))
	}
	clients := make([]wire.ControlClient, len(list))
	for i, s := range list {
		operator, err := trust.OpenCredentials(OperatorDir(s.dir))
		if err != nil {
			t.Fatal(err)
		}
		conn, err := leader.Dial(s.Control, secure.Dial(operator, trust.Coordinator))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		clients[i] = wire.NewControlClient(conn)
	}
	tokens := func(i int) string {
		reply, err := clients[i].Tokens(t.Context(), &wire.TokensRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return string(reply.GetJson())
	}
	until(t, "the first token", func() bool { return tokens(0) != "[]" })
	had := tokens(0)
	until(t, "all gossip with one key", func() bool {
		one, err := os.ReadFile(filepath.Join(dirs[0], gossipFile))
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range dirs[1:] {
			if other, err := os.ReadFile(filepath.Join(dir, gossipFile)); err != nil || !bytes.Equal(one, other) {
				return false
			}
		}
		return true
	})
	left := 0
	for i, s := range list {
		if st, err := clients[0].Status(t.Context(), &wire.StatusRequest{}); err != nil {
			t.Fatal(err)
		} else if strings.Contains(string(st.GetJson()), s.Gossip) { // it leads
			s.conn.Close()
			s.conn = nil
			s.stop()
			if err := <-s.ended; err != nil {
				t.Error(err)
			}
			left = (i + 1) % len(list)
			break
		}
	}
	if now := tokens(left); now != had {
		t.Errorf("tokens %s, then %s", had, now)
	}
}

// Each of several coordinators would make an authority of its own.
func TestCoordinatorsWithoutOneAuthority(t *testing.T) {
	err := Run(t.Context(), Config{Dir: t.TempDir(), Store: t.TempDir(), Listen: "0.0.0.0:0", Peers: []string{"192.0.2.1:1", "192.0.2.2:1"}, Log: slog.New(slog.DiscardHandler)})
	if !errors.Is(err, ErrOneAuthority) {
		t.Errorf("%v", err)
	}
}

// A coordinator whose retraining takes its time to end has another one lead meanwhile.
func TestSlowEndOfATerm(t *testing.T) {
	t.Parallel()
	marks := t.TempDir()
	script := fmt.Sprintf(`trap '' TERM; echo $$ >%[1]s/pid; touch %[1]s/begun; until [ -e %[1]s/release ]; do sleep 0.1; done`, marks)
	peers := []string{addresstest.Free(t), addresstest.Free(t), addresstest.Free(t)}
	store := t.TempDir()
	var list, others []*server
	for _, address := range peers {
		list = append(list, startMemberWith(t, t.TempDir(), store, address, peers, shell(script)))
	}
	release := func() {
		if err := os.WriteFile(filepath.Join(marks, "release"), nil, 0o600); err != nil {
			t.Error(err)
		}
	}
	defer release()
	first := leading(t, list...)
	first.schedule("/etc/retrain.yaml")
	first.runNow()
	awaitFile(t, filepath.Join(marks, "begun"))
	first.stop()
	for _, s := range list {
		if s != first {
			others = append(others, s)
		}
	}
	leading(t, others...)
	text, err := os.ReadFile(filepath.Join(marks, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Errorf("another leads only after the first one's retraining has ended: %v", err)
	}
}
