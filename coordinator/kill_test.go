package coordinator

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"testing"

	"github.com/ergoflow/ergoflow/coordinator/wire"
)

// childDir tells the test binary to be a coordinator on a directory.
const childDir = "COORDINATOR_TEST_DIR"

func child(dir string) {
	err := Run(context.Background(), Config{Dir: dir, Log: slog.New(slog.DiscardHandler), Ready: func(a Addresses) {
		b, err := json.Marshal(a)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s\n", b)
	}})
	if err != nil {
		panic(err)
	}
}

// A coordinator killed in the middle of training loses nothing that any worker was told:
// the next one continues with a higher generation, at the same addresses, from the
// workers' state.
func TestKilledCoordinator(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeShards(t, dir, 0, 1, 2, 3, 4)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatalf("the child said nothing: %v", lines.Err())
	}
	first := &server{t: t, dir: dir}
	if err := json.Unmarshal(lines.Bytes(), &first.Addresses); err != nil {
		t.Fatal(err)
	}
	first.dial()
	first.submit(plan, wire.Stage_STAGE_TRAIN)
	a := connect(t, first, "a", -1)
	before := first.await("training", func(st Status) bool { return st.Step >= 2 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the child was not killed")
	}
	<-a.done // its stream broke; the state stays
	if err := first.conn.Close(); err != nil {
		t.Fatal(err)
	}
	second := start(t, dir)
	if second.Control != first.Control || second.Gossip != first.Gossip {
		t.Errorf("moved from %+v to %+v", first.Addresses, second.Addresses)
	}
	connect(t, second, "a", a.step)
	after := second.await("training again", func(st Status) bool { return st.State == "training" })
	if after.Generation <= before.Generation || int64(after.Step) < a.step {
		t.Errorf("generation %d at step %d after %d at %d", after.Generation, after.Step, before.Generation, a.step)
	}
}
