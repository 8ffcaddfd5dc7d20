package topology

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

// Cost is what a sum takes of a network.
type Cost struct {
	Messages int     // in sequence, between hosts
	Bytes    float64 // that the busiest link of a host sends
}

// Seconds is the model's time, where a message takes latency seconds and a link carries rate
// bytes a second.
func (c Cost) Seconds(latency, rate float64) float64 {
	return latency*float64(c.Messages) + c.Bytes/rate
}

// messages is T/α.
func (c Cost) messages() float64 { return float64(c.Messages) + c.Bytes/MessageBytes }

// Choose returns the algorithm that costs least for a vector of that many bytes: on a tie the
// one with fewer messages. Uneven layouts are not summed by host.
func (l Layout) Choose(bytes int) Algorithm {
	best := Doubling
	candidates := []Algorithm{Ring}
	if l.Even() {
		candidates = append(candidates, ByHost)
	}
	for _, a := range candidates {
		if l.Cost(a, bytes).messages() < l.Cost(best, bytes).messages() {
			best = a
		}
	}
	return best
}

// Cost is that of summing a vector of that many bytes.
func (l Layout) Cost(a Algorithm, bytes int) Cost {
	n, world := float64(bytes), len(l.host)
	if l.hosts < 2 {
		return Cost{}
	}
	switch a {
	case Ring:
		crossings := l.crossings(1)
		all := 0
		for _, c := range crossings {
			all += c
		}
		busiest := 0
		for _, c := range crossings {
			busiest = max(busiest, c)
		}
		return Cost{2 * all * (world - 1) / world, 2 * float64(world-1) / float64(world) * n * float64(busiest)}
	case Doubling:
		// Half of the bytes go in the reduce-scatter, half in the all-gather.
		sent, messages := make([]float64, l.hosts), 0
		for s := world; s > 1; s = (s + 1) / 2 {
			half := (s + 1) / 2
			share := 2 * float64(s-half) / float64(world) * n
			crosses := false
			for h, c := range l.crossings(half) {
				sent[h] += share * float64(c)
				crosses = crosses || c > 0
			}
			if crosses {
				messages += 2
			}
		}
		c := Cost{Messages: messages}
		for _, b := range sent {
			c.Bytes = max(c.Bytes, b)
		}
		return c
	}
	hosts := float64(l.hosts)
	return Cost{2 * depth(l.hosts), 2 * (hosts - 1) / hosts * n}
}

// crossings are, by host, its ranks whose message to the rank that many places ahead leaves
// the host.
func (l Layout) crossings(ahead int) []int {
	count := make([]int, l.hosts)
	for r, h := range l.host {
		if l.host[(r+ahead)%len(l.host)] != h {
			count[h]++
		}
	}
	return count
}
