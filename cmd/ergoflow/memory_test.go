package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/conduct"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/model/experiment"
)

// A coordinator with a thousand workers and ten thousand jobs stays below 256 MiB.
func TestCoordinatorMemory(t *testing.T) {
	needE2E(t)
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has the largest resident size of a process, in /proc")
	}
	const workers, jobs, most = 1000, 10_000, 256 << 20
	e, err := experiment.Load("vn1d", "full", "", []string{
		fmt.Sprintf("data.shards=%d", jobs), fmt.Sprintf("data.functions=%d", 2*jobs), fmt.Sprintf("training.batch_functions=%d", jobs)})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := e.Plan()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := start(t, dir, []string{"coordinator", "--dir", dir})
	c.until("a coordinator", func(coordinator.Status) bool { return true })
	addresses, err := coordinator.ReadAddresses(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	var told, pings atomic.Int64
	for i := range workers {
		conn, err := grpc.NewClient(addresses.Control, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		hello := &wire.Hello{Id: fmt.Sprintf("worker-%d", i), Protocol: ergoflow.Protocol, OldestProtocol: ergoflow.OldestProtocol, DataAddress: fmt.Sprintf("10.0.%d.%d:7071", i/250, i%250), Device: "go"}
		group.Go(func() {
			for ctx.Err() == nil { // a coordinator without processor time may count this worker as lost
				idle(ctx, wire.NewControlClient(conn), hello, &told, &pings)
			}
		})
	}
	c.until("a thousand workers", func(st coordinator.Status) bool { return len(st.Workers) == workers })
	client, err := conduct.Dial(conduct.Endpoint{Addr: addresses.Control})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Submit(ctx, plan, wire.Stage_STAGE_GENERATE, conduct.Submission{Replace: true}); err != nil {
		t.Fatal(err)
	}
	c.until("ten thousand jobs for a thousand workers", func(st coordinator.Status) bool {
		return st.State == machine.StateGenerating && st.Shards.Total == jobs+1 && told.Load() >= workers
	})
	before := pings.Load()
	c.until("five pings of each", func(coordinator.Status) bool { return pings.Load() >= before+5*workers })
	if got := largestResident(t, addresses.PID); got > most {
		t.Errorf("%d MiB, more than %d", got>>20, most>>20)
	} else {
		t.Logf("%d MiB", got>>20)
	}
}

// idle is a session of a worker that does nothing, until it ends.
func idle(ctx context.Context, control wire.ControlClient, hello *wire.Hello, told, pings *atomic.Int64) {
	stream, err := control.Session(ctx)
	if err != nil {
		return
	}
	if stream.Send(&wire.WorkerMessage{Body: &wire.WorkerMessage_Hello{Hello: hello}}) != nil {
		return
	}
	for n := uint64(1); ; {
		m, err := stream.Recv()
		if err != nil {
			return
		}
		switch m.Body.(type) {
		case *wire.CoordinatorMessage_Generate:
			told.Add(1)
		case *wire.CoordinatorMessage_Ping:
			pings.Add(1)
			beat := &wire.Heartbeat{Doing: "generating", Number: n}
			if stream.Send(&wire.WorkerMessage{Body: &wire.WorkerMessage_Heartbeat{Heartbeat: beat}}) != nil {
				return
			}
			n++
		}
	}
}

// largestResident is the largest resident size that a process has had, in bytes.
func largestResident(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.Atoi(strings.Fields(value)[0])
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatalf("no VmHWM in %s", b)
	return 0
}
