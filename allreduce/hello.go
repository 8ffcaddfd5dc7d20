package allreduce

import (
	"encoding/binary"
	"fmt"

	"github.com/ergoflow/ergoflow"
)

const (
	helloMagic = "EFAR"
	// protocolVersion changes with the bytes or the schedule.
	protocolVersion = 1
	helloBytes      = 16
)

// hello is what both ends of a stream tell each other first.
type hello struct {
	id   Identity
	wire Wire
}

func (h hello) header(p phase) header {
	return header{generation: h.id.Generation, phase: p, length: helloBytes}
}

func (h hello) payload() []byte {
	b := make([]byte, helloBytes)
	copy(b, helloMagic)
	binary.LittleEndian.PutUint16(b[4:], protocolVersion)
	b[6] = byte(h.wire)
	binary.LittleEndian.PutUint32(b[8:], uint32(h.id.Rank))
	binary.LittleEndian.PutUint32(b[12:], uint32(h.id.World))
	return b
}

// parseHello reads a greeting in the given direction and frees the frame.
func parseHello(f *frame, want phase) (hello, error) {
	defer f.free()
	if f.header != (header{generation: f.header.generation, phase: want, length: helloBytes}) {
		return hello{}, fmt.Errorf("%w: not a greeting: %v", ErrProtocol, f.header)
	}
	b := make([]byte, 0, helloBytes)
	f.payload(func(p []byte) { b = append(b, p...) })
	if string(b[:4]) != helloMagic || b[7] != 0 {
		return hello{}, fmt.Errorf("%w: not a greeting", ErrProtocol)
	}
	if v := binary.LittleEndian.Uint16(b[4:]); v != protocolVersion {
		return hello{}, fmt.Errorf("%w: protocol version %d, ours is %d", ErrRefused, v, protocolVersion)
	}
	rank, world := binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint32(b[12:])
	if world > MaxWorld || rank >= world {
		return hello{}, fmt.Errorf("%w: rank %d of %d", ErrProtocol, rank, world)
	}
	h := hello{
		id:   Identity{Generation: ergoflow.Generation(f.header.generation), Rank: int(rank), World: int(world)},
		wire: Wire(b[6]),
	}
	if err := h.id.validate(); err != nil {
		return hello{}, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return h, nil
}

func goodbye(g ergoflow.Generation) header { return header{generation: g, phase: phaseGoodbye} }

// check refuses a greeting from another rank, world or wire format than want.
func (h hello) check(want hello) error {
	switch {
	case h.id.Generation != want.id.Generation:
		return fmt.Errorf("%w: generation %d, ours is %d", ErrRefused, h.id.Generation, want.id.Generation)
	case h.id.World != want.id.World:
		return fmt.Errorf("%w: world size %d, ours is %d", ErrRefused, h.id.World, want.id.World)
	case h.id.Rank != want.id.Rank:
		return fmt.Errorf("%w: rank %d where %d is our neighbour", ErrRefused, h.id.Rank, want.id.Rank)
	case h.wire != want.wire:
		return fmt.Errorf("%w: wire format %v, ours is %v", ErrRefused, h.wire, want.wire)
	}
	return nil
}
