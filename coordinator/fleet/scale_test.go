package fleet

import (
	"testing"

	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// BenchmarkThousandWorkers measures what events and a status cost with a thousand
// workers and two runs.
//
//	go test ./coordinator/fleet -run '^$' -bench Thousand
func BenchmarkThousandWorkers(b *testing.B) {
	f := newBench(nil, machine.Config{}, nil)
	f.submit(1, "a", 0, 500)
	f.submit(2, "b", 0, 0)
	f.join(names(1000)...)
	b.Run("heartbeat", func(b *testing.B) {
		for b.Loop() {
			f.f.Step(f.now, machine.Received{Session: 1, Message: message.Heartbeat{}})
		}
	})
	b.Run("tick", func(b *testing.B) {
		for b.Loop() {
			f.f.Step(f.now, machine.Tick{})
		}
	})
	b.Run("balance", func(b *testing.B) {
		for b.Loop() {
			f.f.balance()
		}
	})
	b.Run("status", func(b *testing.B) {
		for b.Loop() {
			f.f.Status("a")
			f.f.UnderWay()
		}
	})
}
