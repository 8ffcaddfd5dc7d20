// Package topology plans how ranks on several hosts sum a vector: which of the algorithms of
// package allreduce takes the least time, and in which order a ring passes the hosts. It is
// pure. Every rank plans from the same input and so comes to the same plan.
//
// # The cost of a sum
//
// A message takes α seconds, and a link carries β bytes a second in each direction. A sum of
// n bytes takes
//
//	T = α·h + m/β
//
// where h is the number of messages in sequence, and m the bytes that the busiest link of a
// host sends. Hosts have one link each, which their ranks share. A message within a host
// counts as a quarter, and its bytes as none. With W ranks on H hosts, G on each:
//
//	            h                      m
//	exchange    1                      G·(W-G)·n
//	ring        2·(W-1)/W·(H + R/4)    2·(W-1)/W·n      the ranks of a host follow each other; R = W - H
//	doubling    2·⌈log₂ W⌉             3·(W-1)/W·n      G = 1; else what the host's ranks send to others
//	by host     1/2 + that of H ranks on H hosts, by ring or doubling
//
// Ranks of a single host count as hosts, whose messages take a quarter. The 3 of doubling is 2, and half as much again for the time in which ranks wait for the
// slowest. Algorithms are compared by T/α = h + m/(α·β), for which only α·β is needed: the
// bytes that a link carries in the time of a message ([MessageBytes]).
package topology
