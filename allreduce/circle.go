package allreduce

// The loop over the schedule that uses only the links to the two neighbours.

// circle runs the ring: reduce-scatter, then all-gather. The receive loop issues
// the sends.
func (r *Ring) circle(p party, s schedule, x vector) error {
	successor, predecessor := p.sink(1), p.source(1)
	send := func(i int) error {
		m, how := s.sent(i)
		return r.send(successor, m, x, how)
	}
	depth, n := s.depth(), s.messages()
	for i := range depth {
		if err := send(i); err != nil {
			return err
		}
	}
	for j := range n {
		m := s.received(j)
		if err := r.receive(predecessor, m, x, m.phase == phaseReduce); err != nil {
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
