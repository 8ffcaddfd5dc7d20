// Package gossiptest helps tests of processes that take part in the gossip.
package gossiptest

import "go.uber.org/goleak"

// Outlives are the goroutines of memberlist that end by themselves, but after
// Shutdown: a probe that waits for its answer, and a probe for another member that
// waits until it has to say that no answer came. Both end within ProbeTimeout.
// Tests ask goleak to find every other goroutine that is left.
func Outlives() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreAnyFunction("github.com/hashicorp/memberlist.(*Memberlist).probeNode"),
		goleak.IgnoreAnyFunction("github.com/hashicorp/memberlist.(*Memberlist).handleIndirectPing.func2"),
	}
}
