"""Trains a model of anyd on each of the families in docs/families, and prints a table
of their errors: sliced W2 from a second simulation of the same law (the floor), of the
model, of a normal law with the reference's moments, and of the model given another
equation. Trainings go on where they stopped, and finished ones are only read.

    python3 docs/benchmarks/examples.py --dir DIR [--preset scaled --epochs 4] [--exact] [NAME ...]

Chains take steps by the integrator that suits a family (docs/decisions/integrators.md). With
--exact there are none: training samples and references are exact draws, in the plane.
"""

import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parent.parent.parent
BINARY = ROOT / "bin" / "ergoflow"

GRADIENTS = "coupled_wells", "logistic_posterior", "muller_brown", "phi4"
INTEGRATORS = {**dict.fromkeys(GRADIENTS, "leimkuhler-matthews"), "duffing": "baoab", "langevin": "baoab", "cox_ingersoll_ross": "platen", "sediment": "euler"}
STEPS = {"lorenz63": "0.002"}  # as the comment in the file says
SETTLED = "lorenz63", "lorenz96", "muller_brown"  # docs/decisions/any-dimension.md has why


def settings(name, exact):
    yield f"data.family={ROOT / 'docs' / 'families' / name}.yaml"
    if exact:
        yield "data.draws=exact"
        yield "data.reference_draws=exact"
    for part in "training", "reference":
        yield f"data.{part}.integrator={INTEGRATORS.get(name, 'heun')}"
    if name in STEPS:
        for path in "data.training.dt", "data.reference.dt", "probes.dt":
            yield f"{path}={STEPS[name]}"
    if name in SETTLED:
        yield "training.states=settled"


def results(name, directory, preset, epochs, exact):
    report = directory / name / "report" / "results.json"
    if not report.exists():
        subprocess.run([BINARY, "run", "anyd", f"--preset={preset}", "--workers=1", f"--dir={directory / name}",
                        f"--set=training.epochs={epochs}", *(f"--set={s}" for s in settings(name, exact))], check=True, stdout=sys.stderr)
    return json.loads(report.read_text())


def number(statistic):
    low, high = statistic["mean_interval"]
    return f"{statistic['mean']:.3g} [{low:.3g} to {high:.3g}]"


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--dir", type=pathlib.Path, required=True, help="of the trainings, one folder each")
    options.add_argument("--preset", default="demo")
    options.add_argument("--epochs", type=int, default=1)
    options.add_argument("--exact", action="store_true", help="take exact draws")
    options.add_argument("names", nargs="*", metavar="NAME", help="families (default: all)")
    o = options.parse_args()
    names = o.names or sorted(f.stem for f in (ROOT / "docs" / "families").glob("*.yaml"))

    print("| family | coordinates | states | floor | model | normal law with the reference's moments | another equation | "
          "energy distance, model | normal law | certificate: good / with care / do not use |\n|---|---:|---|" + "---:|" * 7)
    for name in names:
        r = results(name, o.dir, o.preset, o.epochs, o.exact)
        rows = {row["kind"]: row for row in r["rows"]}
        distances = [number(rows[kind]["summary"]["sliced_w2"]) for kind in ("floor", "model", "moments", "shuffled")]
        energies = [f"{rows[kind]['summary']['energy_distance']['mean']:.3g}" for kind in ("model", "moments")]
        verdicts = rows["model"].get("verdicts", {})
        counts = " / ".join(str(verdicts.get(v, 0)) for v in ("good", "use_with_care", "do_not_use"))
        print(f"| {name} | {r['dim']} | {'settled' if name in SETTLED else 'whitened'} | " + " | ".join(distances + energies + [counts]) + " |", flush=True)


if __name__ == "__main__":
    main()
