package allreduce

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/ergoflow/ergoflow"
	"google.golang.org/grpc/mem"
)

// A script is a link whose other end sends what is written there, and that
// keeps what is sent to it.
type script struct {
	messages [][]byte
	sent     [][]byte
}

func (l *script) receive(f *frame) error {
	if len(l.messages) == 0 {
		return io.EOF
	}
	b := l.messages[0]
	l.messages = l.messages[1:]
	var data mem.BufferSlice
	for len(b) > pieceBytes {
		data, b = append(data, mem.SliceBuffer(b[:pieceBytes])), b[pieceBytes:]
	}
	return f.decode(append(data, mem.SliceBuffer(b)))
}

func (l *script) send(h header, encode func(scratch func() []byte) []byte) error {
	l.sent = append(l.sent, encodeMessage(h, encode))
	return nil
}

func (l *script) settle(int) error                  { return nil }
func (l *script) alive(header) error                { return nil }
func (l *script) arrivals() (uint64, bool)          { return 0, false }
func (l *script) segments() uint64                  { return 0 }
func (l *script) sender() string                    { return "" }
func (l *script) finish() error                     { return nil }
func (l *script) wait() error                       { return nil }
func (l *script) close()                            {}
func (l *script) welcome(hello) error               { return nil }
func (l *script) goodbye(ergoflow.Generation) error { return nil }

// scripted is rank 0 of a ring whose other ranks send messages in turn.
func scripted(t testing.TB, world int, opts Options, messages [][]byte) *Ring {
	peers := make([]string, world)
	for rank := range peers {
		peers[rank] = fmt.Sprintf("host-%d", rank)
	}
	r := newRing(t.Context(), Identity{7, 0, world}, peers, opts)
	for _, to := range r.sinks {
		to.out = &script{}
		close(to.ended)
	}
	for i, from := range r.sources {
		l := &script{}
		for j := i; j < len(messages); j += len(r.sources) {
			l.messages = append(l.messages, messages[j])
		}
		from.in = l
	}
	return r
}

// fuzzedLength gives each schedule several messages, one of them odd.
const fuzzedLength = 70_001

