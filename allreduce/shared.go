package allreduce

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"unsafe"

	"google.golang.org/grpc/peer"
)

// Between ranks of one machine numbers need not pass through the kernel, which copies
// them twice and makes and frees the pages between. The ends of a local link share
// memory: the sender puts a payload into a slot of it, the message has the slot's
// number instead, and the receiver adds from the slot. Who finds no slot free sends the
// payload in the message as elsewhere: nobody ever waits for one.

const (
	// sharedSlots is how many payloads a link's memory holds.
	sharedSlots = 16
	// slotBytes holds the longest payload.
	slotBytes = 16 * frameBytes
	// flagBytes is a cache line for each slot, on a page before them. It begins with
	// whether the slot is used: set by the sender, reset by the receiver.
	flagBytes   = 64
	firstSlot   = 4 << 10
	sharedBytes = firstSlot + sharedSlots*slotBytes
	// sharedLeast is the shortest payload that goes this way.
	sharedLeast = 4 << 10
)

// An exchange settles by counting messages whose payload is in no slot: none of those
// that it has out may lack one.
const _ = uint(sharedSlots - 2*maxDepth)

// sharedMemory is one end of a link's memory. Empty, which it may be at first and is
// after close, it takes nothing. A receiver that writes to it spoils numbers, which it
// could as well by sending wrong ones, and no more.
type sharedMemory struct {
	mu     sync.Mutex // held while a slot is used
	pages  []byte     // nil: empty
	closed bool
}

func (m *sharedMemory) slot(i int) []byte { return m.pages[firstSlot+i*slotBytes:][:slotBytes] }

func (m *sharedMemory) used(i int) *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer(&m.pages[i*flagBytes]))
}

// put has encode make a payload in a slot, or copies it there, and returns the slot. It
// does neither and returns false where none is free. Of the free ones it takes the
// first, which has been in the caches latest.
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

// give makes a slot that was taken free.
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

// close waits for whoever uses a slot.
func (m *sharedMemory) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	if m.pages != nil {
		unmap(m.pages)
		m.pages = nil
	}
}

// localConn is a local socket whose ends share memory, for as long as it is open.
type localConn struct {
	*net.UnixConn
	address localAddr
}

// localAddr brings a connection's memory to the streams on it: gRPC tells them their
// peer's address, and nothing else of the connection.
type localAddr struct {
	net.Addr
	memory *sharedMemory
}

func newLocalConn(c *net.UnixConn) *localConn {
	return &localConn{c, localAddr{c.RemoteAddr(), new(sharedMemory)}}
}

func (c *localConn) RemoteAddr() net.Addr { return c.address }

func (c *localConn) Close() error {
	defer c.address.memory.close()
	return c.UnixConn.Close()
}

// memoryOf is the memory that a stream's ends share, nil where they do not.
func memoryOf(stream context.Context) *sharedMemory {
	p, ok := peer.FromContext(stream)
	if !ok {
		return nil
	}
	a, _ := p.Addr.(localAddr)
	return a.memory
}
