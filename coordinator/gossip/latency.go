package gossip

import (
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/memberlist"
)

// memberlist probes another member every second, in turn, with a small packet and its answer.
// A probe takes longer where a process is busy or a packet waits. So the latency of a member is the
// least of its last probes.

// probesKept of each member.
const probesKept = 8

// Latency is how long a small packet takes to a member and back.
type Latency struct {
	Name, Role string
	Latency    time.Duration
}

// Latencies are those of the live members, by name. Members that were not probed yet, or
// answered by TCP alone, are left out.
func (g *Gossip) Latencies() []Latency {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := make([]Latency, 0, len(g.probes))
	for name, probes := range g.probes {
		list = append(list, Latency{name, g.members[name].Meta.Role, slices.Min(probes)})
	}
	slices.SortFunc(list, func(a, b Latency) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// probed notes a probe.
func (g *Gossip) probed(name string, took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, live := g.members[name]; !live {
		return
	}
	if g.probes == nil {
		g.probes = make(map[string][]time.Duration)
	}
	probes := append(g.probes[name], took)
	g.probes[name] = probes[max(len(probes)-probesKept, 0):]
}

func (d delegate) AckPayload() []byte { return nil }

func (d delegate) NotifyPingComplete(n *memberlist.Node, took time.Duration, _ []byte) {
	d.g.probed(n.Name, took)
}
