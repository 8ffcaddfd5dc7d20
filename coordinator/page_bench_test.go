package coordinator

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// train has so many workers make twenty steps of a run.
func (l *loop) train(workers int) {
	now := time.Now()
	const steps = 20
	var running bool
	var generation ergoflow.Generation
	step := func(e machine.Event) {
		pending := []machine.Event{e}
		for len(pending) > 0 {
			now = now.Add(time.Microsecond)
			effects, _ := l.fleet.Step(now, pending[0])
			pending = pending[1:]
			for _, effect := range effects {
				send, ok := effect.Effect.(machine.Send)
				answer := func(m message.FromWorker) {
					pending = append(pending, machine.Received{Session: send.Session, Message: m})
				}
				if !ok {
					continue
				}
				switch m := send.Message.(type) {
				case message.Prepare:
					answer(message.Prepared{Run: m.Plan.Run, Number: m.Number})
				case message.Form:
					answer(message.Report{Generation: m.Generation, Hash: "h"})
				case message.Assign:
					answer(message.Ready{Generation: m.Generation})
				case message.Go:
					running, generation = true, m.Generation
				}
			}
		}
	}
	present := make([]int, workers+1)
	for k := range present {
		present[k] = k
	}
	step(machine.Start{})
	step(machine.Submit{Plan: ergoflow.Plan{Run: "r", Experiment: "e", Dataset: "d", Shards: workers, Steps: 100_000, CheckpointEvery: 1000}, Until: machine.StageTrain, Entry: 1})
	for i := range workers {
		step(machine.Opened{Session: machine.Session(i + 1), Hello: message.Hello{Worker: message.Worker{ID: ergoflow.WorkerID(fmt.Sprintf("host-%04d-7072-5e1f09c4", i)),
			DataAddress: fmt.Sprintf("10.0.%d.%d:7080", i/250, i%250), Device: "xla:cpu"}}})
	}
	step(machine.Scanned{Run: "r", Present: present})
	if !running {
		panic("no generation runs")
	}
	for s := range ergoflow.Step(steps) {
		for i := range workers {
			now = now.Add(time.Millisecond / time.Duration(workers))
			step(machine.Received{Session: machine.Session(i + 1), Message: message.Progress{Generation: generation, Step: s + 1, Loss: 1, Samples: 100,
				Timing: message.Timing{Data: 0.001, Gradient: 0.2 + float64(i%11)/1000, Copy: 0.01, Ring: 0.05, Update: 0.004, Other: 0.001}}})
		}
	}
}

// BenchmarkPageState takes the snapshot of the page once. The loop does nothing else for the most
// part of it.
//
//	go test ./coordinator -run '^$' -bench PageState
func BenchmarkPageState(b *testing.B) {
	for _, workers := range []int{200, 1000} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			l := bareLoop(nil)
			l.train(workers)
			saved, err := checkpoint.Open(filepath.Join(b.TempDir(), "checkpoints.db"), false)
			if err != nil {
				b.Fatal(err)
			}
			defer saved.Close()
			l.saved = saved
			served := make(chan struct{})
			go func() {
				defer close(served)
				for f := range l.work {
					f()
				}
			}()
			for b.Loop() {
				s, ok := l.pageState(true)
				if !ok || len(s.Workers) != workers || len(s.Workers[7].Phases) != 7 {
					b.Fatalf("%t, %d workers", ok, len(s.Workers))
				}
			}
			close(l.work)
			<-served
		})
	}
}
