package allreduce

import "github.com/ergoflow/ergoflow/allreduce/topology"

// The schedule for several ranks on each of several hosts. The ranks of a host sum a segment
// each, ranks with the same segment sum it over the hosts, by doubling or in a ring, and every
// rank sends the others on its host its segment. So the link of a host carries as much as if
// it had one rank, and as few messages in sequence.

// byHost runs the three parts.
func (r *Ring) byHost(x vector) error {
	s := layOut(direct, r.host.place, r.host.size, x.length(), x.format(), localChunkBytes)
	if err := r.scatter(s, x); err != nil {
		return err
	}
	lo, hi := cut(x.length(), s.size, s.place, s.unit)
	own := x.part(lo, hi)
	over := overHosts(topology.OneEach(r.column.size), x.format().bytes(x.length()))
	if err := r.take(r.column, layOut(over, r.column.place, r.column.size, hi-lo, x.format(), r.payload), own); err != nil {
		return err
	}
	return r.gather(s, x)
}

// scatter leaves each rank of the host the sum of its segment over the host.
func (r *Ring) scatter(s schedule, x vector) error {
	depth := s.depth()
	for c := range s.chunks + depth {
		if c >= depth {
			for d := 1; d < s.size; d++ {
				if err := r.receive(r.host.source(-d), s.move(phaseReduce, s.place, c-depth), x, true); err != nil {
					return err
				}
			}
		}
		if c < s.chunks {
			if err := r.sendParts(r.host, s, c, x); err != nil {
				return err
			}
		}
	}
	return nil
}

// gather brings each rank of the host the segments of the others.
func (r *Ring) gather(s schedule, x vector) error {
	depth := s.depth()
	for c := range s.chunks + depth {
		if c >= depth {
			for d := 1; d < s.size; d++ {
				if err := r.receive(r.host.source(-d), s.move(phaseGather, r.host.ahead(d), c-depth), x, false); err != nil {
					return err
				}
			}
		}
		if c < s.chunks {
			if err := r.sendAll(r.host, s.move(phaseGather, s.place, c), x, passOn); err != nil {
				return err
			}
		}
	}
	return nil
}
