"""How cheap training data can be: the error of the model against the number of stored
samples, the number of functions and the simulation's settings. One of them varies at a
time; everything else, including the number of updates, is as in a preset.

    make build && python3 docs/benchmarks/cheaper_data.py --preset scaled --seeds 1

writes docs/results/cheaper-data.md, .csv.xz with the distances of every function, and
.svg. The axes:

    samples     N stored samples of each function, each used more often when there are fewer
    functions   F training functions, likewise; the held-out ones stay the same
    burn-in     steps of a chain before its first sample
    thinning    steps between samples of a chain
    chains      chains that share a function's samples

rare1d draws from its exact laws and has only the first two axes. Every point is a
training: hours at the scaled preset. Finished runs are reused, those of ablation.py
too; --keep also reuses the seeds in the .csv.xz of an earlier page. Only the standard
library is needed.
"""

import argparse
import copy
import csv
import functools
import lzma
import math
import pathlib
import random
import statistics
import sys

import ablation
from logticks import logticks

AXES = ["samples", "functions", "burn-in", "thinning", "chains"]


def points(axis, preset):
    """(value, settings) along an axis, including the preset's own value."""
    data, training = preset["data"], preset["training"]
    scheme = data["training"]
    out = []

    def add(value, sets):
        out.append((value, [] if value == own else sets))

    if axis == "samples":
        own = data["samples"]
        for k in (1, 2, 4, 8, 16):
            n = own // k
            if own % k == 0 and n % training["batch_samples"] == 0:
                chains = math.gcd(scheme["chains"], n)
                add(n, [f"data.samples={n}", f"training.epochs={k * training['epochs']}", f"data.training.chains={chains}"])
    elif axis == "functions":
        own = data["functions"]
        step = math.lcm(data["shards"], training["batch_functions"])
        for k in (1, 2, 8, 32):
            if own % (k * step) == 0:
                add(own // k, [f"data.functions={own // k}", f"training.epochs={k * training['epochs']}",
                               f"data.held_out_from={data.get('held_out_from', own)}"])
    elif axis == "burn-in":
        own = scheme["burn_in"]
        for k in (1, 2, 5, 10, 50):
            add(own // k, [f"data.training.burn_in={own // k}"])
    elif axis == "thinning":
        own = scheme["thin"]
        for n in sorted({own, 1, 10, 100}):
            add(n, [f"data.training.thin={n}"])
    elif axis == "chains":
        own = scheme["chains"]
        for k in (1, 4, 16, 64):
            if own % k == 0:
                add(own // k, [f"data.training.chains={own // k}"])
    return sorted(out)


def cost(preset, sets):
    """Simulated steps per training function, for the preset with these settings."""
    data = copy.deepcopy(preset["data"])
    for s in sets:
        path, value = s.split("=")
        *parents, name = path.split(".")
        if parents[0] == "data":
            functools.reduce(dict.get, parents[1:], data)[name] = int(value)
    s = data["training"]
    return s["chains"] * (s["burn_in"] + (data["samples"] // s["chains"] - 1) * s["thin"])


def mean_interval(seeds, metric, rng):
    """Mean over seeds and functions, and its 95 % interval by a bootstrap over both."""
    rows = [[f[metric] for _, f in sorted(distances.items())] for distances in seeds]
    return statistics.fmean(x for row in rows for x in row), *ablation.interval(rows, rng)


def ratio_interval(seeds, base, rng, resamples=2_000):
    """Mean Sinkhorn divergence divided by the preset's, and its 95 % interval by a
    bootstrap over both. Pairs share function and seed, so the interval is narrower
    than those of the means."""
    pairs = []
    for distances, own in zip(seeds, base):
        pairs.append([(f["sinkhorn"], own[index]["sinkhorn"]) for index, f in sorted(distances.items())])
    functions = range(len(pairs[0]))

    def ratio(rows, chosen):
        return sum(row[f][0] for row in rows for f in chosen) / sum(row[f][1] for row in rows for f in chosen)

    drawn = sorted(ratio(rng.choices(pairs, k=len(pairs)), rng.choices(functions, k=len(functions))) for _ in range(resamples))
    return ratio(pairs, functions), drawn[int(0.025 * resamples)], drawn[int(0.975 * resamples) - 1]


def panel(axis, series, left, lowest, highest):
    """One panel of the figure: both scales logarithmic, the bars are intervals."""
    top, width, height = 40, 200, 220

    def y(v):
        return top + height * (1 - math.log(v / lowest) / math.log(highest / lowest))

    values = [p["value"] for p in series]
    # Zero burn-in has no logarithm: it is drawn one step left of the others.
    positive = [math.log(v) for v in values if v > 0]
    gap = (positive[-1] - positive[0]) / max(len(positive) - 1, 1) or 1
    xs = [math.log(v) if v > 0 else positive[0] - gap for v in values]
    span = xs[-1] - xs[0] or 1
    at = [left + 15 + (width - 30) * (x - xs[0]) / span for x in xs]
    out = [f'<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="none" stroke="#999"/>',
           f'<text x="{left + width / 2}" y="{top + height + 36}" text-anchor="middle">{axis}</text>']
    for x, p in zip(at, series):
        out.append(f'<text x="{x:.1f}" y="{top + height + 16}" text-anchor="middle" font-size="9">{p["value"]:,}</text>')
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y(p["low"]):.1f}" y2="{y(p["high"]):.1f}" stroke="#36c"/>')
        out.append(f'<circle cx="{x:.1f}" cy="{y(p["mean"]):.1f}" r="3" fill="#36c"/>')
    line = " ".join(f"{x:.1f},{y(p['mean']):.1f}" for x, p in zip(at, series))
    return out + [f'<polyline points="{line}" fill="none" stroke="#36c"/>']


def figure(experiment, axes):
    """Mean Sinkhorn divergence along each axis, on one scale, as SVG."""
    all_points = [p for series in axes.values() for p in series]
    lowest, highest = min(p["low"] for p in all_points) * 0.9, max(p["high"] for p in all_points) * 1.1
    out = []
    for k, (axis, series) in enumerate(axes.items()):
        out += panel(axis, series, 60 + 220 * k, lowest, highest)
    for v in logticks(lowest, highest):
        y = 260 - 220 * math.log(v / lowest) / math.log(highest / lowest)
        out.append(f'<text x="54" y="{y + 4:.1f}" text-anchor="end" font-size="11">{v:g}</text>')
        out.append(f'<line x1="57" x2="60" y1="{y:.1f}" y2="{y:.1f}" stroke="#999"/>')
    out.append(f'<text x="60" y="24">{experiment}: mean Sinkhorn divergence of the model, 95 % intervals</text>')
    return 80 + 220 * len(axes), out


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--experiments", default="vn1d,rare1d")
    options.add_argument("--preset", default="scaled")
    options.add_argument("--seeds", default="1")
    options.add_argument("--axes", default=",".join(AXES))
    options.add_argument("--set", action="append", default=[], help="override one setting in every run (repeatable)")
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--dir", type=pathlib.Path, default=pathlib.Path("ergoflow-runs/ablation"))
    options.add_argument("--out", type=pathlib.Path, default=ablation.ROOT / "docs" / "results" / "cheaper-data.md")
    options.add_argument("--ergoflow", type=pathlib.Path, default=ablation.ROOT / "bin" / "ergoflow")
    options.add_argument("--keep", action="store_true", help="reuse the seeds in the page --out, which the same command must have made")
    o = options.parse_args()
    seeds = [int(s) for s in o.seeds.split(",")]
    asked = f"python3 docs/benchmarks/cheaper_data.py --experiments {o.experiments} --preset {o.preset} --seeds {o.seeds}"
    if o.axes != ",".join(AXES):
        asked += f" --axes {o.axes}"
    for s in o.set:
        asked += f" --set {s}"

    earlier = ablation.kept(o.out, asked, "experiment", "axis", "value") if o.keep else {}
    rows, lines, drawings, any_results = [], [], [], None
    for experiment in o.experiments.split(","):

        def judged(axis, value, sets, seed):
            """The distances of one seed at a point, by function."""
            found = earlier.get((experiment, axis, str(value), seed))
            return found or ablation.distances(ablation.run(o, experiment, sets, seed))

        # The last seed's run has the configuration that all share.
        any_results = ablation.run(o, experiment, [], seeds[-1])
        preset = any_results["experiment"]
        simulated = preset["data"].get("draws") != "exact" and experiment != "rare1d"
        axes = {}
        lines += [f"## {experiment}", "",
                  "| varied | value | settings | simulated steps per function | Sinkhorn mean [95 %] | times the preset's [95 %] | W2 mean [95 %] | W2 to the exact law, mean [95 %] |",
                  "|---|---|---|---|---|---|---|---|"]
        for axis in o.axes.split(","):
            if axis not in AXES:
                sys.exit(f"cheaper data: no axis {axis!r}, want some of {AXES}")
            if axis in AXES[2:] and not simulated:
                continue
            axes[axis] = []
            series = points(axis, preset)
            own = next(value for value, sets in series if not sets)
            base = [judged(axis, own, [], seed) for seed in seeds]
            for value, sets in series:
                judgements = [judged(axis, value, sets, seed) for seed in seeds]
                for seed, distances in zip(seeds, judgements):
                    for index, d in distances.items():
                        rows.append([experiment, axis, value, seed, index, *d.values()])
                cells = []
                for metric in ablation.DISTANCES:
                    mean, low, high = mean_interval(judgements, metric, random.Random(f"{experiment}/{metric}"))
                    cells.append(f"{mean:.4f} [{low:.4f}, {high:.4f}]")
                    if metric == "sinkhorn":
                        axes[axis].append({"value": value, "mean": mean, "low": low, "high": high})
                        ratio, low, high = ratio_interval(judgements, base, random.Random(f"{experiment}/ratio"))
                        cells.append(f"{ratio:.3g} [{low:.3g}, {high:.3g}]" if sets else "1")
                steps = f"{cost(preset, sets):,}" if simulated else ""
                said = " ".join(f"`{s}`" for s in sets) or "as the preset"
                lines.append("| " + " | ".join([axis, f"{value:,}", said, steps, *cells]) + " |")
        lines.append("")
        drawings.append(figure(experiment, axes))

    head = [
        "# Cheaper data",
        "",
        f"`{asked}`, {ablation.made(any_results)}",
        "",
        f"Preset `{o.preset}` with one thing changed, at the same number of updates; "
        f"{len(seeds)} {'seed' if len(seeds) == 1 else 'seeds'}, {any_results['functions']} held-out functions with "
        f"{any_results['samples']:,} samples each, the same for all. Intervals are from a bootstrap over functions"
        + (" and seeds." if len(seeds) > 1 else ", and with one seed lack the spread between seeds."),
        "",
        f"![mean divergence along each axis]({o.out.with_suffix('.svg').name})",
        "",
    ]
    ablation.write(o.out, head + lines)
    with lzma.open(o.out.with_suffix(".csv.xz"), "wt", newline="") as f:
        writer = csv.writer(f, lineterminator="\n")
        writer.writerow(["experiment", "axis", "value", "seed", "function", *ablation.DISTANCES])
        writer.writerows(rows)
    width, body = max(w for w, _ in drawings), []
    for k, (_, drawing) in enumerate(drawings):
        body += [f'<g transform="translate(0 {310 * k})">', *drawing, "</g>"]
    o.out.with_suffix(".svg").write_text("\n".join(
        [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{310 * len(drawings)}" font-family="sans-serif" font-size="12">',
         '<rect width="100%" height="100%" fill="white"/>', *body, "</svg>", ""]))
    print(f"wrote {o.out}, {o.out.with_suffix('.csv.xz').name} and {o.out.with_suffix('.svg').name} beside it", file=sys.stderr)


if __name__ == "__main__":
    main()
