package allreduce

import (
	"encoding/binary"
	"fmt"

	"github.com/ergoflow/ergoflow"
	"google.golang.org/grpc/mem"
)

// headerBytes is 27: with gRPC's prefix of 5 the payload starts at byte 32 of
// the first HTTP/2 frame, so that a frame boundary does not split a number.
const headerBytes = 27

// header precedes every message; doc.go has its bytes.
type header struct {
	generation ergoflow.Generation
	step       ergoflow.Step
	bucket     uint16
	segment    uint16
	chunk      uint16
	phase      phase
	format     format
	length     uint32 // of the payload, in bytes; 24 bits
	shared     bool   // the payload is in shared memory
}

// sharedBit of the number format's byte.
const sharedBit = 1 << 7

func (h header) String() string {
	return fmt.Sprintf("generation %d step %d bucket %d phase %d segment %d chunk %d format %v length %d",
		h.generation, h.step, h.bucket, h.phase, h.segment, h.chunk, h.format, h.length)
}

func (h header) put(b *[headerBytes]byte) {
	binary.LittleEndian.PutUint64(b[0:], uint64(h.generation))
	binary.LittleEndian.PutUint64(b[8:], uint64(h.step))
	binary.LittleEndian.PutUint16(b[16:], h.bucket)
	binary.LittleEndian.PutUint16(b[18:], h.segment)
	binary.LittleEndian.PutUint16(b[20:], h.chunk)
	b[22] = byte(h.phase)
	binary.LittleEndian.PutUint32(b[23:], uint32(h.format)|h.length<<8)
	if h.shared {
		b[23] |= sharedBit
	}
}

func parseHeader(b *[headerBytes]byte) header {
	return header{
		generation: ergoflow.Generation(binary.LittleEndian.Uint64(b[0:])),
		step:       ergoflow.Step(binary.LittleEndian.Uint64(b[8:])),
		bucket:     binary.LittleEndian.Uint16(b[16:]),
		segment:    binary.LittleEndian.Uint16(b[18:]),
		chunk:      binary.LittleEndian.Uint16(b[20:]),
		phase:      phase(b[22]),
		format:     format(b[23] &^ sharedBit),
		length:     binary.LittleEndian.Uint32(b[23:]) >> 8,
		shared:     b[23]&sharedBit != 0,
	}
}

// frame is a received message. Its payload is the bytes of data after the header, in
// as many pieces as the network delivered, or a slot of shared memory.
type frame struct {
	header header
	data   mem.BufferSlice
	taken  []byte        // the payload in shared memory; nil if it is in data
	memory *sharedMemory // of taken
	slot   byte          // of taken
}

// decode checks a message and takes a reference to its bytes, which free releases.
func (f *frame) decode(data mem.BufferSlice) error {
	n := data.Len()
	if n < headerBytes {
		return fmt.Errorf("%w: message of %d bytes is shorter than its header", ErrProtocol, n)
	}
	var b [headerBytes]byte
	data.CopyTo(b[:])
	h := parseHeader(&b)
	carried := int(h.length)
	if h.shared {
		carried = 1
	}
	switch {
	case h.length > localChunkBytes:
		return fmt.Errorf("%w: payload of %d bytes exceeds %d", ErrProtocol, h.length, localChunkBytes)
	case carried != n-headerBytes:
		return fmt.Errorf("%w: header announces %d bytes, message has %d", ErrProtocol, carried, n-headerBytes)
	case h.phase < phaseHello || h.phase > phaseAlive:
		return fmt.Errorf("%w: unknown phase %d", ErrProtocol, h.phase)
	case h.step < 0:
		return fmt.Errorf("%w: negative step %d", ErrProtocol, h.step)
	}
	data.Ref()
	f.header, f.data = h, data
	return nil
}

// take finds the payload of a message that has it in shared memory. On an error it
// frees the frame.
func (f *frame) take(memory *sharedMemory) error {
	if memory == nil {
		f.free()
		return errNotShared
	}
	f.payload(func(p []byte) { f.slot = p[0] })
	if f.slot >= sharedSlots {
		f.free()
		return fmt.Errorf("%w: payload in slot %d of %d", ErrProtocol, f.slot, sharedSlots)
	}
	taken, err := memory.take(f.slot, int(f.header.length))
	if err != nil {
		f.free()
		return err
	}
	f.memory, f.taken = memory, taken
	f.header.shared = false // the schedule's headers do not have it
	return nil
}

func (f *frame) free() {
	if f.taken != nil {
		f.taken = nil
		f.memory.give(f.slot)
	}
	f.data.Free()
	f.data = nil
}

// payload visits the pieces of the payload in order.
func (f *frame) payload(visit func(piece []byte)) {
	if f.taken != nil {
		visit(f.taken)
		return
	}
	skip := headerBytes
	for _, b := range f.data {
		p := b.ReadOnlyData()
		if skip >= len(p) {
			skip -= len(p)
			continue
		}
		visit(p[skip:])
		skip = 0
	}
}

// numbers visits the payload as pieces of whole numbers of size bytes, at most 8. The
// network's pieces may end within a number.
func (f *frame) numbers(size int, visit func(piece []byte)) {
	var carry [8]byte
	held := 0
	f.payload(func(p []byte) {
		if held > 0 {
			n := copy(carry[held:size], p)
			p = p[n:]
			if held += n; held < size {
				return
			}
			visit(carry[:size])
			held = 0
		}
		whole := len(p) - len(p)%size
		if whole > 0 {
			visit(p[:whole])
		}
		held = copy(carry[:], p[whole:])
	})
}
