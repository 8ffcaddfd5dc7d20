package allreduce

// The schedule for more ranks than a mesh has, and its loop: Träff's "Optimal, Non-pipelined
// Reduce-scatter and Allreduce Algorithms" (2024). It halves the skip from one
// round to the next, W → ⌈W/2⌉ → … → 1, and works for any W.
//
// Reduce-scatter. In the round that halves the skip from s to h = ⌈s/2⌉, rank r sends its
// partial sums of the s-h segments from r+h on to rank r+h, which adds them to its own. After
// all rounds it has the sum of segment r.
//
// All-gather. The rounds in reverse order: rank r, which has the sums of the h segments up to
// r, sends the last s-h of them to rank r+h.

// A round is one of the ⌈log₂ W⌉ rounds of each half.
type round struct {
	skip  int // between sender and receiver
	count int // segments that are sent
}

// rounds of the reduce-scatter among size ranks.
func rounds(size int) []round {
	var all []round
	for size > 1 {
		half := (size + 1) / 2
		all = append(all, round{half, size - half})
		size = half
	}
	return all
}

// double runs both halves. The receive loop issues the sends.
func (r *Ring) double(p party, s schedule, x vector) error {
	all := rounds(s.size)
	for _, o := range all {
		out := s.several(phaseReduce, p.ahead(o.skip), o.count)
		in := s.several(phaseReduce, p.place, o.count)
		if err := r.round(p, o, out, in, x, contribute); err != nil {
			return err
		}
	}
	how := publish
	for i := len(all) - 1; i >= 0; i-- {
		o := all[i]
		out := s.several(phaseGather, p.ahead(1-o.count), o.count)
		in := s.several(phaseGather, p.ahead(1-o.count-o.skip), o.count)
		if err := r.round(p, o, out, in, x, how); err != nil {
			return err
		}
		how = passOn
	}
	return nil
}

// round sends and receives the messages of one round.
func (r *Ring) round(p party, o round, out, in []move, x vector, how mode) error {
	to, from := p.sink(o.skip), p.source(o.skip)
	for i := range max(len(out), len(in)+4) {
		if i >= 4 && i-4 < len(in) {
			if err := r.receive(from, in[i-4], x, how == contribute); err != nil {
				return err
			}
		}
		if i < len(out) {
			if err := r.send(to, out[i], x, how); err != nil {
				return err
			}
		}
	}
	return nil
}

// several are the messages with consecutive segments, of which the first may follow the last.
// A vector of fewer numbers than ranks has segments without numbers and without messages.
func (s schedule) several(p phase, first, count int) []move {
	if over := first + count - s.size; over > 0 {
		return append(s.several(p, first, count-over), s.several(p, 0, over)...)
	}
	lo, _ := cut(s.length, s.size, first, s.unit)
	_, hi := cut(s.length, s.size, first+count-1, s.unit)
	chunks := (hi - lo + s.most/4 - 1) / (s.most / 4)
	moves := make([]move, chunks)
	for c := range chunks {
		from, to := cut(hi-lo, chunks, c, s.unit)
		moves[c] = move{p, first, c, lo + from, lo + to}
	}
	return moves
}
