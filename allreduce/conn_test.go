package allreduce

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
)

// recorder is the system of a connection that exists in memory.
type recorder struct {
	writes [][]byte
	input  []byte
	most   int // bytes of one read
}

func (r *recorder) writev(pieces [][]byte) error {
	r.writes = append(r.writes, slices.Concat(pieces...))
	return nil
}

func (r *recorder) readv(first, second []byte) (int, error) {
	n := copy(first[:min(len(first), r.most)], r.input)
	if n == len(first) {
		n += copy(second[:min(len(second), r.most-n)], r.input[n:])
	}
	r.input = r.input[n:]
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (r *recorder) Read(p []byte) (int, error) { return r.readv(p, nil) }

// asFrames is a message as gRPC writes it, write by write.
func asFrames(payload []byte) [][]byte {
	prefix := make([]byte, grpcPrefixBytes)
	binary.BigEndian.PutUint32(prefix[1:], uint32(len(payload)))
	var writes [][]byte
	for first := true; first || len(payload) > 0; first = false {
		room := frameBytes
		if first {
			room -= grpcPrefixBytes
		}
		piece := payload[:min(room, len(payload))]
		payload = payload[len(piece):]
		size := len(piece) + frameBytes - room
		writes = append(writes, []byte{byte(size >> 16), byte(size >> 8), byte(size), 0, 0, 0, 0, 0, 1})
		if first {
			writes = append(writes, prefix)
			if len(piece) > headerBytes {
				writes = append(writes, piece[:headerBytes])
				piece = piece[headerBytes:]
			}
		}
		if len(piece) > 0 {
			writes = append(writes, piece)
		}
	}
	return writes
}

// A message goes to the system at once, when its last byte is written and not
// later; other frames at once, too. All bytes come, in order.
func TestGatheringWritesMessages(t *testing.T) {
	r := &recorder{}
	c := &gathering{below: r, copied: make([]byte, 0, copiedBytes)}
	rng := rand.New(rand.NewPCG(1, 9))
	write := func(writes [][]byte) {
		for _, b := range writes {
			again := slices.Clone(b) // gRPC uses small ones again
			if n, err := c.Write(again); n != len(b) || err != nil {
				t.Fatal(n, err)
			}
			if len(b) < copiedBytes {
				clear(again)
			}
		}
	}
	control := [][]byte{
		[]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
		{0, 0, 0, 4, 1, 0, 0, 0, 0},                            // settings, acknowledged
		{0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0, 1, 0},                // window update
		{0, 0, 0, 0, 1, 0, 0, 0, 1},                            // end of the stream
		append([]byte{0, 0x10, 0, 1}, make([]byte, 4096+5)...), // headers
	}
	sizes := []int{0, 1, 26, 27, 28, 1000, 1024, 16352, 16379, 16380, 2*16384 - 5, 32769, chunkBytes + headerBytes, localChunkBytes + headerBytes}
	for _, size := range sizes {
		for _, between := range control {
			payload := make([]byte, size)
			for i := range payload {
				payload[i] = byte(rng.Uint32())
			}
			for _, writes := range [][][]byte{asFrames(payload), {between}} {
				before := len(r.writes)
				write(writes)
				if got := slices.Concat(r.writes[before:]...); !bytes.Equal(got, slices.Concat(writes...)) {
					t.Fatalf("message of %d bytes: %d of %d bytes written", size, len(got), len(slices.Concat(writes...)))
				}
			}
		}
	}
	before := len(r.writes)
	write(asFrames(make([]byte, chunkBytes+headerBytes)))
	if calls := len(r.writes) - before; calls != 1 {
		t.Errorf("%d calls for a message", calls)
	}
	// Another frame in the middle of a message.
	long := asFrames(make([]byte, 40_000))
	middle := slices.Concat(long[:4], control[2:3], long[4:])
	before = len(r.writes)
	write(middle)
	if got := slices.Concat(r.writes[before:]...); !bytes.Equal(got, slices.Concat(middle...)) {
		t.Errorf("%d of %d bytes around a window update", len(got), len(slices.Concat(middle...)))
	}
	// What is no message is sent at once all the same.
	odd := [][]byte{{0, 0, 20, 0, 0, 0, 0, 0, 1}, make([]byte, 12), make([]byte, 8)}
	before = len(r.writes)
	write(odd)
	if got := slices.Concat(r.writes[before:]...); !bytes.Equal(got, slices.Concat(odd...)) {
		t.Errorf("a frame without a prefix became %x", got)
	}
}

type readOnly struct {
	net.Conn
	io.Reader
}

func (r readOnly) Read(p []byte) (int, error) { return r.Reader.Read(p) }

func TestScatteringReadsEverything(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 9))
	input := make([]byte, 200_000)
	for i := range input {
		input[i] = byte(rng.Uint32())
	}
	for _, most := range []int{1, 8, 9, 1000, 16384, 16390, 16393, 1 << 20} {
		r := &recorder{input: input, most: most}
		c := &scattering{Conn: readOnly{Reader: r}, system: r, ahead: make([]byte, aheadBytes)}
		var got []byte
		for {
			frame := make([]byte, 16384)
			if len(got)%2 == 0 {
				frame = make([]byte, 9+rng.IntN(20))
			}
			n, err := io.ReadFull(c, frame)
			got = append(got, frame[:n]...)
			if err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Fatal(err)
				}
				break
			}
		}
		if !bytes.Equal(got, input) {
			t.Errorf("reads of %d: %d of %d bytes, or others", most, len(got), len(input))
		}
	}
}
