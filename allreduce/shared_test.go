package allreduce

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/grpc/mem"
)

// shared are the two ends of one memory.
func shared() (sender, receiver *sharedMemory) {
	pages := make([]byte, sharedBytes)
	return &sharedMemory{pages: pages}, &sharedMemory{pages: pages}
}

// filled encodes a payload of n bytes in scratch.
func filled(n int, with byte) func(func() []byte) []byte {
	return func(scratch func() []byte) []byte {
		p := scratch()[:n]
		for i := range p {
			p[i] = with
		}
		return p
	}
}

// Payloads stay what they are until they are given back, in whatever order.
func TestSlots(t *testing.T) {
	sender, receiver := shared()
	type payload struct{ slot, with byte }
	var sent []payload
	rng := rand.New(rand.NewPCG(3, 9))
	for i := range byte(200) {
		encode := filled(localChunkBytes, i)
		if i%3 == 0 { // as numbers that need no encoding
			own := bytes.Repeat([]byte{i}, localChunkBytes)
			encode = func(func() []byte) []byte { return own }
		}
		slot, ok := sender.put(encode)
		if ok != (len(sent) < sharedSlots) {
			t.Fatalf("put: %t, with %d of %d slots used", ok, len(sent), sharedSlots)
		}
		if ok {
			sent = append(sent, payload{slot, i})
		}
		for len(sent) > 0 && rng.IntN(1+int(i)%4) == 0 {
			at := rng.IntN(len(sent))
			p := sent[at]
			sent = slices.Delete(sent, at, at+1)
			got, err := receiver.take(p.slot, localChunkBytes)
			if err != nil {
				t.Fatal(err)
			}
			if want := bytes.Repeat([]byte{p.with}, localChunkBytes); !bytes.Equal(got, want) {
				t.Fatalf("payload %d begins with %x", p.with, got[:8])
			}
			receiver.give(p.slot)
		}
	}
}

// A receiver that lies about its flags makes the sender neither write elsewhere nor
// wait.
func TestFlagsThatLie(t *testing.T) {
	sender, receiver := shared()
	for i := range sharedSlots {
		receiver.used(i).Store(^uint32(0))
	}
	if _, ok := sender.put(filled(8, 1)); ok {
		t.Error("a payload in a slot that is used")
	}
	for range 100 {
		receiver.used(5).Store(0)
		if slot, ok := sender.put(filled(8, 1)); !ok || slot != 5 {
			t.Fatalf("slot %d, %t", slot, ok)
		}
	}
}

func TestEmptyMemory(t *testing.T) {
	m := new(sharedMemory)
	m.close()
	m.close()
	if _, ok := m.put(filled(8, 1)); ok {
		t.Error("memory that there is none of took something")
	}
	if _, err := m.take(0, 8); !errors.Is(err, ErrPeerLost) {
		t.Errorf("from memory that is closed: %v", err)
	}
	if _, err := new(sharedMemory).take(0, 8); !errors.Is(err, ErrProtocol) {
		t.Errorf("from memory that there is none of: %v", err)
	}
}

// A message whose payload is in memory is a header and a slot's number.
func TestSharedMessages(t *testing.T) {
	message := func(h header, payload ...byte) mem.BufferSlice {
		var b [headerBytes]byte
		h.put(&b)
		return mem.BufferSlice{mem.SliceBuffer(append(b[:], payload...))}
	}
	h := header{generation: 3, phase: phaseReduce, format: formatInt64, length: 16, shared: true}
	sender, receiver := shared()
	slot, ok := sender.put(filled(16, 7))
	if !ok {
		t.Fatal("no slot")
	}
	receive := func(data mem.BufferSlice, memory *sharedMemory) (f frame, err error) {
		if err := f.decode(data); err != nil {
			return f, err
		}
		return f, f.take(memory)
	}
	for name, bad := range map[string]struct {
		data   mem.BufferSlice
		memory *sharedMemory
	}{
		"without memory": {message(h, slot), nil},
		"without a slot": {message(h), receiver},
		"with a payload": {message(h, make([]byte, 16)...), receiver},
		"no such slot":   {message(h, sharedSlots), receiver},
		"too long":       {message(header{phase: phaseReduce, length: localChunkBytes + 1, shared: true}, slot), receiver},
	} {
		if _, err := receive(bad.data, bad.memory); !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f, err := receive(message(h, slot), receiver)
	if err != nil {
		t.Fatal(err)
	}
	h.shared = false
	if f.header != h {
		t.Errorf("%v, sent %v", f.header, h)
	}
	x := words{v: make([]int64, 2)}
	x.decode(0, 2, &f, true)
	f.free()
	if want := []int64{0x0707070707070707, 0x0707070707070707}; !slices.Equal(x.v, want) || sender.used(int(slot)).Load() != 0 {
		t.Errorf("%x, flag %d", x.v, sender.used(int(slot)).Load())
	}
	receiver.closed = true
	if _, err := receive(message(header{phase: phaseReduce, length: 16, shared: true}, slot), receiver); !errors.Is(err, ErrPeerLost) {
		t.Errorf("from memory that is gone: %v", err)
	}
}
