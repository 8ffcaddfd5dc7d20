"""Ablations on the line: trains variants of vn1d and rare1d that differ from a preset
in a few settings, each with several seeds, and compares every variant with the
preset function by function.

    make build && python3 docs/benchmarks/ablation.py --preset demo --seeds 1,2,3

writes docs/results/ablation.md, and beside it ablation.csv.xz with the distances of
every function. This takes hours at the demo preset. Finished runs are reused: a run's
directory is named after its settings. --keep also reuses the seeds in the .csv.xz of an
earlier page. At the preset best, each variant takes back one of the preset's choices,
and the output is ablation-best.md and .csv.xz.

All variants of a preset are evaluated on the same held-out functions, against the
same reference samples. A difference is variant − preset for one function and one
seed; its interval is the 95 % percentile interval of a bootstrap that resamples
seeds and functions, since both are random draws. Only the standard library is
needed.
"""

import argparse
import csv
import datetime
import hashlib
import json
import lzma
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys

import sitting

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BASE = "preset"
NODES = {"vn1d": 64, "rare1d": 256}
FIELDS = "model.deeponet.fields=[{name: %s, shape: [NODES]}, {name: %s, shape: [NODES]}]"
THREE = "model.deeponet.fields=[{name: drift, shape: [NODES]}, {name: diffusion, shape: [NODES]}, {name: potential, shape: [NODES]}]"
# Settings over the preset: *2 and /2 change a number, @PATH is another value of the
# preset. The sizes suit demo, scaled and full, except for four times the functions,
# which needs 128 stored samples; for other presets choose variants with --variants.
VARIANTS = {
    "vn1d": {
        BASE: [],
        "quantile coupling": ["training.coupling=quantile"],
        "potential and σ": [FIELDS % ("potential", "diffusion")],
        "potential and score": [FIELDS % ("potential", "score")],
        "quantile coupling, potential and σ": ["training.coupling=quantile", FIELDS % ("potential", "diffusion")],
        # The same number of parameters, within 2 % at 64 nodes and 4 % at 256.
        "quantile coupling, drift, σ and potential": ["training.coupling=quantile", "model.deeponet.hidden=160", THREE],
        "4× functions": ["data.functions=*4", "data.samples=/4", "data.held_out_from=@data.functions"],
        "exact draws": ["data.draws=exact"],
        "fresh samples, 2× steps": ["data.samples=*2"],
        "exact draws, 2× steps": ["data.draws=exact", "data.samples=*2"],
        "two epochs": ["training.epochs=2"],
        "wider trunk": ["model.deeponet.trunk_width=384"],
        "wider": ["model.deeponet.trunk_width=384", "model.deeponet.hidden=512", "model.deeponet.channels=[64,128,256]"],
        "rank 256": ["model.deeponet.rank=256"],
        "f_max 4": ["model.deeponet.f_max=4"],
        "2× functions, ½ samples": ["training.batch_functions=*2", "training.batch_samples=/2"],
        "2× batch": ["training.batch_functions=*2", "data.samples=*2"],
        "OT of 2× samples": ["training.batch_samples=*2", "data.samples=*2"],
        "independent coupling": ["training.coupling=independent"],
        "logit-normal times": ["training.times=logit_normal"],
        "learning rate 2e-3": ["training.learning_rate=0.002"],
        "no weight decay": ["training.weight_decay=0"],
    },
}
# The choices of best, each taken back alone, and options that best does not use.
BEST = {
    "vn1d": {
        BASE: [],
        "optimal transport of a batch": ["training.coupling=ot"],
        "drift and σ": [FIELDS % ("drift", "diffusion"), "model.deeponet.hidden=256"],
        "potential and σ": [FIELDS % ("potential", "diffusion"), "model.deeponet.hidden=256"],
        "¼ functions": ["data.functions=/4", "data.samples=*4", "data.training.chains=64"],
        "2× functions": ["data.functions=*2", "data.samples=/2", "data.training.chains=64"],
        "exact draws": ["data.draws=exact"],
        "logit-normal times": ["training.times=logit_normal"],
        "learning rate 2e-3": ["training.learning_rate=0.002"],
    },
    "rare1d": {
        BASE: [],
        "optimal transport of a batch": ["training.coupling=ot"],
        "drift and σ": [FIELDS % ("drift", "diffusion")],
        "potential and σ": [FIELDS % ("potential", "diffusion")],
        "¼ functions": ["data.functions=/4", "data.samples=*4"],
        "2× functions": ["data.functions=*2", "data.samples=/2"],
        "logit-normal times": ["training.times=logit_normal"],
        "learning rate 2e-3": ["training.learning_rate=0.002"],
    },
}
# rare1d draws exactly already.
VARIANTS["rare1d"] = {name: sets for name, sets in VARIANTS["vn1d"].items() if "data.draws=exact" not in sets}
CLOSE = "<!-- end measured -->"  # text after it on a page stays
DISTANCES = ["sinkhorn", "w2", "w2_exact"]
VISIBLE = 5e-5  # smaller differences round to zero at four decimals: neither better nor worse, even if significant


