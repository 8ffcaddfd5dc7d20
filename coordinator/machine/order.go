package machine

import (
	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/allreduce/topology"
)

// inRingOrder gives the members their ranks, by which they form a ring: those of a host follow
// each other, and hosts are in a circle of short latencies, as far as the reports have them.
// No member has been told its rank yet. The first stays the first: it has a state, if any has.
func (m *Machine) inRingOrder(g *generation) {
	addresses := make([]string, len(g.members))
	latency := make([][]float64, len(g.members)) // seconds; negative: unknown
	for a, id := range g.members {
		addresses[a] = m.byID(id).DataAddress
		latency[a] = make([]float64, len(g.members))
		for b := range latency[a] {
			latency[a][b] = -1
		}
		for _, l := range g.reports[id].Latencies {
			if b, ok := g.ranks[l.Peer]; ok {
				latency[a][b] = l.Seconds
			}
		}
	}
	order := topology.Order(topology.Of(addresses), func(a, b int) float64 { return latency[a][b] })
	members := make([]ergoflow.WorkerID, len(order))
	for rank, i := range order {
		members[rank] = g.members[i]
		g.ranks[members[rank]] = rank
	}
	g.members = members
}
