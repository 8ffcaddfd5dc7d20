#!/usr/bin/env bash
# Runs TestU01's batteries on the simulator's normals: docs/results/noise.md.
#
#   docs/benchmarks/noise/run.sh [STREAM BATTERY [reversed]]
#
# STREAM is chain, functions, chain-bits or functions-bits, BATTERY small, crush
# or a list of Crush's tests (README.md). Without arguments: SmallCrush on all
# four, then the tests of linearity and the whole of Crush, hours of one core.
#
# Needs Go, a C compiler, autotools' make and, unless TESTU01 names the prefix
# of an installation, git. Builds and results go to $NOISE_DIR, by default
# .noise in the repository.
set -euo pipefail
cd "$(dirname "$0")/../../.."
here=docs/benchmarks/noise
dir=${NOISE_DIR:-.noise}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
commit=a038a868755a75fca4ca8734031335aa0a7f7bcb

if [ -z "${TESTU01:-}" ]; then
	TESTU01=$dir/testu01
	if [ ! -e "$TESTU01/lib/libtestu01.a" ]; then
		rm -rf "$dir/source"
		git clone --quiet https://github.com/umontreal-simul/TestU01-2009 "$dir/source"
		git -C "$dir/source" checkout --quiet "$commit"
		# The code predates C99's rules on implicit declarations.
		(cd "$dir/source" && ./configure --quiet --disable-shared --prefix="$TESTU01" CFLAGS="-O3 -std=gnu89" &&
			make --silent && make --silent install) >"$dir/testu01.log" 2>&1
	fi
fi
cc -O3 -o "$dir/crush" $here/crush.c -I"$TESTU01/include" -L"$TESTU01/lib" -ltestu01 -lprobdist -lmylib -lm
go test -c -o "$dir/words" ./data/simulation/simulate

battery() { # stream, battery[, reversed]
	local result=$dir/$1-$2${3:+-$3}.txt
	# A broken pipe ends the source.
	{ nice -n 19 "$dir/words" -test.run '^TestWords$' -test.timeout 0 -stream "$1" || true; } |
		nice -n 19 "$dir/crush" "$@" >"$result"
	tail -n 1 "$result"
	grep outside "$result" | grep -e '<--' || true
}

if [ $# -gt 0 ]; then
	battery "$@"
	exit
fi
for stream in chain functions chain-bits functions-bits; do
	battery "$stream" small
done
battery chain-bits 56-61,71-72
battery chain-bits 56-61,71-72 reversed
for stream in chain functions chain-bits functions-bits; do
	battery "$stream" crush
done
