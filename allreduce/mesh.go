package allreduce

// The loops over the schedules in which every rank is connected with every other.

// exchange sends every rank's vector to every rank, which adds them up in rank order,
// chunk by chunk.
func (r *Ring) exchange(s schedule, x vector) error {
	own := func(chunk int) move { return move{phaseExchange, s.rank, chunk} }
	depth := s.depth()
	for c := range depth {
		if err := r.sendAll(s, own(c), x); err != nil {
			return err
		}
	}
	for c := range s.chunks {
		for _, to := range r.sinks { // the sum is about to overwrite chunk c
			if err := r.settle(to, min(c+depth, s.chunks)-c-1); err != nil {
				return err
			}
		}
		if err := r.total(s, c, x); err != nil {
			return err
		}
		if c+depth < s.chunks {
			if err := r.sendAll(s, own(c+depth), x); err != nil {
				return err
			}
		}
	}
	return nil
}

// total receives every rank's chunk c and adds it to ours, in rank order.
func (r *Ring) total(s schedule, c int, x vector) error {
	lo, hi := s.span(move{phaseExchange, s.rank, c})
	own := s.world > 2 && s.rank > 0 // the sum of two numbers does not depend on their order
	if own {
		x.keepOwn(lo, hi)
	}
	for rank := range s.world {
		if rank == s.rank {
			if own {
				x.addOwn(lo, hi)
			}
			continue
		}
		from := r.sources[(rank-s.rank+s.world)%s.world-1]
		if err := r.receive(from, s, move{phaseExchange, rank, c}, x, rank > 0 || !own); err != nil {
			return err
		}
	}
	return nil
}

// direct sums segment r on rank r, which sends the sum to every rank. Each rank gets
// parts 0 … depth-1, then sum c and part c+depth in turn.
func (r *Ring) direct(s schedule, x vector) error {
	parts := func(chunk int) error {
		for _, to := range r.sinks {
			if err := r.send(to, s, move{phaseReduce, to.rank, chunk}, x, contribute); err != nil {
				return err
			}
		}
		return nil
	}
	depth := s.depth()
	for c := range depth {
		if err := parts(c); err != nil {
			return err
		}
	}
	for c := range s.chunks + depth {
		for _, from := range r.sources {
			if c >= depth {
				if err := r.receive(from, s, move{phaseGather, from.rank, c - depth}, x, false); err != nil {
					return err
				}
			}
			if c < s.chunks {
				if err := r.receive(from, s, move{phaseReduce, s.rank, c}, x, true); err != nil {
					return err
				}
			}
		}
		if c < s.chunks {
			if err := r.sendAll(s, move{phaseGather, s.rank, c}, x); err != nil {
				return err
			}
		}
		if c+depth < s.chunks {
			if err := parts(c + depth); err != nil {
				return err
			}
		}
	}
	return nil
}
