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
// After every event the invariants of checker must hold. Otherwise the test prints what
// happened and the command that replays it. sabotage_test.go breaks the protocol in one
// way at a time, and checks that the checker finds it.
//
//	make simulate SEEDS=10000    that many seeds
//	make simulate SEED=17        one of them, with its whole trace
//
// The package has nothing but tests.
package simulation
