package allreduce

import (
	"crypto/subtle"
	"encoding/binary"
	"fmt"

	"github.com/ergoflow/ergoflow"
)

const (
	helloMagic = "EFAR"
	// protocolVersion changes with the bytes or the schedule.
	protocolVersion = 7
	// helloBytes is the greeting without its two labels.
	helloBytes = 18 + tokenBytes
)

// hello is the first message in each direction of a stream. Its topology is not ByWorld.
type hello struct {
	id   Identity
	opts Options
}

func (h hello) header(p phase) header {
	return header{generation: h.id.Generation, phase: p, length: uint32(helloBytes + len(h.opts.Plan) + len(h.opts.Numerics))}
}

func (h hello) payload() []byte {
	b := make([]byte, helloBytes, helloBytes+2*maxLabel)
	copy(b, helloMagic)
	binary.LittleEndian.PutUint16(b[4:], protocolVersion)
	b[6] = byte(h.opts.Wire)
	b[7] = byte(h.opts.Topology)
	binary.LittleEndian.PutUint32(b[8:], uint32(h.id.Rank))
	binary.LittleEndian.PutUint32(b[12:], uint32(h.id.World))
	b[16], b[17] = byte(len(h.opts.Plan)), byte(len(h.opts.Numerics))
	copy(b[18:], h.opts.Token[:])
	return append(append(b, h.opts.Plan...), h.opts.Numerics...)
}

// parseHello reads a greeting in the given direction and frees the frame.
func parseHello(f *frame, want phase) (hello, error) {
	defer f.free()
	n := f.header.length
	if f.header != (header{generation: f.header.generation, phase: want, length: n}) || n < helloBytes || n > helloBytes+2*maxLabel {
		return hello{}, fmt.Errorf("%w: not a greeting: %v", ErrProtocol, f.header)
	}
	b := make([]byte, 0, n)
	f.payload(func(p []byte) { b = append(b, p...) })
	if string(b[:4]) != helloMagic {
		return hello{}, fmt.Errorf("%w: not a greeting", ErrProtocol)
	}
	if v := binary.LittleEndian.Uint16(b[4:]); v != protocolVersion {
		return hello{}, fmt.Errorf("%w: protocol version %d, ours is %d", ErrRefused, v, protocolVersion)
	}
	plan, numerics := int(b[16]), int(b[17])
	if helloBytes+plan+numerics != len(b) {
		return hello{}, fmt.Errorf("%w: labels of %d and %d bytes in a greeting of %d", ErrProtocol, plan, numerics, len(b))
	}
	rank, world := binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint32(b[12:])
	if world > ergoflow.MaxWorld || rank >= world {
		return hello{}, fmt.Errorf("%w: rank %d of %d", ErrProtocol, rank, world)
	}
	h := hello{
		id: Identity{Generation: f.header.generation, Rank: int(rank), World: int(world)},
		opts: Options{Wire: Wire(b[6]), Topology: Topology(b[7]), Token: Token(b[18:helloBytes]),
			Plan: string(b[helloBytes:][:plan]), Numerics: string(b[helloBytes+plan:])},
	}
	if err := h.id.validate(); err != nil {
		return hello{}, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	if err := h.opts.validate(); err != nil {
		return hello{}, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	if h.opts.Topology == ByWorld {
		return hello{}, fmt.Errorf("%w: no topology", ErrProtocol)
	}
	return h, nil
}

func goodbye(g ergoflow.Generation) header { return header{generation: g, phase: phaseGoodbye} }

func signOfLife(g ergoflow.Generation) header { return header{generation: g, phase: phaseAlive} }

// check refuses a greeting that differs from want in rank, world, numerics, plan, wire or
// topology, or that lacks the generation's token.
func (h hello) check(want hello) error {
	theirs, ours := h.opts, want.opts
	switch {
	case theirs.Numerics != ours.Numerics:
		return fmt.Errorf("%w: numerics %q, ours is %q", ErrRefused, theirs.Numerics, ours.Numerics)
	case h.id.Generation != want.id.Generation:
		return fmt.Errorf("%w: generation %d, ours is %d", ErrRefused, h.id.Generation, want.id.Generation)
	case subtle.ConstantTimeCompare(theirs.Token[:], ours.Token[:]) != 1:
		return fmt.Errorf("%w: it does not know the token of generation %d", ErrRefused, h.id.Generation)
	case theirs.Plan != ours.Plan:
		return fmt.Errorf("%w: plan %q, ours is %q", ErrRefused, theirs.Plan, ours.Plan)
	case h.id.World != want.id.World:
		return fmt.Errorf("%w: world size %d, ours is %d", ErrRefused, h.id.World, want.id.World)
	case h.id.Rank != want.id.Rank:
		return fmt.Errorf("%w: rank %d where %d is our neighbour", ErrRefused, h.id.Rank, want.id.Rank)
	case theirs.Wire != ours.Wire:
		return fmt.Errorf("%w: wire format %v, ours is %v", ErrRefused, theirs.Wire, ours.Wire)
	case theirs.Topology != ours.Topology:
		return fmt.Errorf("%w: connected as a %v, we as a %v", ErrRefused, theirs.Topology, ours.Topology)
	}
	return nil
}
