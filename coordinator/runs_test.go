package coordinator

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/coordinator/wire"
)

// named is the plan of another run of the same data.
func named(run string) *wire.Plan {
	p := proto.Clone(plan).(*wire.Plan)
	p.Run = run
	return p
}

// add submits a run to wait in the queue.
func (s *server) add(r *wire.SubmitRequest) uint64 {
	s.t.Helper()
	r.Protocol, r.OldestProtocol = ergoflow.Protocol, ergoflow.OldestProtocol
	r.Queue = true
	reply, err := s.client.Submit(s.t.Context(), r)
	if err != nil {
		s.t.Fatal(err)
	}
	return reply.Id
}

// shown is a run; it must be known.
func (s *server) shown(id uint64) (r queue.Run) {
	s.t.Helper()
	reply, err := s.client.Runs(s.t.Context(), &wire.RunsRequest{Id: id})
	if err != nil {
		s.t.Fatal(err)
	}
	var list []queue.Run
	if err := json.Unmarshal(reply.Json, &list); err != nil || len(list) != 1 {
		s.t.Fatal(len(list), err)
	}
	return list[0]
}

// awaitRun polls a run until it has the state, and if that is ended the outcome.
func (s *server) awaitRun(id uint64, state queue.State, outcome queue.Outcome) queue.Run {
	s.t.Helper()
	deadline := time.After(patience)
	for {
		r := s.shown(id)
		if r.State == state && r.Outcome == outcome {
			return r
		}
		select {
		case <-deadline:
			s.t.Fatalf("run %d: %+v, want %s %s", id, r, state, outcome)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (s *server) change(id uint64, action wire.ChangeRunRequest_Action) {
	s.t.Helper()
	if _, err := s.client.ChangeRun(s.t.Context(), &wire.ChangeRunRequest{Id: id, Action: action}); err != nil {
		s.t.Fatal(err)
	}
}

// Runs train one after the other with the same workers. A run that is cancelled while it
// trains leaves the workers to the next. A restart changes nothing of that.
func TestQueueOfRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeShards(t, dir, 0, 1, 2, 3, 4)
	s := start(t, dir)
	s.submit(plan, wire.Stage_STAGE_TRAIN)
	first := s.status().Runs[0]
	if first.State != queue.Running || first.Run != "run1" || first.Plan != nil {
		t.Errorf("run %+v", first)
	}
	_, err := s.client.Submit(t.Context(), &wire.SubmitRequest{Plan: named("run2"), Until: wire.Stage_STAGE_TRAIN, Protocol: ergoflow.Protocol, OldestProtocol: ergoflow.OldestProtocol})
	if status.Code(err) != codes.Aborted || !strings.Contains(err.Error(), "run run1 (vn1d/test) is not finished: step") {
		t.Errorf("without queue: %v", err)
	}
	second := s.add(&wire.SubmitRequest{Plan: named("run2"), Until: wire.Stage_STAGE_TRAIN})
	third := s.add(&wire.SubmitRequest{Plan: named("run3"), Until: wire.Stage_STAGE_TRAIN})
	if again := s.add(&wire.SubmitRequest{Plan: named("run3"), Until: wire.Stage_STAGE_TRAIN}); again != third {
		t.Errorf("submitted again it is run %d, not %d", again, third)
	}
	s.change(third, wire.ChangeRunRequest_ACTION_FIRST)
	connect(t, s, "a", -1)
	s.await("training", func(st Status) bool { return st.Step >= 1 })
	s.change(uint64(first.ID), wire.ChangeRunRequest_ACTION_CANCEL)
	s.awaitRun(uint64(first.ID), queue.Ended, queue.Cancelled)
	s.await("the next one trains", func(st Status) bool { return st.Run == "run3" && st.Step >= 1 })
	s.close()

	s = start(t, dir)
	s.awaitRun(third, queue.Running, "")
	s.awaitRun(second, queue.Waiting, "")
	connect(t, s, "b", -1)
	s.awaitRun(third, queue.Ended, queue.Done)
	s.awaitRun(second, queue.Ended, queue.Done)
	if st := s.status(); st.Run != "run2" || st.State != machine.StateDone {
		t.Errorf("status %s of %s", st.State, st.Run)
	}
}

// A coordinator's ledger of an earlier version has a run, and no queue.
func TestLedgerWithoutQueue(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeLedger(t, dir)
	s := start(t, dir)
	r := s.awaitRun(1, queue.Running, "")
	if want := *exampleLedger(1).Plan; r.Run != want.Run || r.Kind != queue.Train || s.status().Run != want.Run {
		t.Errorf("run %+v", r)
	}
	s.close()
	if warning, err := VerifyLedger(dir); warning != "" || err != nil {
		t.Errorf("verified: %q, %v", warning, err)
	}
	s = start(t, dir) // it is adopted once
	if runs := s.status().Runs; len(runs) != 1 {
		t.Errorf("runs %+v", runs)
	}
}

// shell makes a shell script stand in for `ergoflow retrain`. It sees the run's number as
// ERGOFLOW_RUN, and its attempt.
func shell(script string) func(*Config) {
	return func(c *Config) {
		c.Retrainer = func(ctx context.Context, r queue.Run) *exec.Cmd {
			return exec.CommandContext(ctx, "sh", "-c", script, "sh", r.Config, r.Schedule, fmt.Sprint(r.Attempt))
		}
	}
}

func (s *server) schedule(config string) {
	s.t.Helper()
	_, err := s.client.AddSchedule(s.t.Context(), &wire.AddScheduleRequest{Name: "yearly", Spec: "@yearly", Config: config})
	if err != nil {
		s.t.Fatal(err)
	}
}

// runNow starts a run of the schedule.
func (s *server) runNow() uint64 {
	s.t.Helper()
	reply, err := s.client.ChangeSchedule(s.t.Context(), &wire.ChangeScheduleRequest{Name: "yearly", Action: wire.ChangeScheduleRequest_ACTION_RUN})
	if err != nil {
		s.t.Fatal(err)
	}
	return reply.Id
}

// What the exit code of a retraining means for its run, and what its log says.
func TestRetrainingEnds(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]struct {
		outcome queue.Outcome
		reason  string
	}{
		"exit 0":  {queue.Done, ""},
		"exit 10": {queue.Done, "the champion stays"},
		"exit 13": {queue.Skipped, "another retraining"},
		"echo ergoflow: the disk is full >&2; echo hint: free space >&2; exit 1": {queue.Failed, "code 1: the disk is full"},
	} {
		dir := t.TempDir()
		s := startWith(t, dir, shell("echo $1 $2 run $ERGOFLOW_RUN supervised $ERGOFLOW_SUPERVISED; "+code))
		s.schedule("/etc/retrain.yaml")
		r := s.awaitRun(s.runNow(), queue.Ended, want.outcome)
		if !strings.Contains(r.Reason, want.reason) {
			t.Errorf("%s: reason %q", code, r.Reason)
		}
		log, err := os.ReadFile(filepath.Join(dir, "logs", fmt.Sprintf("run-%d.log", r.ID)))
		if err != nil || !strings.HasPrefix(string(log), "/etc/retrain.yaml yearly run 1 supervised 1\n") {
			t.Errorf("%s: log %q, %v", code, log, err)
		}
		s.close()
	}
}

// An attempt that ends without an error line has none of an earlier attempt.
func TestLastErrorOfAttempt(t *testing.T) {
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	const first, second = "ergoflow: the disk is full\n", "training\nergoflow: no such file\nhint: give one\n"
	if _, err := log.WriteString(first + second); err != nil {
		t.Fatal(err)
	}
	for begin, want := range map[int]string{0: "no such file", len(first): "no such file", len(first + second): ""} {
		if said := lastError(log, int64(begin)); said != want {
			t.Errorf("from %d: %q, want %q", begin, said, want)
		}
	}
}

// A coordinator that ends tells the process of a retraining to end. Started again it starts
// that process again, and the run goes on.
func TestRetrainingContinues(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	marks := t.TempDir()
	// The first attempt ends when it is told to, the second by itself.
	script := fmt.Sprintf(`trap 'echo told >%[1]s/told; exit 130' TERM; touch %[1]s/attempt-$3; [ $3 = 1 ] || exit 0; while :; do read line; done`, marks)
	s := startWith(t, dir, shell(script))
	s.schedule("/etc/retrain.yaml")
	id := s.runNow()
	s.awaitRun(id, queue.Running, "")
	awaitFile(t, filepath.Join(marks, "attempt-1"))
	s.close()
	awaitFile(t, filepath.Join(marks, "told"))
	s = startWith(t, dir, shell(script))
	if r := s.awaitRun(id, queue.Ended, queue.Done); r.Attempt != 2 || r.Crashes != 0 {
		t.Errorf("run %+v", r)
	}
}

// Cancelling a retraining ends its process, and the run that it has submitted.
func TestCancelledRetraining(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startWith(t, dir, shell("exec sleep 1000"))
	s.schedule("/etc/retrain.yaml")
	id := s.runNow()
	s.awaitRun(id, queue.Running, "")
	child := s.add(&wire.SubmitRequest{Plan: plan, Until: wire.Stage_STAGE_TRAIN, Parent: id})
	s.awaitRun(child, queue.Running, "")
	s.change(id, wire.ChangeRunRequest_ACTION_CANCEL)
	s.awaitRun(id, queue.Ended, queue.Cancelled)
	s.awaitRun(child, queue.Ended, queue.Cancelled)
	if st := s.status(); st.State != machine.StateIdle {
		t.Errorf("state %s", st.State)
	}
}

func awaitFile(t *testing.T, path string) {
	t.Helper()
	deadline := time.After(patience)
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%s does not appear", path)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Schedules survive a restart, and bad ones are refused.
func TestSchedules(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, dir)
	s.schedule("/etc/retrain.yaml")
	for want, r := range map[string]*wire.AddScheduleRequest{
		"never":                {Name: "x", Spec: "0 0 30 2 *", Config: "/c.yaml"},
		"not an absolute path": {Name: "x", Spec: "@daily", Config: "c.yaml"},
		"other settings":       {Name: "yearly", Spec: "@daily", Config: "/etc/retrain.yaml"},
		"overlap":              {Name: "x", Spec: "@daily", Config: "/c.yaml", Overlap: "both"},
		"the name":             {Name: strings.Repeat("x", 100), Spec: "@daily", Config: "/c.yaml"},
	} {
		if _, err := s.client.AddSchedule(t.Context(), r); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	_, err := s.client.ChangeSchedule(t.Context(), &wire.ChangeScheduleRequest{Name: "yearly", Action: wire.ChangeScheduleRequest_ACTION_PAUSE})
	if err != nil {
		t.Fatal(err)
	}
	s.close()
	s = start(t, dir)
	reply, err := s.client.Schedules(t.Context(), &wire.SchedulesRequest{Next: 5})
	if err != nil {
		t.Fatal(err)
	}
	var list []queue.ScheduleStatus
	if err := json.Unmarshal(reply.Json, &list); err != nil || len(list) != 1 || !list[0].Paused || list[0].Config != "/etc/retrain.yaml" {
		t.Errorf("schedules %s, %v", reply.Json, err)
	}
	if _, err := s.client.Schedules(t.Context(), &wire.SchedulesRequest{Name: "unknown"}); status.Code(err) != codes.NotFound {
		t.Errorf("list an unknown one: %v", err)
	}
	_, err = s.client.ChangeSchedule(t.Context(), &wire.ChangeScheduleRequest{Name: "unknown", Action: wire.ChangeScheduleRequest_ACTION_RUN})
	if status.Code(err) != codes.NotFound {
		t.Errorf("run an unknown one: %v", err)
	}
}
