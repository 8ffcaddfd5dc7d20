package coordinator

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/convert"
	"github.com/ergoflow/ergoflow/coordinator/wire"
)

// saveStart uploads the start of a run.
func (s *server) saveStart(header *wire.CheckpointHeader, data []byte) error {
	s.t.Helper()
	stream, err := s.client.SaveStart(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	err = stream.Send(&wire.CheckpointPart{Part: &wire.CheckpointPart_Header{Header: header}})
	for len(data) > 0 && err == nil {
		n := min(len(data), partSize)
		err = stream.Send(&wire.CheckpointPart{Part: &wire.CheckpointPart_Data{Data: data[:n]}})
		data = data[n:]
	}
	_, err = stream.CloseAndRecv()
	return err
}

// warm is the plan of a run that begins from an earlier state.
func warm() *wire.Plan {
	p := proto.Clone(plan).(*wire.Plan)
	p.Start = "5f2c"
	return p
}

// takesStarts takes the state at step 0 of the plan's run.
func takesStarts(c *Config) {
	c.PlanOfStart = func(encoded []byte) (ergoflow.Plan, error) {
		if !bytes.Equal(encoded, stateAt(0)) {
			return ergoflow.Plan{}, errors.New("other parameters")
		}
		return convert.Plan(warm()), nil
	}
}

// A run that begins from an earlier state loads it at step 0, and continues from its own
// checkpoints after that.
func TestSaveStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeShards(t, dir, 0, 1, 2, 3, 4)
	s := startWith(t, dir, takesStarts)
	header := announce("", stateAt(0), 0)
	for range 2 { // it may be stored again
		if err := s.saveStart(header, stateAt(0)); err != nil {
			t.Fatal(err)
		}
	}
	a := connect(t, s, "a", -1)
	s.submit(warm(), wire.Stage_STAGE_TRAIN)
	st := s.await("the run is done", func(st Status) bool { return st.State == "done" })
	if st.Step != ergoflow.Step(plan.Steps) {
		t.Errorf("step %d", st.Step)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seen["*wire.CoordinatorMessage_Assign"] != 1 {
		t.Errorf("%v", a.seen)
	}
}

// Without its start such a run fails at once and says why. Submitted again with it, it begins.
func TestMissingStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeShards(t, dir, 0, 1)
	s := startWith(t, dir, takesStarts)
	s.submit(warm(), wire.Stage_STAGE_TRAIN)
	st := s.await("the run has failed", func(st Status) bool { return st.State == "failed" })
	if !strings.Contains(st.Failure, "the state from which it begins is missing (parameters 5f2c)") {
		t.Errorf("failure %q", st.Failure)
	}
	if err := s.saveStart(announce("", stateAt(0), 0), stateAt(0)); err != nil {
		t.Fatal(err)
	}
	makeShards(t, dir, 2, 3, 4)
	connect(t, s, "a", -1)
	s.submit(warm(), wire.Stage_STAGE_TRAIN)
	s.await("the run is done", func(st Status) bool { return st.State == "done" })
}

// Anything but the start of a run is refused, and has no effect.
func TestRefusedStarts(t *testing.T) {
	t.Parallel()
	s := startWith(t, t.TempDir(), takesStarts)
	good := stateAt(0)
	for name, c := range map[string]struct {
		header func(*wire.CheckpointHeader)
		data   []byte
		reason string
	}{
		"another state":      {func(*wire.CheckpointHeader) {}, stateAt(10), "other parameters"},
		"another run":        {func(h *wire.CheckpointHeader) { h.Run = "run2" }, good, `it is the start of run run1, not of run "run2"`},
		"a later step":       {func(h *wire.CheckpointHeader) { h.Step = 10 }, good, "step 10"},
		"a generation's":     {func(h *wire.CheckpointHeader) { h.Generation = 3 }, good, "generation 3"},
		"another hash":       {func(h *wire.CheckpointHeader) { h.Sha256[0]++ }, good, "announced was"},
		"another length":     {func(h *wire.CheckpointHeader) { h.Size++ }, good, "it ends after"},
		"more than it holds": {func(h *wire.CheckpointHeader) { h.Size = ergoflow.MaxState + 1 }, good, "bytes are not"},
	} {
		header := announce("", c.data, 0)
		c.header(header)
		if err := s.saveStart(header, c.data); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := download(t.Context(), s.client, &wire.LoadRequest{Run: plan.Run}); status.Code(err) != codes.NotFound {
		t.Errorf("a refused start is stored: %v", err)
	}
	if st := s.status(); len(st.Refused) == 0 {
		t.Error("the status lists no refusal")
	}

	deaf := start(t, t.TempDir())
	if err := deaf.saveStart(announce("", good, 0), good); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a coordinator that takes none: %v", err)
	}
}
