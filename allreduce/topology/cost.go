package topology

import "slices"

// Algorithm is a way to sum.
type Algorithm int

const (
	Exchange Algorithm = iota // every rank sends its vector to every other
	Ring
	Doubling
	ByHost // within hosts, over hosts, within hosts
)

func (a Algorithm) String() string {
	return [...]string{"exchange", "ring", "doubling", "by host"}[a]
}

// MessageBytes is what a link carries in the time of a message, α·β. It is 24 KB for 200 µs
// and 1 Gbit/s, and 90 KB for 30 µs and 25 Gbit/s. docs/results/topology.md has what a wrong
// one costs.
const MessageBytes = 64 << 10

// localMessage is the time of a message within a host, over α.
const localMessage = 0.25

// Cost is what a sum takes of a network.
type Cost struct {
	Messages float64 // in sequence
	Bytes    float64 // that the busiest link of a host sends
}

// inMessages is T/α.
func (c Cost) inMessages() float64 { return c.Messages + c.Bytes/MessageBytes }

// skew is how much longer the bytes of a sum by doubling take: every round waits for the
// slowest of all ranks, whose links idle meanwhile. On links of 25 to 500 Mbit/s it was 1.0 to
// 1.7, the more the busier the hosts' processors were.
const skew = 1.5

// Choose returns the cheapest for a vector of that many bytes, of several algorithms; of equals
// the first.
func (l Layout) Choose(bytes int, of ...Algorithm) Algorithm {
	best := of[0]
	for _, a := range of[1:] {
		if l.Cost(a, bytes).inMessages() < l.Cost(best, bytes).inMessages() {
			best = a
		}
	}
	return best
}

// Cost is that of summing a vector of that many bytes. ByHost is for even layouts alone.
func (l Layout) Cost(a Algorithm, bytes int) Cost {
	if l.hosts == 1 && l.World() > 1 { // memory, instead of links
		c := OneEach(l.World()).Cost(a, bytes)
		c.Messages *= localMessage
		return c
	}
	n, world := float64(bytes), float64(l.World())
	switch a {
	case Exchange:
		c := Cost{Messages: 1}
		for _, g := range l.counts() {
			c.Bytes = max(c.Bytes, n*float64(g)*(world-float64(g)))
		}
		return c
	case Ring:
		out := l.leaving(1)
		away := 0
		for _, c := range out {
			away += c
		}
		laps := 2 * (world - 1) / world
		return Cost{laps * (float64(away) + localMessage*(world-float64(away))), laps * n * float64(slices.Max(out))}
	case Doubling:
		var c Cost
		sent := make([]float64, l.hosts)
		for s := l.World(); s > 1; s = (s + 1) / 2 {
			half := (s + 1) / 2
			out := l.leaving(half)
			for h := range sent { // half of the bytes in the reduce-scatter, half in the all-gather
				sent[h] += 2 * float64(s-half) / world * n * float64(out[h])
			}
			if slices.Max(out) > 0 {
				c.Messages += 2
			} else {
				c.Messages += 2 * localMessage
			}
		}
		c.Bytes = skew * slices.Max(sent)
		return c
	}
	over := OneEach(l.hosts)
	c := over.Cost(over.Choose(bytes, Ring, Doubling), bytes)
	c.Messages += 2 * localMessage
	return c
}

// leaving are, by host, its ranks whose message to the rank that many places ahead leaves
// the host.
func (l Layout) leaving(ahead int) []int {
	count := make([]int, l.hosts)
	for r, h := range l.host {
		if l.host[(r+ahead)%l.World()] != h {
			count[h]++
		}
	}
	return count
}
