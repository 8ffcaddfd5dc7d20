package topology

import "math"

// Links is what is known of the links between ranks, from a to b. The two directions of a link
// may differ. A value that is negative, or no number, is unknown, and so is a rate of zero.
type Links struct {
	Latency func(a, b int) float64 // seconds that a small message takes
	Rate    func(a, b int) float64 // bytes a second
	Bytes   float64                // of a vector that the ranks sum; 0: latencies alone count
}

// worthwhile is the share of the given order's time that another may take at most. Measured
// latencies differ by some percent from one time to the next, and a ring need not follow.
const worthwhile = 0.9

// Order returns the ranks in an order in which a ring passes each host once, and takes the least
// time, as far as the links are known. The first rank stays the first, ranks of a host keep their
// order, and so do hosts where another order gains less than a tenth. Unknown latencies, and
// unknown rates, count as the mean of the known.
func Order(l Layout, links Links) []int {
	byHost := make([][]int, l.hosts)
	for r, h := range l.host {
		byHost[h] = append(byHost[h], r)
	}
	part := links.Bytes / float64(len(l.host))
	p := paths{
		latency: between(byHost, links.Latency),
		passing: between(byHost, func(a, b int) float64 {
			if part == 0 {
				return 0
			}
			rate := links.Rate(a, b)
			if !(rate > 0) {
				return -1
			}
			return part / rate
		}),
	}
	var order []int
	for _, h := range p.circle() {
		order = append(order, byHost[h]...)
	}
	return order
}

// between is the least time from each host to each other.
func between(byHost [][]int, time func(a, b int) float64) [][]float64 {
	cost := make([][]float64, len(byHost))
	sum, known := 0.0, 0
	for i := range cost {
		cost[i] = make([]float64, len(byHost))
		for j := range cost[i] {
			cost[i][j] = math.Inf(1)
			for _, a := range byHost[i] {
				for _, b := range byHost[j] {
					if t := time(a, b); i != j && t >= 0 && !math.IsInf(t, 1) {
						cost[i][j] = min(cost[i][j], t)
					}
				}
			}
			if !math.IsInf(cost[i][j], 1) {
				sum, known = sum+cost[i][j], known+1
			}
		}
	}
	for i := range cost {
		for j := range cost[i] {
			switch {
			case i == j:
				cost[i][j] = 0
			case math.IsInf(cost[i][j], 1):
				cost[i][j] = sum / float64(max(known, 1))
			}
		}
	}
	return cost
}

// paths are those from each host to each other, in seconds: of a small message, and that a rank's
// part of the vector takes from its first byte to its last.
type paths struct{ latency, passing [][]float64 }

// time is that of a sum in a ring of the hosts. Each part goes round twice, and so has each latency
// before it twice. Meanwhile each path passes 2(H-1) parts, one after the other: the slowest
// path holds all up, but for the first parts on their way to it.
//
//	T = 2·Σ latency + Σ passing + (H-2)·max passing
func (p paths) time(order []int) float64 {
	return 2*length(p.latency, order) + length(p.passing, order) + float64(len(order)-2)*p.slowest(order)
}

// slowest is the longest passing in a circle.
func (p paths) slowest(order []int) (t float64) {
	for i, h := range order {
		t = max(t, p.passing[h][order[(i+1)%len(order)]])
	}
	return t
}

const (
	// avoiding is how often circle looks for a ring without the slowest paths of the last one.
	avoiding = 8
	// asSlow is the share of the slowest path's time from which on others are as slow.
	asSlow = 0.8
)

// circle is the order of the hosts from host 0 on. The sum of the paths' costs is what the solver of
// the asymmetric travelling salesman's problem makes least. The slowest path counts beside the
// sum, so circle forbids those of each ring and solves again, until they cannot be avoided.
func (p paths) circle() []int {
	n := len(p.latency)
	given := make([]int, n)
	for i := range given {
		given[i] = i
	}
	if n < 3 {
		return given
	}
	cost, most := make([][]float64, n), 0.0
	for i := range cost {
		cost[i] = make([]float64, n)
		for j := range cost[i] {
			cost[i][j] = 2*p.latency[i][j] + p.passing[i][j]
			most = max(most, cost[i][j])
		}
	}
	forbidden := float64(n) * most // is dearer than any circle
	best := given
	for range avoiding {
		order := tour(cost)
		if length(cost, order) > forbidden {
			break
		}
		if p.time(order) < p.time(best) {
			best = order
		}
		limit := asSlow * p.slowest(order)
		if limit == 0 {
			break
		}
		for i := range cost {
			for j := range cost[i] {
				if i != j && p.passing[i][j] >= limit && cost[i][j] <= most {
					cost[i][j] += forbidden
				}
			}
		}
	}
	if p.time(best) > worthwhile*p.time(given) {
		return given
	}
	return best
}
