"""What --reproducible costs: steps per second with and without it, for several numbers
of workers on this machine, in turn.

    make build && python3 docs/benchmarks/reproducible.py

prints a Markdown table of medians over the rounds, and checks that all reproducible
runs give the same bytes of parameters; for comparison it counts the different results
of the default runs. A default worker has cores/workers threads, a reproducible one has
one. Where both have one, the remaining cost is that of rounding groups and of sums with
twice the bytes. Steps are timed between the first and the last checkpoint of a run.
Only the standard library is needed.
"""

import argparse
import datetime
import hashlib
import json
import os
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile


def ergoflow(o, *args):
    done = subprocess.run([o.ergoflow, *args], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"reproducible: ergoflow {' '.join(args)}: {done.stderr}")
    return done.stdout


def parameters(path):
    """SHA-256 of the parameters and moments in a safetensors file."""
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8:8 + length])
    sha = hashlib.sha256()
    for name in sorted(header):
        if name.startswith(("parameters/", "adam.", "losses")):
            begin, end = header[name]["data_offsets"]
            sha.update(name.encode() + raw[8 + length + begin:8 + length + end])
    return sha.hexdigest()


def train(o, shards, workers, reproducible):
    """Steps per second of one run, and the hash of what it trained."""
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        (directory / "shards").symlink_to(shards)
        args = ["train", o.experiment, "--preset", o.preset, "--backend", o.backend, "--local", "--workers", str(workers),
                "--dir", name, "--set", f"training.steps={o.steps}", "--set", f"training.checkpoint_every={o.steps // 4}"]
        for setting in o.set:
            args += ["--set", setting]
        ergoflow(o, *args, *(["--reproducible"] if reproducible else []))
        kept = json.loads(ergoflow(o, "checkpoints", "list", "--dir", name, "--json"))
        kept.sort(key=lambda c: c["step"])
        first, last = [(c["step"], datetime.datetime.fromisoformat(c["time"].replace("Z", "+00:00"))) for c in (kept[0], kept[-1])]
        out = directory / "final.safetensors"
        ergoflow(o, "checkpoints", "export", "latest", "--dir", name, "-o", str(out))
        return (last[0] - first[0]) / (last[1] - first[1]).total_seconds(), parameters(out)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--ergoflow", default="bin/ergoflow")
    options.add_argument("--experiment", default="vn1d")
    options.add_argument("--preset", default="demo")
    options.add_argument("--backend", default="xla:cpu")
    options.add_argument("--steps", type=int, default=400)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    options.add_argument("--set", action="append", default=["data.functions=4096", "data.training.burn_in=100"])
    o = options.parse_args()
    speeds, results = {}, {False: set(), True: set()}
    with tempfile.TemporaryDirectory() as shards:
        for _ in range(o.rounds):
            for workers in o.workers:
                for reproducible in (False, True):
                    speed, trained = train(o, shards, workers, reproducible)
                    speeds.setdefault((workers, reproducible), []).append(speed)
                    results[reproducible].add(trained)
    runs = o.rounds * len(o.workers)
    if len(results[True]) != 1:
        sys.exit(f"reproducible: {len(results[True])} different results of {runs} reproducible runs")
    print(f"{o.experiment}, preset {o.preset}, {o.backend}, {os.cpu_count()} cores, {o.steps} steps, median of {o.rounds}\n")
    print("| workers | default, steps/s | reproducible, steps/s | ratio |\n|---:|---:|---:|---:|")
    for workers in o.workers:
        plain, exact = (statistics.median(speeds[workers, r]) for r in (False, True))
        print(f"| {workers} | {plain:.1f} | {exact:.1f} | {exact / plain:.2f} |")
    print(f"\nAll {runs} reproducible runs gave the same bytes of parameters, moments and losses; "
          f"the {runs} default runs gave {len(results[False])} different results.")


main()
