"""The training step of `ergoflow bench step` beside PyTorch's, in one sitting:
each round times both in turn; the ratio of a round is torch's median over
ergoflow's; printed is the median of the rounds, with the least and largest.

    make bench-peers        (or: .venv/bin/python docs/benchmarks/step_ratio.py)

Both keep their memory in one arena (see step_torch.py) and use all cores.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
VARIANTS = ["eager-f32", "compile-f32", "eager-bf16", "compile-bf16"]


def ergoflow(steps):
    out = subprocess.run([HERE.parent.parent / "bin" / "ergoflow", "bench", "step", "--steps", str(steps), "--json"],
                         check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(out)["median_s"]


def torch(variant, steps):
    out = subprocess.run([sys.executable, HERE / "step_torch.py", "--steps", str(steps), "--variants", variant],
                         check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(out.splitlines()[-1])["median_s"]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--steps", type=int, default=30)
    options.add_argument("--variants", default=",".join(VARIANTS))
    o = options.parse_args()
    ours, ratios = [], {v: [] for v in o.variants.split(",")}
    theirs = {v: [] for v in ratios}
    for r in range(o.rounds):
        for v in ratios:
            a, b = ergoflow(o.steps), torch(v, o.steps)
            ours.append(a)
            theirs[v].append(b)
            ratios[v].append(b / a)
            print(f"round {r + 1}: ergoflow {1e3 * a:.1f} ms, torch {v} {1e3 * b:.1f} ms", file=sys.stderr)
    print("| | ms | torch / ergoflow |\n|---|---|---|")
    print(f"| ergoflow | {1e3 * statistics.median(ours):.1f} | |")
    for v, r in ratios.items():
        print(f"| torch {v} | {1e3 * statistics.median(theirs[v]):.1f} | {statistics.median(r):.2f} ({min(r):.2f}–{max(r):.2f}) |")


if __name__ == "__main__":
    main()
