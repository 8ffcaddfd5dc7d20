"""Compares the model's rows of two presets function by function: the ratio of their
means, the mean difference, second minus first, and the number of functions on which
the second is nearer. Intervals are 95 % percentiles of a bootstrap over functions (the
pages' intervals of means are BCa). Distances of a function are means over the seeds
that both presets have.

    python3 docs/benchmarks/compare.py vn1d scaled best

reads docs/results/record.tar.xz, or the directories of reproductions given by --dir. With
--second-from the second is taken from there, such as report/results.json of runs of the same
preset with other settings. Functions that only one was evaluated on are left out.
Prints a Markdown table.
"""

import argparse
import pathlib
import random
import statistics
import sys

from ablation import DISTANCES, distances
from record import RECORD, evaluations

RESAMPLES = 5_000
SOLVER = "rk4-4"  # the presets'; rare1d is also evaluated with others


def model(sources, experiment, preset):
    """The model's distances by seed, function and metric."""
    seeds = {}
    for results in (r for source in sources for r in evaluations(source)):
        e = results["experiment"]
        if (e["name"], e["preset"], e["evaluation"]["solver"]) == (experiment, preset, SOLVER) and any(r["kind"] == "model" for r in results["rows"]):
            if e["seed"] in seeds:
                sys.exit(f"compare: {experiment}/{preset} has several networks")
            seeds[e["seed"]] = distances(results)
    if not seeds:
        sys.exit(f"compare: no evaluation of {experiment}/{preset}")
    return seeds


def over_seeds(by_seed, seeds):
    """The mean over the seeds."""
    return {i: {m: statistics.fmean(by_seed[s][i][m] for s in seeds) for m in DISTANCES} for i in by_seed[seeds[0]]}


def middle(values):
    """The central 95 %."""
    values = sorted(values)
    return f"[{values[int(0.025 * len(values))]:.3g} to {values[int(0.975 * len(values)) - 1]:.3g}]"


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("experiment")
    options.add_argument("first", help="a preset")
    options.add_argument("second", help="another")
    options.add_argument("--dir", type=pathlib.Path, nargs="+", default=[RECORD])
    options.add_argument("--second-from", type=pathlib.Path, nargs="+", help="sources of the second, if others")
    o = options.parse_args()
    first, second = model(o.dir, o.experiment, o.first), model(o.second_from or o.dir, o.experiment, o.second)
    seeds = sorted(first.keys() & second.keys())
    if not seeds:
        sys.exit("compare: the two presets have no seed in common")
    first, second = over_seeds(first, seeds), over_seeds(second, seeds)
    print(f"Seeds {', '.join(map(str, seeds))}.\n")
    indices = sorted(first.keys() & second.keys())
    if not indices:
        sys.exit("compare: the two were evaluated on different functions")
    print(f"| | {o.first}, mean | {o.second}, mean | ratio | difference | nearer |\n|---|---:|---:|---:|---:|---:|")
    for metric in DISTANCES:
        a, b = [first[i][metric] for i in indices], [second[i][metric] for i in indices]
        rng = random.Random(f"{o.experiment}/{metric}")
        drawn = [rng.choices(range(len(indices)), k=len(indices)) for _ in range(RESAMPLES)]
        ratios = [sum(b[i] for i in d) / sum(a[i] for i in d) for d in drawn]
        differences = [statistics.fmean(b[i] - a[i] for i in d) for d in drawn]
        print(f"| {o.experiment}, {metric} | {statistics.fmean(a):.3g} | {statistics.fmean(b):.3g} | "
              f"{sum(b) / sum(a):.3g} {middle(ratios)} | {statistics.fmean(b) - statistics.fmean(a):.3g} {middle(differences)} | "
              f"{sum(y < x for x, y in zip(a, b))} of {len(indices)} |")


if __name__ == "__main__":
    main()
