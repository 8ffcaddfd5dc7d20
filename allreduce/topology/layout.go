package topology

import (
	"net"
	"slices"
)

// Layout is which ranks share a host.
type Layout struct {
	host  []int // by rank; numbered in the order of the first rank
	hosts int
}

// Of returns the layout of ranks with these data addresses, host:port or any names.
func Of(addresses []string) Layout {
	l := Layout{host: make([]int, len(addresses))}
	known := make(map[string]int)
	for rank, address := range addresses {
		name, _, err := net.SplitHostPort(address)
		if err != nil {
			name = address
		}
		number, ok := known[name]
		if !ok {
			number = len(known)
			known[name] = number
		}
		l.host[rank] = number
	}
	l.hosts = len(known)
	return l
}

// OneEach is the layout of one rank on each of so many hosts.
func OneEach(hosts int) Layout {
	l := Layout{host: make([]int, hosts), hosts: hosts}
	for h := range l.host {
		l.host[h] = h
	}
	return l
}

// World is the number of ranks.
func (l Layout) World() int { return len(l.host) }

// Hosts is the number of hosts.
func (l Layout) Hosts() int { return l.hosts }

// OfHost are the ranks on the host of a rank, in order.
func (l Layout) OfHost(rank int) []int {
	var ranks []int
	for r, h := range l.host {
		if h == l.host[rank] {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

// Column are the ranks that have the same place on their hosts as a rank has on its, by host.
// Only in even layouts is it one of every host.
func (l Layout) Column(rank int) []int {
	place := slices.Index(l.OfHost(rank), rank)
	column := make([]int, 0, l.hosts)
	seen := make([]int, l.hosts)
	for r, h := range l.host {
		if seen[h] == place {
			column = append(column, r)
		}
		seen[h]++
	}
	return column
}

// Even reports whether several hosts have the same number of ranks, and more than one.
func (l Layout) Even() bool {
	counts := l.counts()
	return l.hosts > 1 && counts[0] > 1 && slices.Min(counts) == slices.Max(counts)
}

// counts are the ranks of each host.
func (l Layout) counts() []int {
	counts := make([]int, l.hosts)
	for _, h := range l.host {
		counts[h]++
	}
	return counts
}