// FuzzReceive is an all-reduce whose neighbours send anything. It ends with a
// sum only after what the schedule asks for, else with an error of a kind.
func FuzzReceive(f *testing.F) {
	for _, world := range []int{2, 3} {
		for _, topology := range []Topology{Mesh, Circle} {
			for _, wire := range []Wire{Float32, BFloat16, Int8} {
				for _, n := range []int{3, fuzzedLength} {
					f.Add(honest(f, world, Options{Wire: wire, Topology: topology}, n), uint8(world), uint8(topology), uint8(wire), n == 3)
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte, world, topology, wire uint8, short bool) {
		opts := Options{Wire: Wire(wire % 3), Topology: Topology(1 + topology%2)}
		n := fuzzedLength
		if short {
			n = 3
		}
		var messages [][]byte
		for len(stream) >= 3 {
			size := min(int(stream[0])|int(stream[1])<<8|int(stream[2])<<16, len(stream)-3)
			messages, stream = append(messages, stream[3:][:size]), stream[3+size:]
		}
		world = 2 + world%3
		err := scripted(t, int(world), opts, messages).AllReduce(4, make([]float32, n))
		if err == nil {
			if len(messages) < int(world)-1 && opts.Topology == Mesh {
				t.Fatalf("a sum of %d ranks from %d messages", world, len(messages))
			}
			return
		}
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Peer < 1 || e.Peer >= int(world) || e.Step != 4 {
			t.Fatalf("%#v", err)
		}
		if !errors.Is(err, ErrProtocol) && !errors.Is(err, ErrFenced) && !errors.Is(err, ErrPeerLost) {
			t.Fatalf("error without a kind: %v", err)
		}
	})
}

// honest is what the other ranks of an all-reduce of zeros at step 4 send to
// rank 0, each message after its length in three bytes.
func honest(t testing.TB, world int, opts Options, n int) []byte {
	x := floats{v: make([]float32, n), wire: opts.Wire, residual: make([]float32, n)}
	if isShort(n, x.format()) {
		x.wire = Float32
	}
	var stream []byte
	r := &Ring{id: Identity{7, 0, world}, step: 4}
	add := func(m move) {
		b := encodeMessage(r.header(m, x.format()), func(scratch func() []byte) []byte { return x.encode(passOn, m.lo, m.hi, scratch) })
		var size [4]byte
		binary.LittleEndian.PutUint32(size[:], uint32(len(b)))
		stream = append(append(stream, size[:3]...), b...)
	}
	s := layOut(scripted(t, world, opts, nil).kind(n, x.format()), 0, world, n, x.format(), chunkBytes)
	switch s.kind {
	case circling:
		for i := range s.messages() {
			add(s.received(i))
		}
	case exchanging:
		for c := range s.chunks {
			for rank := 1; rank < world; rank++ {
				add(s.move(phaseExchange, rank, c))
			}
		}
	case direct:
		if s.chunks != 1 {
			t.Fatalf("%d chunks", s.chunks)
		}
		for rank := 1; rank < world; rank++ {
			add(s.move(phaseReduce, 0, 0))
		}
		for rank := 1; rank < world; rank++ {
			add(s.move(phaseGather, rank, 0))
		}
	}
	return stream
}

// What is honest is accepted; with a byte of any header changed it is not.
func TestOnlyTheScheduleIsAccepted(t *testing.T) {
	for _, world := range []int{2, 3} {
		for _, topology := range []Topology{Mesh, Circle} {
			for _, n := range []int{3, fuzzedLength} {
				opts := Options{Wire: BFloat16, Topology: topology}
				stream := honest(t, world, opts, n)
				var messages [][]byte
				for rest := stream; len(rest) > 0; {
					size := int(rest[0]) | int(rest[1])<<8 | int(rest[2])<<16
					messages, rest = append(messages, rest[3:][:size]), rest[3+size:]
				}
				run := func() error { return scripted(t, world, opts, messages).AllReduce(4, make([]float32, n)) }
				name := fmt.Sprintf("world %d %v length %d", world, topology, n)
				if err := run(); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				for i, m := range messages {
					for at := range headerBytes {
						m[at] ^= 0x40
						if err := run(); !errors.Is(err, ErrProtocol) && !errors.Is(err, ErrFenced) {
							t.Errorf("%s: message %d with another byte %d: %v", name, i, at, err)
						}
						m[at] ^= 0x40
					}
				}
				messages = messages[:len(messages)-1]
				if err := run(); !errors.Is(err, ErrPeerLost) {
					t.Errorf("%s: the last message is missing: %v", name, err)
				}
			}
		}
	}
}

// FuzzPayload reads any payload in every format, in two pieces and in one.
func FuzzPayload(f *testing.F) {
	for kind := range uint8(4) {
		f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0xc0, 0x7f, 0, 0, 0x80, 0xff}, kind, 35, kind%2 == 0)
	}
	f.Add(append([]byte{notFinite}, make([]byte, blockLength)...), uint8(Int8), 40, true)
	f.Fuzz(func(t *testing.T, payload []byte, kind uint8, split int, add bool) {
		form := format(kind % 4)
		n := 0
		for form.bytes(n) < len(payload) {
			n++
		}
		if form.bytes(n) != len(payload) || len(payload) > localChunkBytes {
			return
		}
		message := append(make([]byte, headerBytes), payload...)
		header{phase: phaseReduce, format: form, length: uint32(len(payload))}.put((*[headerBytes]byte)(message))
		split = headerBytes + max(split, -split)%(len(payload)+1)
		if split < headerBytes {
			return
		}
		sizes := []int{split, len(message)}
		pieces := cutUp(t, message, func() int { k := sizes[0]; sizes = sizes[1:]; return max(k, 1) })
		whole := cutUp(t, message, func() int { return len(message) })
		if form == formatInt64 {
			a, b := words{v: make([]int64, n)}, words{v: make([]int64, n)}
			a.decode(0, n, pieces, add)
			b.decode(0, n, whole, add)
			if string(bytesOf(a.v)) != string(bytesOf(b.v)) {
				t.Fatalf("%x in two pieces is %v, in one %v", payload, a.v, b.v)
			}
			return
		}
		a, b := floats{v: make([]float32, n), wire: Wire(form)}, floats{v: make([]float32, n), wire: Wire(form)}
		a.decode(0, n, pieces, add)
		b.decode(0, n, whole, add)
		if err := sameBits(a.v, b.v); err != nil {
			t.Fatalf("%x in two pieces: %v", payload, err)
		}
	})
}
