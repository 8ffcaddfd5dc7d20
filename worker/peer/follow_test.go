package peer

import (
	"bytes"
	"context"
	"encoding/binary"
	"log/slog"
	"net"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/worker/replica"
	"github.com/ergoflow/ergoflow/worker/replica/replicatest"
)

// plain connects in plain text.
var plain = allreduce.NewServer(nil)

// serve serves a peer on a port of its own.
func serve(t testing.TB, peer wire.PeerServer) message.Member {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	wire.RegisterPeerServer(server, peer)
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		<-done
	})
	return message.Member{ID: "leader", DataAddress: l.Addr().String()}
}

// served serves a replica to peers.
func served(t *testing.T, r *replica.Replica) message.Member {
	return serve(t, &Server{Replica: func() *replica.Replica { return r }})
}

// over reports whether the task has ended.
func over(f *Following) bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// encoded is everything that a replica holds.
func encoded(t testing.TB, r *replica.Replica) (string, ergoflow.Generation) {
	t.Helper()
	st, g, err := r.State()
	if err != nil {
		t.Fatal(err)
	}
	st.Config = nil
	b, err := st.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(b), g
}

// A follower ends with the member's state, ledger and losses included: the updates
// before it began, those meanwhile, and the last ones.
func TestFollow(t *testing.T) {
	t.Run("every step", func(t *testing.T) { follows(t, 1) })
	t.Run("rounds", func(t *testing.T) { follows(t, 4, "training.sync_every=4", "training.steps=256") })
}

func follows(t *testing.T, apart ergoflow.Step, sets ...string) {
	t.Helper()
	leader, follower := replicatest.Open(t, sets...), replicatest.Open(t, sets...)
	replicatest.Advance(t, leader, 3, 5)
	replicatest.Advance(t, follower, 2, 7) // in an older generation
	marks := make(chan ergoflow.Mark, 100)
	var log bytes.Buffer
	following := Follow(t.Context(), plain, follower, served(t, leader), slog.New(slog.NewTextHandler(&log, nil)), func(m ergoflow.Mark) { marks <- m })
	if want := (ergoflow.Mark{Generation: 3, Step: 5 * apart}); <-marks != want {
		t.Error("the mark of the state is not reported")
	}
	for range 24 { // each after the follower has applied the one before
		replicatest.Advance(t, leader, 4, 1)
		if m := <-marks; m.Generation != 4 || m.Step != leader.Step() {
			t.Fatalf("at %s, the leader at step %d", m, leader.Step())
		}
	}
	replicatest.Advance(t, leader, 4, 2)
	leader.EndSubscriptions() // the generation ends while the last two are on their way
	following.Finish(t.Context())
	want, g := encoded(t, leader)
	if got, made := encoded(t, follower); got != want || made != g {
		t.Errorf("the follower ends at step %d, the leader at %d, or they differ", follower.Step(), leader.Step())
	}
	if !over(following) {
		t.Error("it still follows")
	}
	if !regexp.MustCompile(`msg="state received" from=leader bytes=\d+ took=\S+ rate="[\d.e+]+ MB/s"`).MatchString(log.String()) {
		t.Errorf("log: %s", &log)
	}
}

// A replica with a newer state keeps it.
func TestFollowKeepsWhatIsNewer(t *testing.T) {
	leader, follower := replicatest.Open(t), replicatest.Open(t)
	replicatest.Advance(t, leader, 3, 5)
	replicatest.Advance(t, follower, 4, 2)
	before, _ := encoded(t, follower)
	var log bytes.Buffer
	following := Follow(t.Context(), plain, follower, served(t, leader), slog.New(slog.NewTextHandler(&log, nil)), func(m ergoflow.Mark) { t.Errorf("reported %s", m) })
	following.Finish(t.Context())
	if after, _ := encoded(t, follower); after != before {
		t.Error("its state has changed")
	}
	if !strings.Contains(log.String(), "it is at step 5 of generation 3, this worker at step 2 of generation 4") {
		t.Errorf("log: %s", &log)
	}
}

// statePart, dataPart and updatePart make the messages of a stream: a state of so
// many bytes, bytes of a state or a sum, and an update that change has changed.
func statePart(made uint64, size int64) *wire.FollowPart {
	return &wire.FollowPart{Part: &wire.FollowPart_State{State: &wire.FollowState{Made: made, Size: size}}}
}

