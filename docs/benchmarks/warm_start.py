"""What a warm start saves: how near a run comes to the reference when it begins from an
earlier state, beside a cold start, after 10 % new functions.

    make build && nice python3 docs/benchmarks/warm_start.py --preset demo --seeds 1,2,3

writes docs/results/warm-start.md, and beside it warm-start.csv.xz with the distances of
every function. For each experiment and seed it trains

    parent   on the first 10/11 of the functions, from random parameters
    cold     on all of them, from random parameters: the preset
    short    the same in fewer steps, with a OneCycle schedule of that length
    warm     on all of them, from the parent's last state, in as few steps as that, with
             several peaks of the learning rate

and evaluates all on the same held-out functions, on which no run trains. It also evaluates
checkpoints along the cold start. In the middle of a schedule the learning rate is high, so
they are worse than a run that ends there, which is "short".

Finished runs are reused and an interrupted one goes on: the same command continues.
--publish writes the page of what is finished and trains nothing. --keep takes runs whose
directories are gone from the earlier page's CSV. Only the standard library is needed.
"""

import argparse
import csv
import datetime
import json
import lzma
import os
import pathlib
import random
import statistics
import subprocess
import sys
import threading

import sitting
from ablation import DISTANCES, distances, interval, of_same_command, write

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Functions of the preset and of the parent, stored samples of each, and pairs in a batch.
SIZES = {
    "demo": {"functions": 64512, "parent": 58624, "samples": 160, "batch": 32 * 32},
    "smoke": {"functions": 256, "parent": 224, "samples": 64, "batch": 16 * 16},
}
# Warm starts: parts of the cold start's steps, and peaks, in the order in which they run.
WARM = [(4, 1e-3), (4, 3e-4), (10, 1e-3), (2, 1e-3), (10, 3e-4), (2, 3e-4), (4, 1e-4), (10, 1e-4), (40, 3e-4), (40, 1e-4)]
SHORT = [10, 4]
CURVE = [20, 10, 4, 2]
RESAMPLES = 4_000


def cold_steps(o):
    """The steps of the cold start: one epoch."""
    size = SIZES[o.preset]
    return size["functions"] * (o.samples or size["samples"]) // size["batch"]


def plan(o):
    """The runs of one experiment and seed: (name, settings, whether it is warm), in order."""
    size, steps = SIZES[o.preset], cold_steps(o)
    runs = [("parent", [f"data.functions={size['parent']}", f"data.held_out_from={size['functions']}"], False), ("cold", [], False)]
    for k, peak in WARM:
        runs.append((f"warm-{k}-{peak:g}", [f"training.steps={steps // k}", f"training.learning_rate={peak:g}"], True))
    for k in SHORT:
        runs.append((f"short-{k}", [f"training.steps={steps // k}"], False))
    return runs


def named(o, experiment):
    return f"{experiment}-{o.preset}" + (f"-{o.samples}" if o.samples else "")


def directory(o, experiment, seed, name):
    """A run's directory. Runs of one experiment share their shards."""
    base = o.dir / named(o, experiment)
    d, shards = base / f"seed{seed}" / name, base / "shards"
    d.mkdir(parents=True, exist_ok=True)
    shards.mkdir(exist_ok=True)
    if not (d / "shards").is_symlink():
        os.symlink(os.path.relpath(shards, d), d / "shards")
    return d


def call(o, d, verb, experiment, sets, *more):
    """Runs the program, with its output in the directory's log."""
    line = [o.ergoflow, verb, experiment, "--preset", o.preset, "--dir", d, "--set", "evaluation.mcmc=[]", *more]
    for s in sets:
        line += ["--set", s]
    with open(d / "output.log", "a") as log:
        if subprocess.run(line, stdout=log, stderr=log).returncode:
            sys.exit(f"warm_start: {verb} failed, see {log.name}")


