package conduct

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/progress"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/probe"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/internal/trust/secure"
)

// script is a coordinator that answers with one status after another, then with the last
// again and again.
type script struct {
	wire.ControlClient
	statuses []coordinator.Status
	next     int
}

func (s *script) Status(context.Context, *wire.StatusRequest, ...grpc.CallOption) (*wire.StatusReply, error) {
	b, err := json.Marshal(s.statuses[s.next])
	s.next = min(s.next+1, len(s.statuses)-1)
	return &wire.StatusReply{Json: b}, err
}

func running(run, state string) coordinator.Status {
	return coordinator.Status{Status: machine.Status{Run: run, Experiment: "vn1d/" + run, State: state, Steps: 64,
		Shards: machine.ShardStatus{Done: 5, Total: 5}}}
}

// TestFollowReplaced: another run in the place of the one that is followed is an error
// that names it.
func TestFollowReplaced(t *testing.T) {
	ours := running("ours", machine.StateTraining)
	for _, test := range []struct {
		next  coordinator.Status
		kind  error
		words []string
	}{
		{running("theirs", machine.StateTraining), ErrReplaced, []string{"ours", "theirs", "vn1d/theirs"}},
		{running("", machine.StateIdle), ErrForgotten, []string{"ours"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), restartPatience)
			defer cancel()
			c := Client{Control: &script{statuses: []coordinator.Status{ours, ours, test.next}}}
			_, err := c.follow(ctx, 0, Options{Plan: ergoflow.Plan{Run: "ours"}, Until: wire.Stage_STAGE_TRAIN, Out: os.Stderr}, nil)
			if !errors.Is(err, test.kind) {
				t.Fatalf("ended with %v, not %v", err, test.kind)
			}
			for _, word := range test.words {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q does not name %s", err, word)
				}
			}
		})
	}
}

// away is a coordinator that is restarted right after its first answer.
type away struct {
	script
	asked int
	said  string // what the call that it did not answer ended with
}

func (a *away) Runs(context.Context, *wire.RunsRequest, ...grpc.CallOption) (*wire.RunsReply, error) {
	if a.asked++; a.asked == 1 {
		return nil, status.Error(codes.Unavailable, a.said)
	}
	return &wire.RunsReply{Json: []byte(`[{"id": 7, "kind": "train", "state": "ended", "outcome": "done"}]`)}, nil
}

// TestFollowQueuedRestart: a coordinator that is away when it is asked for a run of its
// queue has not replaced the run. It may have been killed while a connection was made to it.
func TestFollowQueuedRestart(t *testing.T) {
	for _, said := range []string{
		"the coordinator ends",
		"connection error: desc = \"error reading server preface: EOF\"",
		"connection error: desc = \"transport: authentication handshake failed: " + secure.ErrEnded.Error() + "\"",
	} {
		synctest.Test(t, func(t *testing.T) {
			control := &away{script: script{statuses: []coordinator.Status{running("theirs", machine.StateTraining)}}, said: said}
			c := Client{Control: control}
			_, err := c.follow(t.Context(), 7, Options{Plan: ergoflow.Plan{Run: "ours"}, Until: wire.Stage_STAGE_TRAIN, Out: os.Stderr}, nil)
			if err != nil || control.asked != 2 {
				t.Errorf("%s: asked %d times for the run, then %v", said, control.asked, err)
			}
		})
	}
}

// TestFollowTrained: a run that was trained before the command began has no times. What the command
// waited for is not how long training took.
func TestFollowTrained(t *testing.T) {
	trained := running("ours", machine.StateDone)
	for want, statuses := range map[int][]coordinator.Status{
		0: {trained},
		2: {running("ours", machine.StateTraining), trained},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := Client{Control: &script{statuses: statuses}}
			r, err := c.follow(t.Context(), 0, Options{Plan: ergoflow.Plan{Run: "ours"}, Until: wire.Stage_STAGE_TRAIN, Out: os.Stderr}, nil)
			if err != nil || len(r.Stages) != want {
				t.Errorf("after %d statuses it has the times %v, %v", len(statuses), r.Stages, err)
			}
		})
	}
}

// stopped is what a command sees that somebody stops for an hour, by Ctrl-Z, while it asks a second
// time: meanwhile the coordinator has ended the connection.
type stopped struct {
	script
	asked int
	there bool // the coordinator answers afterwards
}

func (a *stopped) Status(ctx context.Context, r *wire.StatusRequest, o ...grpc.CallOption) (*wire.StatusReply, error) {
	if a.asked++; a.asked == 2 {
		time.Sleep(time.Hour) // on the bubble's clock, which takes no real time
	}
	if a.asked == 2 || a.asked > 2 && !a.there {
		return nil, status.Error(codes.Unavailable, "EOF")
	}
	return a.script.Status(ctx, r, o...)
}