func dataPart(b []byte) *wire.FollowPart {
	return &wire.FollowPart{Part: &wire.FollowPart_Data{Data: b}}
}

func updatePart(r *replica.Replica, change func(*wire.FollowUpdate)) *wire.FollowPart {
	u := &wire.FollowUpdate{Generation: 9, Workers: []string{"a"}, Used: make([]int64, 2*r.Plan().Shards)}
	change(u)
	return &wire.FollowPart{Part: &wire.FollowPart_Update{Update: u}}
}

// A liar sends the given messages to its followers.
type liar struct {
	wire.UnimplementedPeerServer
	parts []*wire.FollowPart
}

func (l *liar) Follow(_ *wire.FollowRequest, stream wire.Peer_FollowServer) error {
	for _, p := range l.parts {
		if err := stream.Send(p); err != nil {
			return err
		}
	}
	return nil
}

// After invalid messages the replica has its old state or the complete new one, and
// the log has a warning.
func TestFollowLiar(t *testing.T) {
	follower := replicatest.Open(t)
	st, _, err := follower.State()
	if err != nil {
		t.Fatal(err)
	}
	good, err := st.Encode()
	if err != nil {
		t.Fatal(err)
	}
	size := follower.Size() + 2
	update := func(change func(*wire.FollowUpdate)) *wire.FollowPart { return updatePart(follower, change) }
	state := func(more ...*wire.FollowPart) []*wire.FollowPart {
		return append([]*wire.FollowPart{statePart(8, int64(len(good))), dataPart(good)}, more...)
	}
	notFinite, _ := binary.Append(nil, binary.LittleEndian, make([]float32, size)) // of no samples
	for name, parts := range map[string][]*wire.FollowPart{
		"nothing":                nil,
		"no state":               {dataPart(good)},
		"a huge state":           {statePart(8, 1<<60)},
		"a negative state":       {statePart(8, -1)},
		"a state that ends":      {statePart(8, int64(len(good))), dataPart(good[:100])},
		"a state that goes on":   {statePart(8, 100), dataPart(good)},
		"no safetensors":         {statePart(8, 100), dataPart(make([]byte, 100))},
		"an update in it":        {statePart(8, int64(len(good))), update(func(*wire.FollowUpdate) {})},
		"empty pieces":           {statePart(8, int64(len(good))), dataPart(nil)},
		"a second state":         state(statePart(9, 3)),
		"an update too late":     state(update(func(u *wire.FollowUpdate) { u.Step = 1 })),
		"an update too early":    state(update(func(u *wire.FollowUpdate) { u.Step = -1 })),
		"an account cut short":   state(update(func(u *wire.FollowUpdate) { u.Used = u.Used[1:] })),
		"no workers":             state(update(func(u *wire.FollowUpdate) { u.Workers = nil })),
		"a sum cut short":        state(update(func(*wire.FollowUpdate) {}), dataPart(make([]byte, 4*size-4))),
		"a sum that is too long": state(update(func(*wire.FollowUpdate) {}), dataPart(make([]byte, 4*size+4))),
		"a sum of nothing":       state(update(func(*wire.FollowUpdate) {}), dataPart(notFinite)),
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			if err := follower.Load(st, 0); err != nil {
				t.Fatal(err)
			}
			before, _ := encoded(t, follower)
			following := Follow(t.Context(), plain, follower, serve(t, &liar{parts: parts}), slog.New(slog.NewTextHandler(&log, nil)), func(ergoflow.Mark) {})
			following.Finish(t.Context())
			if after, _ := encoded(t, follower); !reflect.DeepEqual(after, before) {
				t.Error("the state has changed")
			}
			if !strings.Contains(log.String(), "cannot follow") {
				t.Errorf("no warning: %q", &log)
			}
		})
	}
}

// A worker with a new order stops following at once.
func TestFollowEndsWithItsWork(t *testing.T) {
	leader, follower := replicatest.Open(t), replicatest.Open(t)
	replicatest.Advance(t, leader, 3, 1)
	ctx, cancel := context.WithCancel(t.Context())
	following := Follow(ctx, plain, follower, served(t, leader), slog.New(slog.DiscardHandler), func(ergoflow.Mark) { cancel() })
	if !over(following) {
		t.Error("it still follows")
	}
}
