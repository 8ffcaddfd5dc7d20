package machine

import (
	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/allreduce/topology"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// inRingOrder gives the members their ranks, by which they form a ring: those of a host follow
// each other, and hosts are in a circle that takes little time, as far as the reports have the links.
// No member has been told its rank yet. The first stays the first: it has a state, if any has.
func (m *Machine) inRingOrder(g *generation) {
	addresses := make([]string, len(g.members))
	known := make([][]message.Link, len(g.members)) // as the first index measured its link with the second
	var bytes int64
	for a, id := range g.members {
		addresses[a] = m.byID(id).DataAddress
		known[a] = make([]message.Link, len(g.members))
		for b := range known[a] {
			known[a][b].Latency = -1
		}
		for _, l := range g.reports[id].Links {
			if b, ok := g.ranks[l.Peer]; ok {
				known[a][b] = l
			}
		}
		bytes = max(bytes, g.reports[id].SumBytes)
	}
	order := topology.Order(topology.Of(addresses), topology.Links{
		Latency: func(a, b int) float64 { return known[a][b].Latency / 2 }, // of one way
		Rate: func(a, b int) float64 {
			if rate := known[b][a].Rate; rate > 0 { // who receives measures
				return rate
			}
			return known[a][b].Rate // of the other direction: b was a member already, and did not measure
		},
		Bytes: float64(bytes),
	})
	members := make([]ergoflow.WorkerID, len(order))
	for rank, i := range order {
		members[rank] = g.members[i]
		g.ranks[members[rank]] = rank
	}
	g.members = members
}