// TestFollowStopped: a command that was stopped goes on. A coordinator that does not answer afterwards
// is given up after restartPatience.
func TestFollowStopped(t *testing.T) {
	for _, there := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ours := running("ours", machine.StateTraining)
			c := Client{Control: &stopped{script: script{statuses: []coordinator.Status{ours, running("ours", machine.StateDone)}}, there: there}}
			begin := time.Now()
			_, err := c.follow(t.Context(), 0, Options{Plan: ergoflow.Plan{Run: "ours"}, Until: wire.Stage_STAGE_TRAIN, Out: os.Stderr}, nil)
			took := time.Since(begin) - time.Hour
			if there && err != nil {
				t.Errorf("afterwards: %v", err)
			}
			if !there && (!errors.Is(err, ErrUnreachable) || took < restartPatience || took > restartPatience+2*statusEvery) {
				t.Errorf("ended %v afterwards with %v", took, err)
			}
		})
	}
}

// TestFailedKinds: the kind of a worker's error is found in the text of the failure.
func TestFailedKinds(t *testing.T) {
	f := follower{plan: ergoflow.Plan{Run: "ours"}}
	for _, kind := range []error{ErrFailed, shard.ErrCorrupt, simulate.ErrDiverged, probe.ErrDiverged, family.ErrNoEquation, syscall.ENOSPC} {
		if err := f.failed("shard 3: " + kind.Error()); !errors.Is(err, kind) || !errors.Is(err, ErrFailed) {
			t.Errorf("%v is not of the kind %v", err, kind)
		}
	}
}

// TestFollowWithoutWorkers: for a cluster without workers one line says how to join it;
// for a local one, which starts its own workers, none does.
func TestFollowWithoutWorkers(t *testing.T) {
	empty := running("ours", machine.StateGenerating)
	empty.Gossip = "10.0.0.1:7946"
	done := running("ours", machine.StateDone)
	waiting := slices.Repeat([]coordinator.Status{empty}, 100)
	joined := empty
	joined.Workers = []machine.WorkerStatus{{ID: "vm-1"}}
	for name, test := range map[string]struct {
		statuses []coordinator.Status
		local    *cluster
		lines    int
	}{
		"no workers":         {append(waiting, done), nil, 1},
		"some":               {append(slices.Repeat([]coordinator.Status{joined}, 100), done), nil, 0},
		"one leaves":         {append([]coordinator.Status{joined}, append(waiting, done)...), nil, 0},
		"own workers":        {append(waiting, done), &cluster{coordinator: &child{}, workers: []*child{{}}}, 0},
		"nothing left to do": {slices.Repeat([]coordinator.Status{done}, 2), nil, 0},
	} {
		out, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		synctest.Test(t, func(t *testing.T) {
			c := Client{Control: &script{statuses: test.statuses}}
			_, err = c.follow(t.Context(), 0, Options{Plan: ergoflow.Plan{Run: "ours"}, Until: wire.Stage_STAGE_TRAIN, Out: out}, test.local)
		})
		said, readErr := os.ReadFile(out.Name())
		if err != nil || readErr != nil || strings.Count(string(said), "ergoflow worker --join 10.0.0.1:7946\n") != test.lines {
			t.Errorf("%s: not %d times: %v\n%s", name, test.lines, err, said)
		}
	}
}

// TestFollowWaits: a run that waits says what for, once.
func TestFollowWaits(t *testing.T) {
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	f := follower{id: 7, plan: ergoflow.Plan{Run: "ours", Shards: 8}, bars: progress.Stages{Out: out}}
	other := queue.Run{ID: 3, State: queue.Running}
	ours := queue.Run{ID: 7, State: queue.Waiting, Workers: ergoflow.WorkerBounds{Min: 4}}
	for _, runs := range [][]queue.Run{{other, ours}, {other, ours}, {ours}, {ours}} {
		f.waits(coordinator.Status{Runs: runs, Status: machine.Status{Workers: make([]machine.WorkerStatus, 3)}})
	}
	said, err := os.ReadFile(out.Name())
	if got := strings.Split(strings.TrimSpace(string(said)), "\n"); err != nil || len(got) != 2 ||
		!strings.Contains(got[0], "1 before it") || !strings.Contains(got[1], "4 workers, and there are 3") {
		t.Errorf("it says %q, %v", got, err)
	}
}

func TestWhyEnded(t *testing.T) {
	decision := func(reason string) coordinator.Decision { return coordinator.Decision{Reason: reason} }
	full := make([]coordinator.Decision, coordinator.KeptDecisions)
	for name, test := range map[string]struct {
		decisions []coordinator.Decision
		want      string
	}{
		"told":           {[]coordinator.Decision{decision("b is lost; generation 3 ends: silent for 2 s; a, c stay"), decision("generation 4 makes step 7")}, "silent for 2 s"},
		"another":        {[]coordinator.Decision{decision("generation 2 ends: c left")}, "the coordinator was started again"},
		"long forgotten": {full, "generation 4 makes step 7"},
	} {
		st := coordinator.Status{Decisions: test.decisions}
		st.Reason = "generation 4 makes step 7"
		if got := whyEnded(st, 3); got != test.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
