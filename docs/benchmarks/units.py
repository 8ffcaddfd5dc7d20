"""Learning does not depend on units: one family of SDEs in several units of x and of time, on
the line and in the plane, trained and evaluated alike.

    make build && python3 docs/benchmarks/units.py --seeds 3

prints the table of docs/results/units.md: for each unit the W2 distance of the model to the
held-out references (in the plane sliced W2), the floor and the untrained network, in units of
the family's standard deviation. The parameters of function i are the same in all units, so
every row is the same problem. A row takes seconds; --dir keeps the runs, which are reused.
Only the standard library is needed.
"""

import argparse
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


def run(args, dim, row, seed):
    """Trains and returns the distances by kind of row, and the deviations."""
    name, c, s, k = row
    folder = args.dir / f"{dim}d-{c}-{s}-{k}-{seed}"
    results = folder / "report" / "results.json"
    if not results.exists():
        folder.mkdir(parents=True, exist_ok=True)
        definition = folder / "family.yaml"
        definition.write_text(family(dim, c, s, k))
        start, dt = f'"normal({c}, {s})"', 0.01 / k
        sets = [
            f"data.family={definition}", f"seed={seed}", f"data.seed={seed}", "training.epochs=30",
            "data.held_out=64", "evaluation.functions=64",
        ]
        for scheme in ("data.training", "data.reference"):
            sets += [f"{scheme}.start={start}", f"{scheme}.dt={dt!r}"]
        sets.append("evaluation.mcmc=[]")
        config = folder / "config.yaml"
        config.write_text("name: vn1d\npreset: smoke\n" + ("" if dim == 1 else (
            "model:\n  deeponet:\n    dimension: 2\n    kernel: 3\n    fields:\n"
            "      - {name: drift, shape: [32, 32, 2]}\n")))
        command = [args.binary, "run", "vn1d", "--preset", "smoke", "--config", str(config), "--dir", str(folder), "--workers", "1"]
        for value in sets:
            command += ["--set", value]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{name}: {done.stderr[-2000:]}")
    found = json.loads(results.read_text())
    distance = "w2" if dim == 1 else "sliced_w2"
    return {r["kind"]: r["summary"][distance]["mean"] for r in found["rows"]}, found["units"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--binary", default="./bin/ergoflow")
    parser.add_argument("--dir", type=pathlib.Path, default=pathlib.Path("/tmp/ergoflow-units"))
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    for dim, rows, distance in [(1, LINE, "W2"), (2, PLANE, "sliced W2")]:
        print(f"\n| {'line' if dim == 1 else 'plane'} | deviation | model, {distance} | by seed | of the first row's | floor | untrained |")
        print("|---|---|---|---|---|---|---|")
        first = None
        for row in rows:
            found = [run(args, dim, row, seed) for seed in range(1, args.seeds + 1)]
            mean = {kind: statistics.mean(f[0][kind] for f in found) for kind in ("model", "floor", "untrained")}
            first = first or mean["model"]
            by_seed = ", ".join(f"{f[0]['model']:.3f}" for f in found)
            units = " and ".join(f"{u:.3g}" for u in found[0][1])
            print(f"| {row[0]} | {units} | {mean['model']:.3f} | {by_seed} | {mean['model'] / first:.2f} | {mean['floor']:.3f} | {mean['untrained']:.3f} |", flush=True)


if __name__ == "__main__":
    main()
