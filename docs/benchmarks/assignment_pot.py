"""Compares `ergoflow bench assignment`, batches of exact assignments, with POT and
SciPy in one sitting. Each round times all in turn. The ratio of a round is the peer's
median over ergoflow's; the table has the median of the rounds, with the least and
largest.

    make bench-peers        (or: .venv/bin/python docs/benchmarks/assignment_pot.py)

All solve 256 problems between standard normal clouds of 64 points in two
dimensions. ergoflow's time includes the squared distances; the peers receive them
precomputed, in float64. Both peers use one thread. Tests check that the costs are the
same: see assignment_golden.py.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np
import ot
from scipy.optimize import linear_sum_assignment

HERE = pathlib.Path(__file__).parent


def ergoflow(o, threads):
    command = [HERE.parent.parent / "bin" / "ergoflow", "bench", "assignment", "--points", o.points, "--problems", o.problems,
               "--dimension", o.dimension, "--threads", threads, "--rounds", "20", "--json"]
    out = subprocess.run([str(c) for c in command], check=True, stdout=subprocess.PIPE, text=True).stdout
    return {m["engine"]: m["median_s"] for m in json.loads(out)}


def peer(costs, solve):
    """Median of five batches, after a few problems to warm up."""
    for c in costs[:3]:
        solve(c)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        for c in costs:
            solve(c)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--points", type=int, default=64)
    options.add_argument("--problems", type=int, default=256)
    options.add_argument("--dimension", type=int, default=2)
    options.add_argument("--threads", type=int, default=2, help="ergoflow's threads, measured besides one thread (default: %(default)s)")
    o = options.parse_args()
    random = np.random.default_rng(0)
    x, y = (random.standard_normal((o.problems, o.points, o.dimension)).astype(np.float32).astype(np.float64) for _ in range(2))
    costs = [np.ascontiguousarray(((a[:, None] - b[None]) ** 2).sum(2)) for a, b in zip(x, y)]
    weights = np.full(o.points, 1 / o.points)
    times = {}
    for r in range(o.rounds):
        for threads in sorted({1, o.threads}):
            for engine, seconds in ergoflow(o, threads).items():
                times.setdefault(("ergoflow", engine, threads), []).append(seconds)
        times.setdefault(("POT", "ot.emd", 1), []).append(peer(costs, lambda c: ot.emd(weights, weights, c)))
        times.setdefault(("SciPy", "linear_sum_assignment", 1), []).append(peer(costs, linear_sum_assignment))
        print(f"round {r + 1}: " + ", ".join(f"{k[0]} {k[1]}×{k[2]} {1e3 * v[-1]:.1f} ms" for k, v in times.items()), file=sys.stderr)

    def ratio(peer, ours):
        r = [p / a for p, a in zip(times[peer], ours)]
        return f"{statistics.median(r):.1f} ({min(r):.1f}–{max(r):.1f})"

    print(f"{o.problems} problems of {o.points}×{o.points} in {o.dimension}D\n")
    print("| | threads | ms per batch | POT / it | SciPy / it |\n|---|---|---|---|---|")
    for (who, engine, threads), t in times.items():
        print(f"| {who} {engine} | {threads} | {1e3 * statistics.median(t):.2f} | "
              f"{ratio(('POT', 'ot.emd', 1), t)} | {ratio(('SciPy', 'linear_sum_assignment', 1), t)} |")


if __name__ == "__main__":
    main()
