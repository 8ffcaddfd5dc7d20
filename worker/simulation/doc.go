// Package simulation tests the cluster's protocol: the coordinator's machine and
// the workers' protocol, as they are, in a world that is made up. Network,
// clock, disk, device and ring come from one seed, and so does what goes wrong:
//
//	messages   late, twice, lost with their stream; streams that one side alone knows to be broken
//	links      cut, one way or both, between any two
//	processes  crash between any two effects, hang, restart, drain, join
//	disks      writes that a crash undoes; checkpoints that cannot be stored
//	rings      that end for some members and break for the others
//
// After every event the invariants of checker hold, or the seed fails: the test
// prints what happened and the command that replays it. sabotage_test.go breaks
// the protocol on purpose, in one way at a time, and asserts that this is found.
//
//	make simulate SEEDS=10000    that many seeds
//	make simulate SEED=17        one of them, with its whole trace
//
// There is nothing but tests here.
package simulation
