package allreduce

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"

	"google.golang.org/grpc/mem"
)

// The bytes of doc.go.
func TestGoldenBytes(t *testing.T) {
	var b [headerBytes]byte
	h := header{generation: 0x0102030405060708, step: 0x1112131415161718, bucket: 0x2122, segment: 0x3132, chunk: 0x4142, phase: phaseGather, format: formatInt64, length: 0x1fff0}
	h.put(&b)
	const want = "0807060504030201" + "1817161514131211" + "2221" + "3231" + "4241" + "04" + "03" + "f0ff01"
	if got := hex.EncodeToString(b[:]); got != want {
		t.Errorf("header\n got %s\nwant %s", got, want)
	}
	if back := parseHeader(&b); back != h {
		t.Errorf("read back %v, wrote %v", back, h)
	}
	h.shared = true
	h.put(&b)
	if got := hex.EncodeToString(b[:]); got != want[:46]+"83"+want[48:] || parseHeader(&b) != h {
		t.Errorf("header of a payload in memory: %s", got)
	}
	const greeting = "0900000000000000" + "0000000000000000" + "0000" + "0000" + "0000" + "01" + "00" + "290000" +
		"45464152" + "0700" + "01" + "01" + "02000000" + "05000000" + "04" + "03" + "746865746f6b656e0000000000000000" + "706c616e" + "302e31"
	opts := Options{Wire: BFloat16, Topology: Mesh, Plan: "plan", Numerics: "0.1", Token: Token([]byte("thetoken\x00\x00\x00\x00\x00\x00\x00\x00"))}
	if got := hex.EncodeToString(greetingBytes(hello{Identity{9, 2, 5}, opts})); got != greeting {
		t.Errorf("greeting\n got %s\nwant %s", got, greeting)
	}
}

func TestPayloadIsAlignedInTheFirstFrame(t *testing.T) {
	const grpcPrefix = 5
	if (grpcPrefix+headerBytes)%32 != 0 {
		t.Errorf("payload begins at byte %d of its HTTP/2 frame", grpcPrefix+headerBytes)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(greetingBytes(hello{Identity{9, 2, 5}, Options{Wire: BFloat16, Topology: Mesh, Plan: "plan", Numerics: "0.1"}}), 7)
	var b [headerBytes]byte
	header{generation: 1, phase: phaseReduce, length: 8}.put(&b)
	f.Add(append(b[:], 1, 2, 3, 4, 5, 6, 7, 8), 30)
	header{generation: 1, phase: phaseReduce, length: 8, shared: true}.put(&b)
	f.Add(append(b[:], 2), 0)
	_, memory := shared()
	f.Fuzz(func(t *testing.T, message []byte, split int) {
		var data mem.BufferSlice
		if split > 0 && split < len(message) {
			data = mem.BufferSlice{mem.SliceBuffer(message[:split]), mem.SliceBuffer(message[split:])}
		} else {
			data = mem.BufferSlice{mem.SliceBuffer(message)}
		}
		var m frame
		if err := m.decode(data); err != nil {
			if !errors.Is(err, ErrProtocol) {
				t.Fatalf("error without a kind: %v", err)
			}
			return
		}
		if m.header.shared {
			if _, err := parseHello(&m, phaseHello); !errors.Is(err, ErrProtocol) {
				t.Fatalf("a greeting in memory: %v", err)
			}
			if err := m.decode(data); err != nil {
				t.Fatal(err)
			}
			if err := m.take(memory); err != nil {
				if message[headerBytes] < sharedSlots || !errors.Is(err, ErrProtocol) {
					t.Fatalf("%x: %v", message, err)
				}
				return
			}
			if len(m.taken) != int(m.header.length) || len(message) != headerBytes+1 {
				t.Fatalf("%x has %d bytes in memory", message, len(m.taken))
			}
			m.free()
			return
		}
		// What decodes is exactly what encodes.
		var head [headerBytes]byte
		m.header.put(&head)
		again := append([]byte(nil), head[:]...)
		m.payload(func(p []byte) { again = append(again, p...) })
		if !bytes.Equal(again, message) || int(m.header.length) != len(message)-headerBytes || m.header.length > localChunkBytes {
			t.Fatalf("%x decoded to %v", message, m.header)
		}
		h, err := parseHello(&m, phaseHello)
		if err != nil {
			if !errors.Is(err, ErrProtocol) && !errors.Is(err, ErrRefused) {
				t.Fatalf("error without a kind: %v", err)
			}
			return
		}
		if h.id.validate() != nil || !bytes.Equal(greetingBytes(h), message) {
			t.Fatalf("%x greets as %v", message, h)
		}
	})
}
