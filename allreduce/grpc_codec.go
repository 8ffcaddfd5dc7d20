package allreduce

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
)

// codecName is the content subtype that selects codec on either side.
const codecName = "ergoflow-ring"

// message is what the codec sends: a header and bytes that the sender keeps.
type message struct {
	header  header
	payload []byte
	slot    *slot // learns when the payload is written; nil if the garbage collector frees it
}

// slot is one message's storage. It is the pool of its payload's buffer, and so learns
// when the transport has written it; SendMsg returns earlier.
type slot struct {
	home    chan<- *slot
	head    [headerBytes]byte
	payload []byte
	bytes   []byte // for numbers that need encoding
}

func (s *slot) scratch() []byte {
	if s.bytes == nil {
		s.bytes = make([]byte, localChunkBytes)
	}
	return s.bytes
}

// Get is never called; Put makes the slot free again.
func (s *slot) Get(n int) *[]byte { b := make([]byte, n); return &b }
func (s *slot) Put(*[]byte) {
	s.payload = nil
	s.home <- s
}

// codec hands header and payload over without copying the payload.
type codec struct{}

func init() { encoding.RegisterCodecV2(codec{}) }

func (codec) Name() string { return codecName }

func (codec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(*message)
	if !ok {
		return nil, fmt.Errorf("cannot send a %T", v)
	}
	if m.slot == nil || mem.IsBelowBufferPoolingThreshold(cap(m.payload)) {
		// Small buffers are not reference-counted: copy.
		var head [headerBytes]byte
		m.header.put(&head)
		b := append(append(make([]byte, 0, headerBytes+len(m.payload)), head[:]...), m.payload...)
		if m.slot != nil {
			m.slot.Put(nil)
		}
		return mem.BufferSlice{mem.SliceBuffer(b)}, nil
	}
	m.header.put(&m.slot.head)
	m.slot.payload = m.payload
	return mem.BufferSlice{mem.SliceBuffer(m.slot.head[:]), mem.NewBuffer(&m.slot.payload, m.slot)}, nil
}

func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	f, ok := v.(*frame)
	if !ok {
		return fmt.Errorf("cannot receive into a %T", v)
	}
	return f.decode(data)
}