def at(config, path):
    for part in path.split("."):
        config = config[part]
    return config


def made(results):
    """Build, device, machine and date for a page, and a note that its runs are scaled down."""
    return (f"ergoflow {results['version']}, {results['backend']}, {sitting.processor()}, {datetime.date.today()}. "
            "Everything on this page is scaled down from the paper's sizes.")


def variants(preset, experiment):
    return (BEST if preset == "best" else VARIANTS)[experiment]


def resolve(sets, preset):
    """Replaces path=*2, path=/2 and path=@other by numbers, from the preset's values."""
    out = []
    for s in sets:
        path, value = s.replace("NODES", str(NODES[preset["name"]])).split("=", 1)
        if value[0] == "@":
            value = str(at(preset, value[1:]))
        if value[0] in "*/":
            old, by = at(preset, path), int(value[1:])
            if value[0] == "/" and old % by:
                sys.exit(f"ablation: {path} is {old} in this preset, not a multiple of {by}")
            value = str(old * by if value[0] == "*" else old // by)
        out.append(f"{path}={value}")
    return out


def run(o, experiment, sets, seed):
    """The results of one run; a finished run is read from its directory."""
    sets = o.set + sets + [f"seed={seed}"]
    name = hashlib.sha256(json.dumps([experiment, o.preset, sets]).encode()).hexdigest()[:12]
    directory = o.dir / f"{experiment}-{o.preset}-{name}"
    results = directory / "report" / "results.json"
    if not results.exists():
        directory.mkdir(parents=True, exist_ok=True)
        # Runs that differ in the network or the seed share their data.
        shards = o.dir / "shards"
        shards.mkdir(exist_ok=True)
        if not (directory / "shards").is_symlink():
            os.symlink(os.path.join("..", "shards"), directory / "shards")
        print(f"{experiment} {' '.join(sets)}: {directory}", file=sys.stderr)
        command = [o.ergoflow, "run", experiment, "--preset", o.preset, "--dir", directory, "--workers", str(o.workers)]
        for s in sets:
            command += ["--set", s]
        with open(directory / "output.log", "a") as log:
            if subprocess.run(command, stdout=log, stderr=log).returncode:
                sys.exit(f"ablation: the run failed, see {log.name}")
    return json.loads(results.read_text())


def distances(results):
    """The model's distances, by function and metric."""
    row = next(r for r in results["rows"] if r["kind"] == "model")
    return {f["index"]: {d: f.get(d, 0.0) for d in DISTANCES} for f in row["functions"]}


def of_same_command(page, asked):
    """Ends the program unless the page's command is the one asked for, except for the seeds."""

    def seedless(command):
        return re.sub(r" --seeds \S+", "", command)

    before = re.search("`(python3 .*?)`, ", page.read_text())
    if not before or seedless(before[1]) != seedless(asked):
        sys.exit(f"--keep: another command made {page}: {before[1] if before else 'none'}")


def kept(page, asked, *columns):
    """The distances of every function in an earlier page's CSV, by its columns and the
    seed."""
    of_same_command(page, asked)
    found = {}
    with lzma.open(page.with_suffix(".csv.xz"), "rt", newline="") as f:
        for row in csv.DictReader(f):
            of = (*(row[c] for c in columns), int(row["seed"]))
            found.setdefault(of, {})[int(row["function"])] = {d: float(row[d]) for d in DISTANCES}
    return found


def interval(differences, rng, resamples=10_000):
    """The 95 % interval of the mean of [seed][function], by a bootstrap over both."""
    seeds, functions = len(differences), len(differences[0])
    means = []
    for _ in range(resamples):
        chosen = rng.choices(range(functions), k=functions)
        total = 0.0
        for s in rng.choices(range(seeds), k=seeds):
            row = differences[s]
            total += sum(row[f] for f in chosen)
        means.append(total / (seeds * functions))
    means.sort()
    return means[int(0.025 * resamples)], means[int(0.975 * resamples) - 1]


def signed(x):
    """Four decimals; one significant digit for numbers that four decimals round to zero."""
    return f"{x:+.4f}" if x == 0 or abs(x) >= 5e-5 else f"{x:+.0e}"


def difference(variant, base, metric, rng):
    indices = sorted(base[0])
    if any(sorted(v) != indices for v in variant + base):
        sys.exit("ablation: the runs were evaluated on different functions")
    paired = [[v[i][metric] - b[i][metric] for i in indices] for v, b in zip(variant, base)]
    mean = statistics.fmean(x for row in paired for x in row)
    low, high = interval(paired, rng)
    verdict = ""
    if abs(mean) >= VISIBLE:
        verdict = " **better**" if high < 0 else " **worse**" if low > 0 else ""
    return f"{signed(mean)} [{signed(low)}, {signed(high)}]{verdict}"


def table(o, experiment, runs):
    """Lines of Markdown; runs by variant: (settings, results of the last seed,
    distances of each seed)."""
    _, preset, base = runs[BASE]
    lines = [
        f"## {experiment}",
        "",
        "| variant | settings | pairs | steps | Sinkhorn mean/median | Sinkhorn − preset | W2 − preset | W2 to the exact law − preset |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, (sets, results, own) in runs.items():
        t = results["experiment"]["training"]
        pairs = results["step"] * t["batch_functions"] * t["batch_samples"]
        values = [f["sinkhorn"] for seed in own for f in seed.values()]
        cells = [name, " ".join(f"`{s}`" for s in sets), f"{pairs / 1e6:.3g} M", f"{results['step']:,}",
                 f"{statistics.fmean(values):.4f} / {statistics.median(values):.4f}"]
        for metric in DISTANCES:
            rng = random.Random(f"{experiment}/{metric}")  # the same functions and seeds for all variants
            cells.append("" if name == BASE else difference(own, base, metric, rng))
        lines.append("| " + " | ".join(cells) + " |")
    for kind in ("floor", "moments"):
        row = next(r for r in preset["rows"] if r["kind"] == kind)
        s = row["summary"]["sinkhorn"]
        lines.append(f"| {row['name']} | | | | {s['mean']:.4f} / {s['median']:.4f} | | | |")
    return lines + [""]


def write(out, lines):
    """Writes a page; text after the numbers of an earlier one stays."""
    out.parent.mkdir(parents=True, exist_ok=True)
    said = out.read_text().partition(CLOSE)[2] if out.exists() else "\n"
    out.write_text("\n".join(lines).rstrip() + "\n\n" + CLOSE + said)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--experiments", default="vn1d,rare1d")
    options.add_argument("--preset", default="demo")
    options.add_argument("--seeds", default="1,2,3")
    options.add_argument("--variants", default="", help="names, separated by semicolons (default: all)")
    options.add_argument("--set", action="append", default=[], help="override one setting in every run, including the preset's (repeatable)")
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--dir", type=pathlib.Path, default=pathlib.Path("ergoflow-runs/ablation"))
    options.add_argument("--out", type=pathlib.Path, help="page to write (default: docs/results/ablation.md, or ablation-best.md for best)")
    options.add_argument("--ergoflow", type=pathlib.Path, default=ROOT / "bin" / "ergoflow")
    options.add_argument("--keep", action="store_true", help="reuse the seeds in the page --out, which the same command must have made")
    o = options.parse_args()
    o.out = o.out or ROOT / "docs" / "results" / ("ablation-best.md" if o.preset == "best" else "ablation.md")
    seeds = [int(s) for s in o.seeds.split(",")]
    wanted = {BASE, *o.variants.split(";")} if o.variants else None
    asked = f"python3 docs/benchmarks/ablation.py --experiments {o.experiments} --preset {o.preset} --seeds {o.seeds}"
    if o.variants:
        asked += f" --variants '{o.variants}'"
    for s in o.set:
        asked += f" --set {s}"

    earlier = kept(o.out, asked, "experiment", "variant") if o.keep else {}
    done, rows = [], []
    for experiment in o.experiments.split(","):
        known = variants(o.preset, experiment)
        if wanted and (unknown := wanted - known.keys()):
            sys.exit(f"ablation: {experiment} has no variant {sorted(unknown)}, want some of {list(known)}")
        last = run(o, experiment, [], seeds[-1])
        runs = {}
        for name, sets in known.items():
            if wanted and name not in wanted:
                continue
            sets = resolve(sets, last["experiment"])
            own = [earlier.get((experiment, name, seed)) or distances(run(o, experiment, sets, seed)) for seed in seeds]
            runs[name] = sets, run(o, experiment, sets, seeds[-1]), own
            for seed, of in zip(seeds, own):
                for index, values in of.items():
                    rows.append([experiment, name, seed, index, *values.values()])
        done.append((experiment, runs))

    any_results = done[0][1][BASE][1]
    lines = [
        "# What helps on the line",
        "",
        f"`{asked}`, {made(any_results)}",
        "",
        f"Preset `{o.preset}`, {len(seeds)} {'seed' if len(seeds) == 1 else 'seeds'} of weights, batches and noise, "
        f"{any_results['functions']} held-out functions with {any_results['samples']:,} samples each, the same for all. "
        "Differences are paired by function and seed; intervals are 95 % of a bootstrap over both"
        + (". " if len(seeds) > 1 else ", and with one seed lack the spread between seeds. ") +
        "**better** and **worse** mean that the interval excludes 0 and the difference is at least 0.00005. One comparison in forty is called "
        "better by chance.",
        "",
    ]
    for experiment, runs in done:
        lines += table(o, experiment, runs)
    write(o.out, lines)
    with lzma.open(o.out.with_suffix(".csv.xz"), "wt", newline="") as f:
        writer = csv.writer(f, lineterminator="\n")
        writer.writerow(["experiment", "variant", "seed", "function", *DISTANCES])
        writer.writerows(rows)
    print(f"wrote {o.out} and {o.out.with_suffix('.csv.xz')}", file=sys.stderr)


if __name__ == "__main__":
    main()
