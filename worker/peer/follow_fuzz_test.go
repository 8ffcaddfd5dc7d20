package peer

import (
	"encoding/binary"
	"testing"

	"google.golang.org/grpc"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/coordinator/wire/wiretest"
	"github.com/ergoflow/ergoflow/worker/replica/replicatest"
)

// recorded is a stream with recorded messages.
type recorded struct {
	grpc.ClientStream
	rest []byte
}

func (s *recorded) Recv() (*wire.FollowPart, error) { return wiretest.Next[wire.FollowPart](&s.rest) }

// FuzzFollow has a member send arbitrary messages to the worker that follows it. The
// replica keeps its state, or it takes a complete state and applies the updates
// after it, one step each, and reports every mark.
func FuzzFollow(f *testing.F) {
	r := replicatest.Open(f)
	fresh, _, err := r.State()
	if err != nil {
		f.Fatal(err)
	}
	whole, err := fresh.Encode()
	if err != nil {
		f.Fatal(err)
	}
	state := statePart(3, int64(len(whole)))
	update := func(step int64) *wire.FollowPart {
		return updatePart(r, func(u *wire.FollowUpdate) { u.Step = step })
	}
	sum := make([]float32, r.Size()+2)
	sum[len(sum)-1] = 8 // samples
	encodedSum, err := binary.Append(nil, binary.LittleEndian, sum)
	if err != nil {
		f.Fatal(err)
	}
	seed := func(parts ...*wire.FollowPart) { f.Add(wiretest.Join(f, parts...)) }
	seed(state, dataPart(whole), update(0), dataPart(encodedSum), update(1), dataPart(encodedSum))
	seed(state, dataPart(whole[:1000]), dataPart(whole[1000:]), update(1))
	seed(state, dataPart(whole), update(0), dataPart(encodedSum), update(0), dataPart(encodedSum))
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := r.Load(fresh, 0); err != nil {
			t.Fatal(err)
		}
		before, _ := encoded(t, r)
		stream := &recorded{rest: b}
		var last ergoflow.Mark
		member := &follower{replica: r, caughtUp: func() {}, onMark: func(m ergoflow.Mark) {
			if m.Step != last.Step+1 {
				t.Fatalf("step %d follows step %d", m.Step, last.Step)
			}
			last = m
		}}
		data, generation, err := receiveState(stream)
		if err == nil {
			_, last, err = member.load(data, generation)
		}
		if err != nil {
			if after, g := encoded(t, r); after != before || g != 0 {
				t.Fatal("the state has changed, though none was taken")
			}
			return
		}
		_ = member.applyUpdates(stream)
		st, g, err := r.State()
		if err != nil {
			t.Fatal(err)
		}
		if held := (ergoflow.Mark{Generation: g, Step: st.Step}); held != last || len(st.Losses) != int(st.Step) {
			t.Fatalf("it holds %s with %d losses, and reported %s", held, len(st.Losses), last)
		}
	})
}
