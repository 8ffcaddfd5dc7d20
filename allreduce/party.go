package allreduce

// A party is ranks that sum together, as one of them sees it: which of the others it is
// connected with.
type party struct {
	place, size int
	sinks       []*sink   // by the number of places ahead of ours; nil where there is no link
	sources     []*source // by the number of places behind ours; likewise
}

// party makes one of the ranks, in the order of their places, and the links to and from those
// at the distances.
func (r *Ring) party(place int, ranks, distances []int) party {
	n := len(ranks)
	p := party{place: place, size: n, sinks: make([]*sink, n), sources: make([]*source, n)}
	for _, d := range distances {
		p.sinks[d] = r.sinkOf(ranks[p.ahead(d)])
		p.sources[d] = r.sourceOf(ranks[p.ahead(-d)])
	}
	return p
}

// ahead is the place so many places ahead of ours, or behind.
func (p party) ahead(distance int) int { return (p.place + distance + p.size) % p.size }

// sink is the rank so many places ahead.
func (p party) sink(distance int) *sink { return p.sinks[(distance+p.size)%p.size] }

// source is the rank so many places behind.
func (p party) source(distance int) *source { return p.sources[(distance+p.size)%p.size] }

// distances to the places that each place sends to.
func (t Topology) distances(size int) []int {
	var ahead []int
	switch t {
	case Mesh:
		for d := 1; d < size; d++ {
			ahead = append(ahead, d)
		}
	case Doubling:
		for _, round := range rounds(size) {
			ahead = append(ahead, round.skip)
		}
	case Circle:
		if size > 1 {
			ahead = []int{1}
		}
	}
	return ahead
}

// sinkOf is the sink of that rank, a new one if there is none yet.
func (r *Ring) sinkOf(rank int) *sink {
	for _, to := range r.sinks {
		if to.rank == rank {
			return to
		}
	}
	to := &sink{rank: rank, ended: make(chan struct{})}
	r.sinks = append(r.sinks, to)
	return to
}

// sourceOf is the source of that rank, a new one if there is none yet.
func (r *Ring) sourceOf(rank int) *source {
	if from := r.source(rank); from != nil {
		return from
	}
	from := &source{rank: rank, arrived: make(chan struct{}), drained: make(chan struct{}), parted: make(chan struct{})}
	r.sources = append(r.sources, from)
	return from
}

func consecutive(n int) []int {
	ranks := make([]int, n)
	for i := range ranks {
		ranks[i] = i
	}
	return ranks
}
