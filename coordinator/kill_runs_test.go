package coordinator

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/coordinator/wire"
)

// A coordinator that is killed again and again, while runs are submitted, begin and end,
// loses none that it has accepted, and ends each of them once: the ledgers of the queue and
// of the workers' machine agree again after every start.
func TestKilledQueue(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeShards(t, dir, 0, 1, 2, 3, 4) // generation ends at once
	random := rand.New(rand.NewPCG(1, 2))
	accepted := map[uint64]string{} // hashes by number
	const kills = 12
	for n := range kills {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), childDir+"="+dir)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		s := &server{t: t, dir: dir}
		if err := json.NewDecoder(out).Decode(&s.Addresses); err != nil {
			t.Fatalf("start %d: %v", n, err)
		}
		s.dial()
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(20+random.IntN(200))*time.Millisecond)
		for i := 0; ctx.Err() == nil; i++ {
			hash := fmt.Sprintf("run-%d-%d", n, i)
			reply, err := s.client.Submit(ctx, &wire.SubmitRequest{Plan: named(hash), Until: wire.Stage_STAGE_GENERATE, Queue: true, Protocol: ergoflow.Protocol, OldestProtocol: ergoflow.OldestProtocol})
			if err == nil {
				if other := accepted[reply.Id]; other != "" {
					t.Errorf("number %d is of %s and %s", reply.Id, other, hash)
				}
				accepted[reply.Id] = hash
			}
		}
		cancel()
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		if err := s.conn.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(accepted) < kills {
		t.Fatalf("only %d runs were accepted", len(accepted))
	}
	s := start(t, dir)
	for id, hash := range accepted {
		if r := s.awaitRun(id, queue.Ended, queue.Done); r.Run != hash || r.Attempt != 1 {
			t.Errorf("run %d: %+v, want %s in one attempt", id, r, hash)
		}
	}
	s.close()
	if warning, err := VerifyLedger(dir); warning != "" || err != nil {
		t.Errorf("verified: %q, %v", warning, err)
	}
	t.Logf("%d runs over %d kills", len(accepted), kills)
}
