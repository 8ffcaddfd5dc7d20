"""Learning does not depend on units: one family of SDEs in several units of x and of time, on
the line and in the plane, and particles64d, trained and evaluated alike.

    GOEXPERIMENT=simd go build -tags units -o bin/ergoflow-units ./cmd/ergoflow
    python3 docs/benchmarks/units.py --seeds 3

prints the tables of docs/results/units.md: for each unit the distance of the model to the
held-out references, the floor and the untrained network. The distance is W2, in the plane
sliced W2, in units of the family's standard deviation; of particles it is the feature distance.
The parameters of function i are the same in all units, so every row is the same problem. A run
takes seconds, of particles some minutes; --dir keeps the runs, which are reused. The tag adds
particles64d in other units (data/equations/family/units.go). Only the standard library is
needed.
"""

import argparse
import functools
import json
import math
import pathlib
import statistics
import subprocess
import sys

# (name, centre c, scale s, speed of time k): Y = c + s·X and Y(t) = X(k·t).
LINE = [
    ("σ = 1 around 0", 0, 1, 1),
    ("σ = 10⁴ around 0", 0, 1e4, 1),
    ("σ = 2·10⁻⁴ around 0", 0, 2e-4, 1),
    ("σ = 1 around 1,000", 1000, 1, 1),
    ("time 100 times faster", 0, 1, 100),
    ("time 100 times slower", 0, 1, 0.01),
]
PLANE = [row for row in LINE if row[3] == 1]
# (name, family, scale s, speed of time k)
PARTICLES = [
    ("s = 1", "particles64d", 1, 1),
    ("s = 10⁴", "particles64d_large", 1e4, 1),
    ("s = 2·10⁻⁴", "particles64d_small", 2e-4, 1),
    ("time 100 times faster", "particles64d_fast", 1, 100),
    ("time 100 times slower", "particles64d_slow", 1, 0.01),
]
# A network between those of the presets smoke and scaled, which learns in some minutes.
PARTICLE_SETS = [
    "data.functions=512", "data.held_out=32", "evaluation.functions=32",
    "data.training.burn_in=2000", "data.reference.burn_in=2000",
    "training.states=standardised", "training.batch_functions=16", "training.steps=800", "training.learning_rate=0.003",
    "model.sensor.sensors=32", "evaluation.sensors=32", "model.sensor.width=32", "model.sensor.channels=[16, 32]",
    "model.sensor.decoder_width=32", "model.sensor.decoder_blocks=2",
]


def family(dim, c, s, k):
    """dX = −a(X−m)dt + dW in these units, with its own a and m along each axis."""
    lines = [
        "name: units",
        f"dim: {dim}",
        f"grid: {{lo: {c - 4 * s!r}, hi: {c + 4 * s!r}, nodes: {64 if dim == 1 else 32}}}",
        "parameters:",
    ]
    drifts = []
    for x, a, m in [("x", "a", "m"), ("y", "b", "n")][:dim]:
        lines += [f"  {a}: uniform({0.5 * k!r}, {2 * k!r})", f"  {m}: uniform({c - s!r}, {c + s!r})"]
        drifts.append(f"-{a}*({x}-{m})")
    lines += ["drift:"] + [f"  - {d}" for d in drifts] + [f"diffusion: {s * math.sqrt(k)!r}"]
    return "\n".join(lines) + "\n"


def run(args, name, folder, experiment, sets, *flags):
    """The results of a run of the experiment, unless the folder has them."""
    results = folder / "report" / "results.json"
    if not results.exists():
        command = [args.binary, "run", experiment, "--preset", "smoke", "--dir", str(folder), "--workers", "1", *flags]
        for value in sets + ["evaluation.mcmc=[]"]:
            command += ["--set", value]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{name}: {done.stderr[-2000:]}")
    return json.loads(results.read_text())


def schemes(start, dt):
    """The settings of chains that begin from a law and take steps dt."""
    return [f"{scheme}.{field}" for scheme in ("data.training", "data.reference") for field in (f"start={start}", f"dt={dt!r}")]


def formulas(dim, args, row, seed):
    """The results of the family that formulas define."""
    name, c, s, k = row
    folder = args.dir / f"{dim}d-{c}-{s}-{k}-{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    definition, config = folder / "family.yaml", folder / "config.yaml"
    definition.write_text(family(dim, c, s, k))
    config.write_text("name: vn1d\npreset: smoke\n" + ("" if dim == 1 else (
        "model:\n  deeponet:\n    dimension: 2\n    kernel: 3\n    fields:\n"
        "      - {name: drift, shape: [32, 32, 2]}\n")))
    sets = [
        f"data.family={definition}", f"seed={seed}", f"data.seed={seed}", "training.epochs=30",
        "data.held_out=64", "evaluation.functions=64",
    ]
    return run(args, name, folder, "vn1d", sets + schemes(f'"normal({c}, {s})"', 0.01 / k), "--config", str(config))


def particles(args, row, seed):
    """The results of particles64d."""
    name, family_, s, k = row
    dt = 0.001 / k
    sets = [f"data.family={family_}", f"seed={seed}", f"data.seed={seed}", f"probes.dt={dt!r}"]
    return run(args, name, args.dir / f"{family_}-{seed}", "particles64d", sets + schemes(repr(1.5 * s), dt) + PARTICLE_SETS)


# table: its rows, the name of the distance, the results of a row, the mean distance in a summary
TABLES = {
    "line": (LINE, "W2", functools.partial(formulas, 1), lambda s: s["w2"]["mean"]),
    "plane": (PLANE, "sliced W2", functools.partial(formulas, 2), lambda s: s["sliced_w2"]["mean"]),
    "particles": (PARTICLES, "feature distance", particles, lambda s: s["observables"]["feature_w2"]["mean"]),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("tables", nargs="*", help="line, plane, particles (all)")
    parser.add_argument("--binary", default="./bin/ergoflow-units")
    parser.add_argument("--dir", type=pathlib.Path, default=pathlib.Path("/tmp/ergoflow-units"))
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    for table in args.tables or TABLES:
        rows, distance, results, mean = TABLES[table]
        print(f"\n| {table} | deviation | model, {distance} | by seed | of the first row's | floor | untrained |")
        print("|---|---|---|---|---|---|---|")
        first = None
        for row in rows:
            found = [results(args, row, seed) for seed in range(1, args.seeds + 1)]
            by_kind = [{r["kind"]: mean(r["summary"]) for r in f["rows"]} for f in found]
            model, floor, untrained = (statistics.mean(k[kind] for k in by_kind) for kind in ("model", "floor", "untrained"))
            first = first or model
            by_seed = ", ".join(f"{k['model']:.3f}" for k in by_kind)
            units = " and ".join(dict.fromkeys(f"{u:.3g}" for u in found[0]["units"]))  # particles share one
            print(f"| {row[0]} | {units} | {model:.3f} | {by_seed} | {model / first:.2f} | {floor:.3f} | {untrained:.3f} |", flush=True)


if __name__ == "__main__":
    main()
