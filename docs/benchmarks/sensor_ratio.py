"""The gradient of the sensor networks beside PyTorch's, in one sitting: each round
times both in turn; the ratio of a round is torch's over ergoflow's; printed is the
median of the rounds, with the least and largest.

    make bench-peers        (or: .venv/bin/python docs/benchmarks/sensor_ratio.py)

Both keep their memory in one arena (see sensor_step_torch.py). --cores pins both
to so many cores. Compared are processor seconds, which mind other programs less
than the clock does; seconds by the clock are printed beside them.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
VARIANTS = ["eager-f32", "compile-f32", "eager-bf16", "compile-bf16"]


def ergoflow(binary, network, steps):
    out = subprocess.run([binary, "-test.run", "^$", "-test.bench", f"Gradient/{network}$", "-test.benchtime", f"{steps}x"],
                         check=True, stdout=subprocess.PIPE, text=True).stdout
    line = next(line for line in out.splitlines() if line.startswith("BenchmarkGradient"))
    clock = float(re.search(r"([\d.]+) ns/op", line)[1]) / 1e9
    return clock, float(re.search(r"([\d.]+) cpu-s/op", line)[1])


def torch(network, variant, steps, cores):
    out = subprocess.run([sys.executable, HERE / "sensor_step_torch.py", "--steps", str(steps), "--threads", str(cores),
                          "--networks", network, "--variants", variant],
                         check=True, stdout=subprocess.PIPE, text=True).stdout
    result = json.loads(out.splitlines()[-1])
    return result["median_s"], result["cpu_s"]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--steps", type=int, default=5)
    options.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    options.add_argument("--networks", default="plane,particles")
    options.add_argument("--variants", default=",".join(VARIANTS))
    o = options.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:o.cores])
    with tempfile.TemporaryDirectory() as directory:
        binary = pathlib.Path(directory) / "sensor.test"
        subprocess.run([os.environ.get("GO", "go"), "test", "-c", "-o", binary, "./model/sensor"], check=True, cwd=HERE.parent.parent)
        print(f"{o.cores} cores\n\n| network | | processor s | clock s | torch / ergoflow |\n|---|---|---|---|---|")
        for network in o.networks.split(","):
            ours, theirs = [], {v: [] for v in o.variants.split(",")}
            for r in range(o.rounds):
                ours.append(ergoflow(binary, network, o.steps))
                for v in theirs:
                    theirs[v].append(torch(network, v, o.steps, o.cores))
                    print(f"round {r + 1}: {network} ergoflow {ours[-1][1]:.3f} s, torch {v} {theirs[v][-1][1]:.3f} s", file=sys.stderr)
            clock, processor = (statistics.median(column) for column in zip(*ours))
            print(f"| {network} | ergoflow | {processor:.2f} | {clock:.2f} | |")
            for v, times in theirs.items():
                clock, processor = (statistics.median(column) for column in zip(*times))
                ratios = [t[1] / a[1] for t, a in zip(times, ours)]
                print(f"| {network} | torch {v} | {processor:.2f} | {clock:.2f} | "
                      f"{statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f}) |", flush=True)


if __name__ == "__main__":
    main()
