package allreduce

// Traffic is what a ring has exchanged with the process of one rank: bytes of numbers, without
// what frames, TLS and signs of life add.
type Traffic struct {
	Rank           int
	Sent, Received uint64
}

// Traffic returns that of every rank with which this one is connected, in the order of the
// ranks. It may be called at any time, also after Close.
func (r *Ring) Traffic() []Traffic {
	all := make([]Traffic, r.id.World)
	linked := make([]bool, r.id.World)
	for _, to := range r.sinks {
		all[to.rank].Sent, linked[to.rank] = to.bytes.Load(), true
	}
	for _, from := range r.sources {
		all[from.rank].Received, linked[from.rank] = from.bytes.Load(), true
	}
	list := make([]Traffic, 0, len(r.sinks)+len(r.sources))
	for rank, t := range all {
		if linked[rank] {
			t.Rank = rank
			list = append(list, t)
		}
	}
	return list
}
