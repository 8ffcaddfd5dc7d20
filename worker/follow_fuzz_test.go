package worker

import (
	"encoding/binary"
	"io"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/wire"
)

// said is a stream of what a peer has said: length-prefixed messages.
type said struct {
	grpc.ClientStream
	rest []byte
}

func (s *said) Recv() (*wire.FollowPart, error) {
	if len(s.rest) == 0 {
		return nil, io.EOF
	}
	raw, n := protowire.ConsumeBytes(s.rest)
	if n < 0 {
		return nil, protowire.ParseError(n)
	}
	s.rest = s.rest[n:]
	var part wire.FollowPart
	return &part, proto.Unmarshal(raw, &part)
}

// FuzzFollow has the peer that a worker follows say anything. Whatever it is: the
// worker holds what it held, or a state that is whole and the updates that came
// after it, one step each, of all of which it has told.
func FuzzFollow(f *testing.F) {
	r := trainable(f)
	fresh, _, err := r.state()
	if err != nil {
		f.Fatal(err)
	}
	whole, err := fresh.Encode()
	if err != nil {
		f.Fatal(err)
	}
	state := &wire.FollowPart{Part: &wire.FollowPart_State{State: &wire.FollowState{Made: 3, Size: int64(len(whole))}}}
	data := func(b []byte) *wire.FollowPart { return &wire.FollowPart{Part: &wire.FollowPart_Data{Data: b}} }
	update := func(step int64) *wire.FollowPart {
		return &wire.FollowPart{Part: &wire.FollowPart_Update{Update: &wire.FollowUpdate{
			Step: step, Generation: 4, Workers: []string{"a"}, Used: make([]int64, 2*r.plan.Shards)}}}
	}
	sum := make([]float32, r.trainer.Size()+2)
	sum[len(sum)-1] = 8 // samples
	encodedSum, err := binary.Append(nil, binary.LittleEndian, sum)
	if err != nil {
		f.Fatal(err)
	}
	seed := func(parts ...*wire.FollowPart) {
		var b []byte
		for _, p := range parts {
			raw, err := proto.Marshal(p)
			if err != nil {
				f.Fatal(err)
			}
			b = protowire.AppendBytes(b, raw)
		}
		f.Add(b)
	}
	seed(state, data(whole), update(0), data(encodedSum), update(1), data(encodedSum))
	seed(state, data(whole[:1000]), data(whole[1000:]), update(1))
	seed(state, data(whole), update(0), data(encodedSum), update(0), data(encodedSum))
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := r.load(fresh, 0); err != nil {
			t.Fatal(err)
		}
		before, _ := encoded(t, r)
		stream := &said{rest: b}
		_, theirs, err := r.takeState(stream)
		if err != nil {
			if after, g := encoded(t, r); after != before || g != 0 {
				t.Fatal("the state has changed, though none was taken")
			}
			return
		}
		told := theirs
		_ = r.makeUpdates(stream, func(m ergoflow.Mark) {
			if m.Step != told.Step+1 {
				t.Fatalf("step %d follows step %d", m.Step, told.Step)
			}
			told = m
		}, func() {})
		st, g, err := r.state()
		if err != nil {
			t.Fatal(err)
		}
		if held := (ergoflow.Mark{Generation: g, Step: st.Step}); held != told || len(st.Losses) != int(st.Step) {
			t.Fatalf("it holds %s with %d losses, and told of %s", held, len(st.Losses), told)
		}
	})
}
