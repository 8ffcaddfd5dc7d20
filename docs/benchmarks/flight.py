"""What the flight recorder costs a step: paired trainings by several programs.

    python3 docs/benchmarks/flight.py --rounds 7 BASE=bin/without RECORDER=bin/with ...

Every round trains the smoke preset of vn1d by each program in turn, in a new order. The number is
the steps a second between two looks at the status, `--seconds` apart, after a second of warm-up.
It prints the medians, and for each program the median and the quartiles of its quotients with the
first one, round by round.
"""

import argparse
import json
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


def rate(program, arguments, seconds):
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
        first, begin = status(program, directory)["step"], time.monotonic()
        time.sleep(seconds)
        last, end = status(program, directory)["step"], time.monotonic()
        return (last - first) / (end - begin)
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
    o = parser.parse_args()
    programs = dict(p.split("=", 1) for p in o.programs)
    rates = {name: [] for name in programs}
    order = list(programs)
    for _ in range(o.rounds):
        random.shuffle(order)
        for name in order:
            rates[name].append(rate(str(pathlib.Path(programs[name]).resolve()), ["--workers", o.workers, "--backend", o.backend], o.seconds))
    base = next(iter(programs))
    for name, all_ in rates.items():
        quotients = [a / b for a, b in zip(all_, rates[base])]
        low, middle, high = statistics.quantiles(quotients, n=4) if len(quotients) > 1 else quotients * 3
        print(f"{name}: {statistics.median(all_):.1f} steps/s, {statistics.median(quotients):.4f} of {base} (quartiles {low:.4f} to {high:.4f})")
    print(json.dumps(rates))


if __name__ == "__main__":
    main()
