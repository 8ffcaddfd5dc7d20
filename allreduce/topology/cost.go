package topology

import "slices"

// Algorithm is a way to sum.
type Algorithm int

const (
	Ring Algorithm = iota
	Doubling
	ByHost
)

func (a Algorithm) String() string { return [...]string{"ring", "doubling", "by host"}[a] }

// MessageBytes is what a link carries in the time of a message, α·β. It is 24 KB for 200 µs
// and 1 Gbit/s, and 90 KB for 30 µs and 25 Gbit/s. docs/results/scale.md has what a wrong one
// costs.
const MessageBytes = 64 << 10

// localMessage is the time of a message within a host, over α.
const localMessage = 0.25

// Cost is what a sum takes of a network.
type Cost struct {
	Messages float64 // in sequence
	Bytes    float64 // that the busiest link of a host sends
}

// Seconds is the model's time, where a message takes latency seconds and a link carries rate
// bytes a second.
func (c Cost) Seconds(latency, rate float64) float64 { return latency*c.Messages + c.Bytes/rate }

// inMessages is T/α.
func (c Cost) inMessages() float64 { return c.Messages + c.Bytes/MessageBytes }

// Choose returns the algorithm that costs least for a vector of that many bytes: on a tie the
// one with fewer messages. Uneven layouts are not summed by host.
func (l Layout) Choose(bytes int) Algorithm {
	best := Doubling
	candidates := []Algorithm{Ring}
	if l.Even() {
		candidates = append(candidates, ByHost)
	}
	for _, a := range candidates {
		if l.Cost(a, bytes).inMessages() < l.Cost(best, bytes).inMessages() {
			best = a
		}
	}
	return best
}

// Cost is that of summing a vector of that many bytes. ByHost is for even layouts alone.
func (l Layout) Cost(a Algorithm, bytes int) Cost {
	n, world, hosts := float64(bytes), float64(l.World()), float64(l.hosts)
	switch a {
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
		c.Bytes = slices.Max(sent)
		return c
	}
	return Cost{2*float64(depth(l.hosts)) + 2*localMessage, 2 * (hosts - 1) / hosts * n}
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
