// Package simulation tests the cluster's protocol: the coordinator's machine and the
// workers' protocol run unchanged in a simulated world. Network, clock, disk, device and
// ring follow from one seed, and so do the faults:
//
//	messages   late, twice, lost with their stream; streams that only one side knows to be broken
//	links      cut, one way or both, between any two hosts
//	processes  crash between any two effects, hang, restart, drain, join
//	disks      writes that a crash undoes; checkpoints that cannot be stored
//	rings      that end for some members and break for the others
//
// Half of the worlds have one coordinator, the others three or five, which agree on a log
// of ledgers as hashicorp/raft does (consensus_test.go). There also go wrong
//
//	messages   between coordinators: late, lost
//	links      between coordinators: cut, one way or both; networks that split
//	leaders    hang for longer than a lease and then do what they had queued; are deposed and
//	           unaware of it; do not hear that an entry of theirs is committed
//	disks      lose what was written and not acknowledged; come back as they were before;
//	           lack checkpoints that a majority has
//	restarts   of one after the other, and of all at once
//	clocks     run at rates that differ by up to 1 %
//
// After every event the invariants of checker must hold. Otherwise the test prints what
// happened and the command that replays it. sabotage_test.go breaks the protocol in one
// way at a time, and checks that the checker finds it.
//
//	make simulate SEEDS=10000    that many seeds
//	make simulate SEED=17        one of them, with its whole trace
//
// The package has nothing but tests.
package simulation
