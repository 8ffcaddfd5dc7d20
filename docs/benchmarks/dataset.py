"""Times a whole vn1d data set, 65,536 functions with 4,096 samples each: the
simulation alone, and the generation by a local cluster (coordinator, NATS, one worker,
disk). Rewrites the table between the markers in docs/results/kernels.md.

    python3 docs/benchmarks/dataset.py

Needs bin/ergoflow (make build), Go, and 2 GiB of disk. About seven minutes on
two cores, with nothing else running.
"""

import os
import re
import subprocess
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PAGE = os.path.join(ROOT, "docs", "results", "kernels.md")
BEGIN, END = "<!-- begin data set -->", "<!-- end data set -->"
CHAINS = (64, 1024)
# 1,024 of the 65,536 functions are held out. By default the cluster simulates their
# reference with 1,024 chains, here with as many as for the others.
EXPERIMENT = "vn1d --preset full --local --workers 1"


def simulation():
    """Seconds of simulation, by number of chains."""
    command = ["go", "test", "-run", "^$", "-bench", "VN1D", "-benchtime", "1x", "-timeout", "30m", "./data/equations/family"]
    out = subprocess.run(command, cwd=ROOT, env={**os.environ, "GOEXPERIMENT": "simd"}, check=True, capture_output=True, text=True).stdout
    return {int(c): int(ns) / 1e9 for c, ns in re.findall(r"chains=(\d+)\S*\s+1\s+(\d+) ns/op", out)}


def cluster(chains):
    """Seconds that a local cluster takes, including its start and end."""
    with tempfile.TemporaryDirectory() as directory:
        command = ["bin/ergoflow", "generate", *EXPERIMENT.split(), "--dir", directory]
        for path in ("data.training.chains", "data.reference.chains"):
            command += ["--set", f"{path}={chains}"]
        begin = time.monotonic()
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        return time.monotonic() - begin


def main():
    alone = simulation()
    rows = []
    for chains in CHAINS:
        whole = cluster(chains)
        rows.append(f"| {chains:,} | {alone[chains]:.1f} s | {whole:.1f} s | {100 * (whole / alone[chains] - 1):.0f} % |")
        print(rows[-1], flush=True)
    table = "\n".join(["| chains | simulation | by a local cluster | added |", "|---|---|---|---|", *rows])
    with open(PAGE, encoding="utf-8") as f:
        page = f.read()
    before, rest = page.split(BEGIN)
    with open(PAGE, "w", encoding="utf-8") as f:
        f.write(f"{before}{BEGIN}\n{table}\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main()