def export_along(o, d, stop):
    """Exports checkpoints of a run while it trains: only the newest few stay in its store."""
    marks = [cold_steps(o) // k for k in CURVE]
    while not stop.wait(2):
        shown = subprocess.run([o.ergoflow, "status", "--dir", d, "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if shown.returncode:
            continue
        step = json.loads(shown.stdout).get("checkpoint") or 0
        passed = [m for m in marks if m <= step]
        # A checkpoint that is far beyond the mark was seen too late, after an interruption.
        if not passed or step > 1.3 * passed[-1] or list(d.glob(f"along-{passed[-1]}-*.safetensors")):
            continue
        out = d / f"along-{passed[-1]}-{step}.safetensors"
        subprocess.run([o.ergoflow, "checkpoints", "export", "latest", "--dir", d, "-o", out], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def results_of(d):
    path = d / "report" / "results.json"
    return json.loads(path.read_text()) if path.exists() else None


def train(o, experiment, seed):
    """Runs everything of one experiment and seed."""
    common = [f"seed={seed}"] + ([f"data.samples={o.samples}"] if o.samples else []) + o.set
    for name, sets, warm in plan(o):
        if o.kinds and name not in o.kinds and name.split("-")[0] not in o.kinds:
            continue
        d = directory(o, experiment, seed, name)
        more = ["--workers", str(o.workers)]
        if warm:
            more += ["--start", directory(o, experiment, seed, "parent")]
        if not results_of(d):
            print(f"{datetime.datetime.now():%H:%M:%S} {experiment} seed {seed}: {name}", file=sys.stderr, flush=True)
            stop = threading.Event()
            watch = threading.Thread(target=export_along, args=(o, d, stop))
            if name == "cold":
                watch.start()
            try:
                call(o, d, "run", experiment, common + sets, *more)
            finally:
                stop.set()
            if name == "cold":
                watch.join()
        if name == "cold":
            for exported in sorted(d.glob("along-*.safetensors")):
                along = directory(o, experiment, seed, exported.stem)
                if not results_of(along):
                    print(f"{datetime.datetime.now():%H:%M:%S} {experiment} seed {seed}: evaluate {exported.stem}", file=sys.stderr, flush=True)
                    call(o, along, "evaluate", experiment, common + sets, "--checkpoint", exported)


def command(o):
    """The command that makes the page."""
    asked = f"python3 docs/benchmarks/warm_start.py --preset {o.preset}" + (f" --samples {o.samples}" if o.samples else "")
    return asked + "".join(f" --set {s}" for s in o.set) + f" --seeds {','.join(map(str, o.seeds))} --experiments {','.join(o.experiments)}"


def published(path):
    """The runs in an earlier page's CSV, as finished has them. A row is one function."""
    found = {}
    with lzma.open(path, "rt", newline="") as f:
        for row in csv.DictReader(f):
            run = found.setdefault(row["experiment"], {}).setdefault(row["run"], {}).setdefault(int(row["seed"]), {
                "step": int(row["step"]),
                "experiment": {"training": {"learning_rate": float(row["peak"])}},
                "rows": [{"kind": "model", "functions": []}],
            })
            run["rows"][0]["functions"].append({"index": int(row["function"]), **{d: float(row[d]) for d in DISTANCES}})
    return found


def finished(o):
    """{experiment: {run: {seed: results}}} of everything that has results."""
    found = {}
    if o.keep:
        of_same_command(o.out / "warm-start.md", command(o))
        for experiment, runs in published(o.out / "warm-start.csv.xz").items():
            for name, by_seed in runs.items():
                wanted = {seed: results for seed, results in by_seed.items() if seed in o.seeds}
                if wanted and experiment in o.experiments:
                    found.setdefault(experiment, {})[name] = wanted
    for experiment in o.experiments:
        for seed in o.seeds:
            base = o.dir / named(o, experiment) / f"seed{seed}"
            for d in sorted(base.glob("*")):
                results = results_of(d)
                if results:
                    found.setdefault(experiment, {}).setdefault(d.name, {})[seed] = results
    for runs in found.values():  # compare the functions that all were evaluated on
        common = set.intersection(*(set(distances(r)) for by_seed in runs.values() for r in by_seed.values()))
        for by_seed in runs.values():
            for results in by_seed.values():
                row = next(r for r in results["rows"] if r["kind"] == "model")
                row["functions"] = [f for f in row["functions"] if f["index"] in common]
    return found


def line(name, by_seed, cold, rng):
    """One row of the table: W2, and its paired difference to the cold start."""
    seeds = sorted(set(by_seed) & set(cold))
    own = [distances(by_seed[s]) for s in seeds]
    base = [distances(cold[s]) for s in seeds]
    w2 = statistics.fmean(f["w2"] for row in own for f in row.values())
    sinkhorn = statistics.fmean(f["sinkhorn"] for row in own for f in row.values())
    text = "–"
    if name != "cold":
        paired = [[row[i]["w2"] - b[i]["w2"] for i in sorted(row)] for row, b in zip(own, base)]
        low, high = interval(paired, rng, RESAMPLES)
        mean = statistics.fmean(x for row in paired for x in row)
        text = f"{mean:+.4f} [{low:+.4f}, {high:+.4f}]" + (" **better**" if high < 0 else " **worse**" if low > 0 else "")
    step = by_seed[seeds[0]]["step"]
    peak = by_seed[seeds[0]]["experiment"]["training"]["learning_rate"]
    kind = name.split("-")[0]
    label = {"parent": "parent, on 10/11 of the functions", "cold": "cold start", "short": "cold start, fewer steps",
             "along": "checkpoint of the cold start", "warm": "warm start"}[kind]
    return (step if kind != "parent" else 0, f"| {label} | {step:,} | {peak:g} | {len(seeds)} | {w2:.4f} | {sinkhorn:.5f} | {text} |")


def table(experiment, runs):
    rng = random.Random(1)
    cold = runs["cold"]
    order = {"parent": 0, "along": 1, "short": 2, "warm": 3, "cold": 4}
    rows = [(order[name.split("-")[0]], *line(name, by_seed, cold, rng)) for name, by_seed in runs.items() if set(by_seed) & set(cold)]
    lines = [f"## {experiment}", "", "| run | steps | peak | seeds | W2 mean | Sinkhorn mean | W2 − cold start's, 95 % |", "|---|---:|---:|---:|---:|---:|---|"]
    lines += [text for _, _, text in sorted(rows)]
    lines += ["", f"{len(distances(next(iter(cold.values()))))} held-out functions."]
    return lines + ["", verdict(runs), ""]


def verdict(runs):
    """The shortest warm start, of those that every seed has, that is not worse than the cold
    start: the interval of their paired difference reaches zero."""
    cold = runs["cold"]
    whole = [by_seed for name, by_seed in runs.items() if name.startswith("warm-") and set(by_seed) >= set(cold)]
    if not whole:
        return "No warm start is finished for every seed of the cold start."
    steps = next(iter(cold.values()))["step"]
    rng = random.Random(1)
    reached = []
    for by_seed in whole:
        pairs = [(distances(by_seed[s]), distances(cold[s])) for s in sorted(cold)]
        low, _ = interval([[row[i]["w2"] - base[i]["w2"] for i in sorted(row)] for row, base in pairs], rng, RESAMPLES)
        if low <= 0:
            reached.append(next(iter(by_seed.values())))
    if not reached:
        return f"Each of the {len(whole)} warm starts is worse than the cold start: no 95 % interval reaches zero."
    least = min(reached, key=lambda r: r["step"])
    return (f"The shortest of the {len(whole)} warm starts that is not worse than the cold start takes {least['step']:,} steps, "
            f"{100 * least['step'] / steps:.0f} % of the cold start's {steps:,}, with a peak of {least['experiment']['training']['learning_rate']:g}: "
            "the 95 % interval of their difference reaches zero.")


def publish(o):
    found = {e: r for e, r in finished(o).items() if "cold" in r}
    if not found:
        sys.exit("warm_start: no cold start is finished")
    trained = [results for runs in found.values() for by_seed in runs.values() for results in by_seed.values() if "version" in results]
    if not trained:
        sys.exit("warm_start: no directory of a run, only the page that is published")
    any_run = trained[-1]
    fewer = f", with {o.samples} instead of {SIZES[o.preset]['samples']} stored samples of each function and as many fewer steps" if o.samples else ""
    lines = ["# What a warm start saves", "", f"`{command(o)}`, ergoflow {any_run['version']}, {any_run['backend']}, {sitting.processor()}, {datetime.date.today()}.", "",
             f"**Scaled down**: preset {o.preset}{fewer}. The table has the runs that are finished, and says of how many seeds.", ""]
    for experiment, runs in found.items():
        lines += table(experiment, runs)
    with lzma.open(o.out / "warm-start.csv.xz", "wt", newline="") as f:
        out = csv.writer(f)
        out.writerow(["experiment", "run", "seed", "step", "peak", "function", *DISTANCES])
        for experiment, runs in found.items():
            for name, by_seed in runs.items():
                for seed, results in by_seed.items():
                    peak = results["experiment"]["training"]["learning_rate"]
                    for index, of in sorted(distances(results).items()):
                        out.writerow([experiment, name, seed, results["step"], peak, index, *(of[k] for k in DISTANCES)])
    write(o.out / "warm-start.md", lines)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--preset", default="demo", choices=sorted(SIZES))
    p.add_argument("--seeds", default="1,2,3", type=lambda s: [int(x) for x in s.split(",")])
    p.add_argument("--experiments", default="rare1d,vn1d", type=lambda s: s.split(","))
    p.add_argument("--kinds", default="", type=lambda s: [x for x in s.split(",") if x], help="run only these kinds (parent, cold, warm, short) or runs (warm-4-0.001)")
    p.add_argument("--set", action="append", default=[], help="path=value, of every run")
    p.add_argument("--samples", type=int, help="stored samples of each function, instead of the preset's; the steps scale with them")
    p.add_argument("--workers", default=2, type=int)
    p.add_argument("--dir", default=ROOT / "ergoflow-runs" / "warm-start", type=pathlib.Path)
    p.add_argument("--out", default=ROOT / "docs" / "results", type=pathlib.Path)
    p.add_argument("--ergoflow", default=ROOT / "bin" / "ergoflow", type=pathlib.Path)
    p.add_argument("--keep", action="store_true", help="runs of the page in --out count as finished")
    p.add_argument("--publish", action="store_true", help="only write the page")
    o = p.parse_args()
    o.dir = o.dir.resolve()
    o.out.mkdir(parents=True, exist_ok=True)
    if not o.publish:
        for seed in o.seeds:
            for experiment in o.experiments:
                train(o, experiment, seed)
    publish(o)


if __name__ == "__main__":
    main()
