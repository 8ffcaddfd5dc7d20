#!/usr/bin/env bash
# What a worker needs for a shard that another worker has, over a link of 1 Gbit/s, beside a bare
# connection of TCP. The link is the loopback device of a network namespace of its own, with
# Ethernet's packets; both directions share it. Needs root and iproute2:
#
#     docs/benchmarks/cold_read.sh [RATE]      (default 1gbit)
set -euo pipefail
cd "$(dirname "$0")/../.."
tests=$(mktemp)
trap 'rm -f "$tests"' EXIT
go test -c -o "$tests" ./worker/peer
unshare --net sh -euc '
	ip link set lo mtu 1500 up
	tc qdisc add dev lo root tbf rate "$1" burst 128kb latency 50ms
	"$2" -test.run "^$" -test.bench "^Benchmark(TCP|ColdRead)$" -test.benchtime 5x -test.count 5
' sh "${1:-1gbit}" "$tests"
