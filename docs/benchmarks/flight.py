"""What the flight recorder costs a step: paired trainings by several programs.

    python3 docs/benchmarks/flight.py --rounds 7 BASE=bin/without RECORDER=bin/with ...

Every round trains the smoke preset of vn1d by each program in turn, in a new order. After a second
of warm-up it counts the steps between two looks at the status, `--seconds` apart, and the processor
time that the workers and the coordinator took. It prints the medians, and for each program the
median and the quartiles of its quotients with the first one, round by round. On a machine that
others use, the processor time is the better number.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import tempfile
import time


def status(program, directory):
    done = subprocess.run([program, "status", "--dir", directory, "--json"], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


def processor(st):
    """Seconds of processor time of the coordinator and the workers."""
    ticks = 0
    for pid in [st["pid"], *(w["pid"] for w in st["workers"])]:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def measure(program, arguments, seconds):
    directory = tempfile.mkdtemp(prefix="flight-")
    command = [program, "train", "vn1d", "--preset", "smoke", "--local", "--dir", directory,
               "--set", "training.steps=1000000", "--set", "training.checkpoint_every=100000",
               "--set", "data.training.burn_in=50", "--set", "data.reference.burn_in=50", *arguments]
    training = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while True:
            st = status(program, directory)
            if st and st["state"] == "training" and st["step"] > 100:
                break
            if training.poll() is not None:
                raise SystemExit(f"{program} ended with code {training.returncode}")
            time.sleep(0.1)
        time.sleep(1)
        first, begin, used = status(program, directory), time.monotonic(), processor(status(program, directory))
        time.sleep(seconds)
        last, end = status(program, directory), time.monotonic()
        steps = last["step"] - first["step"]
        return {"milliseconds a step": 1e3 * (end - begin) / steps, "milliseconds of processor time a step": 1e3 * (processor(last) - used) / steps}
    finally:
        training.terminate()
        training.wait()
        shutil.rmtree(directory, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", help="NAME=PATH")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--workers", default="1")
    parser.add_argument("--backend", default="xla:cpu")
    parser.add_argument("--set", action="append", default=[], help="as of `ergoflow train`")
    o = parser.parse_args()
    programs = dict(p.split("=", 1) for p in o.programs)
    measured = {name: [] for name in programs}
    order = list(programs)
    for _ in range(o.rounds):
        random.shuffle(order)
        for name in order:
            arguments = ["--workers", o.workers, "--backend", o.backend, *(x for one in o.set for x in ("--set", one))]
            measured[name].append(measure(str(pathlib.Path(programs[name]).resolve()), arguments, o.seconds))
    base = next(iter(programs))
    for what in measured[base][0]:
        for name, rounds in measured.items():
            values = [r[what] for r in rounds]
            quotients = [a / b[what] for a, b in zip(values, measured[base])]
            low, _, high = statistics.quantiles(quotients, n=4) if len(quotients) > 1 else quotients * 3
            print(f"{name}: {statistics.median(values):.4g} {what}, {statistics.median(quotients):.4f} of {base} (quartiles {low:.4f} to {high:.4f})")


if __name__ == "__main__":
    main()
