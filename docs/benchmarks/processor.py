"""How fast a trained model answers in the plane and for particles: by the network on XLA, and by
the processor alone.

    python docs/benchmarks/processor.py [--write docs/results/inference.md] NAME=CHECKPOINT …

It runs `ergoflow bench sample` and whole processes of `ergoflow sample`, whose processor time it
takes too: another program on the machine does not change that much.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import tempfile
import time

import sitting

ENGINES = ("network", "processor")


def ergoflow(*args):
    return subprocess.run([sitting.ROOT / "bin" / "ergoflow", *args], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def bench(checkpoint, samples, engine, solver, rounds):
    flags = ("--solver", solver, "--engine", engine, "--rounds", str(rounds), "--compare", str(int(engine == "processor")))
    return json.loads(ergoflow("bench", "sample", "--checkpoint", checkpoint, "--equations", "4", "-n", str(samples), *flags, "--json"))


def cold(checkpoint, samples, engine, rounds):
    """Medians of whole processes: seconds, seconds of the processors, of setting up, of sampling."""
    def used():
        u = resource.getrusage(resource.RUSAGE_CHILDREN)
        return u.ru_utime + u.ru_stime

    rows = []
    with tempfile.TemporaryDirectory() as d:
        for _ in range(rounds):
            begin, before = time.perf_counter(), used()
            told = json.loads(ergoflow("sample", "--checkpoint", checkpoint, "--function", "0", "-n", str(samples), "-o", f"{d}/x.npy", "--engine", engine, "--json"))
            rows.append((time.perf_counter() - begin, used() - before, told["setup_s"], told["seconds"]))
    return [statistics.median(column) for column in zip(*rows)]


def parts(name):
    """Milliseconds of the parts of a sensor network on one processor, by BenchmarkHost: the
    least of five rounds."""
    text = subprocess.run(["go", "test", "./model/network/sensor", "-run", "^$", "-bench", f"Host/{name}/", "-benchtime", "200ms", "-count", "5"],
                          cwd=sitting.ROOT, env=os.environ | {"GOEXPERIMENT": "simd"}, check=True, stdout=subprocess.PIPE, text=True).stdout
    found = {}
    for part, ns in re.findall(r"/(\w+)(?:-\d+)?\s+\d+\s+(\d+(?:\.\d+)?) ns/op", text):
        found[part] = min(found.get(part, float("inf")), float(ns) / 1e6)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("checkpoints", nargs="+", metavar="NAME=CHECKPOINT")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    page = [f"{datetime.date.today()}, {sitting.processor()}, {os.cpu_count()} processors, commit {sitting.commit()}, load average {load:.1f} at the beginning.", ""]
    if load > 1.5:
        page += ["Other programs used the processors at the same time: times on the clock are too large, and those of the two engines compare roughly.", ""]
    models, columns = [c.split("=", 1) for c in options.checkpoints], []
    for name, checkpoint in models:
        samples = 256 if "particles" in name else 2048
        column = {"samples of an equation": str(samples)}
        for solver in ("rk4-4", "rk4-1"):
            for engine in ENGINES:
                b = bench(checkpoint, samples, engine, solver, options.rounds)
                column[f"one equation in a request of 4, {solver}, {engine}"] = f"{1e3 * b['seconds_per_equation']:.0f} ms"
                if engine == "processor":
                    column[f"largest difference of the two, {solver}, in deviations"] = f"{b['max_error_vs_direct']:.1e}"
        for engine in ENGINES:
            wall, used, setup, seconds = cold(checkpoint, samples, engine, options.rounds)
            column[f"`ergoflow sample`, the whole process, {engine}"] = f"{1e3 * wall:.0f} ms"
            column[f"its time of the processors, {engine}"] = f"{1e3 * used:.0f} ms"
            column[f"setting up in it, {engine}"] = f"{1e3 * setup:.0f} ms"
            column[f"sampling in it, {engine}"] = f"{1e3 * seconds:.0f} ms"
        columns.append(column)
    page += ["| | " + " | ".join(name for name, _ in models) + " |", "|---" * (len(models) + 1) + "|"]
    page += [f"| {row} | " + " | ".join(c[row] for c in columns) + " |" for row in columns[0]]
    page += ["", "Parts of the paper's sensor networks on one processor, the least of five rounds (`go test -bench Host ./model/network/sensor`):", "",
             "| | plane | particles |", "|---|---|---|"]
    plane, particles = parts("plane"), parts("particles")
    for part, meaning in (("encode", "code of a function, on all processors"), ("time", "what all samples share at one time"),
                          ("velocity", "velocities of a block: 192 states, or 6 of 32 particles")):
        page.append(f"| {meaning} | {plane[part]:.3g} ms | {particles[part]:.3g} ms |")
    text = "\n".join(page)
    print(text)
    if options.write:
        sitting.write(options.write, text, "processor")


if __name__ == "__main__":
    main()
