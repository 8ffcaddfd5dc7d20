package allreduce

// The loops over the schedules in which every rank is connected with every other.

// exchange sends every rank's vector to every rank, which adds them up in rank order,
// chunk by chunk.
func (r *Ring) exchange(p party, s schedule, x vector) error {
	own := func(chunk int) move { return s.move(phaseExchange, s.place, chunk) }
	depth := s.depth()
	for c := range depth {
		if err := r.sendAll(p, own(c), x, publish); err != nil {
			return err
		}
	}
	for c := range s.chunks {
		for d := 1; d < p.size; d++ { // the sum is about to overwrite chunk c
			if err := r.settle(p.sink(d), min(c+depth, s.chunks)-c-1); err != nil {
				return err
			}
		}
		if err := r.total(p, s, c, x); err != nil {
			return err
		}
		if c+depth < s.chunks {
			if err := r.sendAll(p, own(c+depth), x, publish); err != nil {
				return err
			}
		}
	}
	return nil
}

// total receives every rank's chunk c and adds it to ours, in rank order.
func (r *Ring) total(p party, s schedule, c int, x vector) error {
	m := s.move(phaseExchange, s.place, c)
	own := s.size > 2 && s.place > 0 // the sum of two numbers does not depend on their order
	if own {
		x.keepOwn(m.lo, m.hi)
	}
	for place := range s.size {
		if place == s.place {
			if own {
				x.addOwn(m.lo, m.hi)
			}
			continue
		}
		if err := r.receive(p.source(s.place-place), s.move(phaseExchange, place, c), x, place > 0 || !own); err != nil {
			return err
		}
	}
	return nil
}

// direct sums segment p on place p, which sends the sum to every place. Each gets
// parts 0 … depth-1, then sum c and part c+depth in turn.
func (r *Ring) direct(p party, s schedule, x vector) error {
	depth := s.depth()
	for c := range depth {
		if err := r.sendParts(p, s, c, x); err != nil {
			return err
		}
	}
	for c := range s.chunks + depth {
		for d := 1; d < p.size; d++ {
			place, from := p.ahead(d), p.source(-d)
			if c >= depth {
				if err := r.receive(from, s.move(phaseGather, place, c-depth), x, false); err != nil {
					return err
				}
			}
			if c < s.chunks {
				if err := r.receive(from, s.move(phaseReduce, s.place, c), x, true); err != nil {
					return err
				}
			}
		}
		if c < s.chunks {
			if err := r.sendAll(p, s.move(phaseGather, s.place, c), x, publish); err != nil {
				return err
			}
		}
		if c+depth < s.chunks {
			if err := r.sendParts(p, s, c+depth, x); err != nil {
				return err
			}
		}
	}
	return nil
}

// sendParts sends every place its part of chunk c.
func (r *Ring) sendParts(p party, s schedule, c int, x vector) error {
	for d := 1; d < p.size; d++ {
		if err := r.send(p.sink(d), s.move(phaseReduce, p.ahead(d), c), x, contribute); err != nil {
			return err
		}
	}
	return nil
}

// sendAll sends every place the same numbers.
func (r *Ring) sendAll(p party, m move, x vector, how mode) error {
	for d := 1; d < p.size; d++ {
		if err := r.send(p.sink(d), m, x, how); err != nil {
			return err
		}
		how = passOn
	}
	return nil
}
