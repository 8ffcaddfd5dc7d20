package allreduce

// The schedule where every rank is connected with its two neighbours, if not with all.

// circle runs the ring: reduce-scatter, then all-gather. Sends are issued from
// the receive loop.
func (r *Ring) circle(s schedule, x vector) error {
	successor, predecessor := r.sinks[0], r.sources[len(r.sources)-1]
	send := func(i int) error {
		m, how := s.sent(i)
		return r.send(successor, s, m, x, how)
	}
	depth, n := s.depth(), s.messages()
	for i := range depth {
		if err := send(i); err != nil {
			return err
		}
	}
	for j := range n {
		m := s.received(j)
		if err := r.receive(predecessor, s, m, x, m.phase == phaseReduce); err != nil {
			return err
		}
		if j+depth < n {
			if err := send(j + depth); err != nil {
				return err
			}
		}
	}
	return nil
}
