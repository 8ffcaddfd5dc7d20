"""One network for several families, on a family that it has not seen.

    make build && nice python3 docs/benchmarks/cross_family.py

trains at the demo preset, and writes the tables of docs/results/cross-family.md:

    general   on the mixture docs/families/planar.yaml
    tuned     a warm start of it with 256 equations of docs/families/neuron.yaml
    longer    the same in as many steps as general
    short     on the same 256 equations from random parameters, in as many steps as tuned
    scratch   the same in as many steps as general
    special   on 4,096 equations of that family, in as many steps as general

All are evaluated on the same held-out equations of that family, in the same units. Finished
runs are reused and an interrupted one goes on: the same command continues. Only the standard
library is needed.
"""

import argparse
import datetime
import json
import pathlib
import random
import subprocess
import sys

import sitting
from ablation import interval

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FAMILIES = ROOT / "docs" / "families"
FEW = ["data.functions=256", "data.held_out_from=4096"]
PEAK = ["training.learning_rate=0.0003"]  # of warm starts
# Runs: what the table calls them, equations of the unseen family, family and settings.
RUNS = {
    "general": ("generalist, zero-shot", 0, "planar", ["training.steps=1024"]),
    "tuned": ("generalist, fine-tuned", 256, "neuron", FEW + PEAK + ["training.steps=128"]),
    "longer": ("the same, longer", 256, "neuron", FEW + PEAK + ["training.steps=1024"]),
    "short": ("from random parameters", 256, "neuron", FEW + ["training.steps=128"]),
    "scratch": ("the same, longer", 256, "neuron", FEW + ["training.steps=1024"]),
    "special": ("specialist", 4096, "neuron", ["training.steps=1024"]),
}
BASELINES = {"floor": "floor: a second simulation", "moments": "Gaussian with the reference's moments", "pooled": "the same without correlations", "untrained": "untrained network: the Gaussian closure"}


def call(o, name, verb, *more):
    """Runs the program on one of the runs, with its output in a log."""
    _, _, family, sets = RUNS[name]
    line = [o.ergoflow, verb, "anyd", "--preset", "demo", "--dir", o.dir / name, *more]
    for s in ["data.held_out=64", "evaluation.functions=32", "evaluation.samples=512", "evaluation.mcmc=[]", f"data.family={FAMILIES / family}.yaml", *sets]:
        line += ["--set", s]
    o.dir.mkdir(parents=True, exist_ok=True)
    with open(o.dir / f"{name}.log", "a") as log:
        if subprocess.run(line, stdout=log, stderr=log).returncode:
            sys.exit(f"cross_family: {verb} of {name} failed, see {log.name}")


def results(o, name, pattern="report-neuron_*"):
    found = sorted((o.dir / name).glob(pattern + "/results.json"))
    return json.loads(found[0].read_text()) if found else None


def measure(o):
    """Trains and evaluates what is missing."""
    for name, (label, _, _, _) in RUNS.items():
        if results(o, name):
            continue
        print(f"{datetime.datetime.now():%H:%M:%S} {label}", file=sys.stderr, flush=True)
        start = ["--start", o.dir / "general"] if name in ("tuned", "longer") else []
        call(o, name, "train", "--local", "--workers", "1", *start)
        call(o, name, "evaluate", "--family", FAMILIES / "neuron.yaml")
    if not results(o, "general", "report"):
        call(o, "general", "evaluate")


def row(r, kind):
    return next(x for x in r["rows"] if x["kind"] == kind)


def sliced(row):
    return [f["sliced_w2"] for f in row["functions"]]


def line(label, equations, steps, row, special, gaussian):
    s = row["summary"]
    low, high = s["sliced_w2"]["mean_interval"]
    difference, closer = "–", "–"
    if row is not special:
        paired = [a - b for a, b in zip(sliced(row), sliced(special))]
        a, b = interval([paired], random.Random(1))
        difference = f"{sum(paired) / len(paired):+.3f} [{a:+.3f}, {b:+.3f}]"
    if row is not gaussian:
        closer = f"{sum(a < b for a, b in zip(sliced(row), sliced(gaussian)))}/{len(row['functions'])}"
    return f"| {label} | {equations} | {steps} | {s['sliced_w2']['mean']:.3f} [{low:.3f}, {high:.3f}] | {s['sinkhorn']['mean']:.4f} | {difference} | {closer} |"


def tables(o):
    all_runs = {name: results(o, name) for name in RUNS}
    r = all_runs["special"]
    special, gaussian = row(r, "model"), row(r, "moments")
    lines = [
        f"`python3 docs/benchmarks/cross_family.py`, ergoflow {r['version']}, {r['backend']}, {sitting.processor()}, {datetime.date.today()}.", "",
        "| samples from | equations of the family | steps | sliced W2, mean [95 %] | Sinkhorn | sliced W2 − specialist's [95 %] | closer than the Gaussian |",
        "|---|---:|---:|---|---:|---|---:|",
    ]
    for kind, label in BASELINES.items():
        lines.append(line(label, "–", "–", row(r, kind), special, gaussian))
    for name, (label, equations, _, _) in RUNS.items():
        if not all_runs[name]:
            continue  # --publish writes what is finished
        model = row(all_runs[name], "model") if name != "special" else special
        lines.append(line(label, f"{equations:,}", f"{all_runs[name]['step']:,}", model, special, gaussian))
    lines.append(line("specialist, inputs of another equation", "4,096", f"{r['step']:,}", row(r, "shuffled"), special, gaussian))
    own = results(o, "general", "report")
    if not own:
        return lines
    kinds = [("generalist", "model"), ("inputs of another equation", "shuffled"), ("Gaussian", "moments"), ("floor", "floor")]
    lines += ["", "The generalist on held-out equations of its own mixture, sliced W2 in deviations of the whole training set:", "",
              "| component | equations | " + " | ".join(label for label, _ in kinds) + " |", "|---|---:|" + "---:|" * len(kinds)]
    for k, c in enumerate(row(own, "model")["components"]):
        cells = [f"{row(own, kind)['components'][k]['sliced_w2']['mean']:.3f}" for _, kind in kinds]
        lines.append(f"| {c['name']} | {c['functions']} | " + " | ".join(cells) + " |")
    return lines


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--dir", default=ROOT / "ergoflow-runs" / "cross-family", type=pathlib.Path)
    p.add_argument("--page", default=ROOT / "docs" / "results" / "cross-family.md", type=pathlib.Path)
    p.add_argument("--ergoflow", default=ROOT / "bin" / "ergoflow", type=pathlib.Path)
    p.add_argument("--publish", action="store_true", help="only write the page, of the runs that are finished; needs special")
    o = p.parse_args()
    o.dir = o.dir.resolve()
    if not o.publish:
        measure(o)
    sitting.write(o.page, "\n".join(tables(o)))


if __name__ == "__main__":
    main()
