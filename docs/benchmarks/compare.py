"""Compares the model's rows of two reproductions function by function: the ratio
of their means and the mean difference, second minus first, with 95 % intervals of
a bootstrap over functions, and on how many functions the second is nearer.

    ergoflow reproduce rare1d --preset scaled --seeds 1
    ergoflow reproduce rare1d --preset best --seeds 1
    python3 docs/benchmarks/compare.py rare1d ergoflow-runs/reproduce-scaled ergoflow-runs/reproduce-best

Both must be judged on the same held-out functions. Prints a Markdown table.
"""

import argparse
import json
import pathlib
import random
import statistics
import sys

from ablation import DISTANCES, distances

RESAMPLES = 5_000


def model(directory, experiment):
    """Distances of seed 1's own evaluation, the one that has a floor."""
    for path in sorted(directory.glob("evaluations/*/results.json")):
        results = json.loads(path.read_text())
        e = results["experiment"]
        if e["name"] == experiment and e["seed"] == 1 and any(r["kind"] == "floor" for r in results["rows"]):
            return distances(results)
    sys.exit(f"compare: no evaluation of {experiment} with seed 1 in {directory}")


def middle(values):
    values = sorted(values)
    return f"[{values[int(0.025 * len(values))]:.3g} to {values[int(0.975 * len(values)) - 1]:.3g}]"


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("experiment")
    options.add_argument("first", type=pathlib.Path)
    options.add_argument("second", type=pathlib.Path)
    o = options.parse_args()
    first, second = model(o.first, o.experiment), model(o.second, o.experiment)
    if first.keys() != second.keys():
        sys.exit("compare: the two were judged on different functions")
    indices = sorted(first)
    print("| | first, mean | second, mean | ratio | difference | nearer |\n|---|---:|---:|---:|---:|---:|")
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
