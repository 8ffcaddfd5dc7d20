package allreduce

import (
	"net"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Between ranks of one machine the kernel would copy the numbers twice, and allocate and
// free the pages between. Instead the ends of a local link share memory: the sender puts
// a payload into a slot, the message carries the slot's number, and the receiver adds
// from the slot. A sender that finds no free slot sends the payload in the message, so
// no rank ever waits for a slot.

const (
	// sharedSlots is how many payloads a link's memory holds.
	sharedSlots = 16
	// slotBytes holds the longest payload.
	slotBytes = 16 * frameBytes
	// flagBytes is one cache line for each slot, on a page before the slots. It begins
	// with the slot's flag, which the sender sets and the receiver resets.
	flagBytes   = 64
	firstSlot   = 4 << 10
	sharedBytes = firstSlot + sharedSlots*slotBytes
	// sharedLeast is the shortest payload that uses shared memory.
	sharedLeast = 4 << 10
)

// An exchange counts messages whose payload is in no slot when it settles. So every
// message that it has in flight must find a slot.
const _ = uint(sharedSlots - 2*maxDepth)

// sharedMemory is one end of a link's memory. It is empty before fill and after close,
// and then takes nothing. A receiver that writes to it can spoil numbers, as it could by
// sending wrong ones, and nothing else.
type sharedMemory struct {
	mu     sync.Mutex // held while a slot is used
	pages  []byte     // nil if empty
	closed bool
}

func (m *sharedMemory) slot(i int) []byte { return m.pages[firstSlot+i*slotBytes:][:slotBytes] }

func (m *sharedMemory) used(i int) *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer(&m.pages[i*flagBytes]))
}

// put lets encode write a payload to a slot, or copies it there, and returns the slot. It
// does neither and returns false if no slot is free. It takes the first free slot, which
// is the most likely to be in the caches.
func (m *sharedMemory) put(encode func(scratch func() []byte) []byte) (byte, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := 0; m.pages != nil && i < sharedSlots; i++ {
		if m.used(i).Load() != 0 {
			continue
		}
		slot := m.slot(i)
		if p := encode(func() []byte { return slot }); unsafe.SliceData(p) != unsafe.SliceData(slot) {
			copy(slot, p)
		}
		m.used(i).Store(1)
		return byte(i), true
	}
	return 0, false
}

// take returns the first n bytes of a slot for use until give.
func (m *sharedMemory) take(slot byte, n int) ([]byte, error) {
	m.mu.Lock()
	switch {
	case m.closed:
		m.mu.Unlock()
		return nil, errStreamEnded
	case m.pages == nil:
		m.mu.Unlock()
		return nil, errNotShared
	}
	return m.slot(int(slot))[:n], nil
}

// give frees a slot that was taken.
func (m *sharedMemory) give(slot byte) {
	m.used(int(slot)).Store(0)
	m.mu.Unlock()
}

// fill makes pages the memory of an empty end.
func (m *sharedMemory) fill(pages []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		unmap(pages)
		return
	}
	m.pages = pages
}

// close waits until no slot is in use by this end.
func (m *sharedMemory) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	if m.pages != nil {
		unmap(m.pages)
		m.pages = nil
	}
}

// localConn is a local socket whose ends share memory while it is open.
type localConn struct {
	*net.UnixConn
	address connAddr
}

func newLocalConn(c *net.UnixConn) *localConn {
	return &localConn{c, connAddr{Addr: c.RemoteAddr(), memory: new(sharedMemory)}}
}

func (c *localConn) RemoteAddr() net.Addr { return c.address }

func (c *localConn) Close() error {
	defer c.address.memory.close()
	return c.UnixConn.Close()
}
