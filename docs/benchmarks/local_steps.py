"""What local steps (training.sync_every) cost in the distances of the trained network, and what
they save in bytes and in time over slow links. Every process has a network namespace of its own.
Needs root, ip and tc (iproute2); does not change the host's network.

    make build && sudo python3 docs/benchmarks/local_steps.py --write docs/results/local-steps.md

trains a small vn1d (SETTINGS) for --steps updates on each number of workers, with each
training.sync_every and seed, and evaluates it. Runs of one number of workers share the cluster
and the data. Then it trains --link-steps updates of each over links of --mbit: the time is that
from the first to the last update by the coordinator's log. Bytes are those that the busiest worker
has sent as sums, by its metrics.

--write FILE writes every number to FILE with the extension .json and replaces the parts between the
markers in FILE with the tables. --add keeps the runs that the .json has.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import link
import recovery
import secured
import sitting

SETTINGS = ["data.functions=4096", "data.held_out=32", "data.shards=8", "data.reference_samples=1024", "data.reference.chains=128",
            "training.batch_functions=32", "training.batch_samples=16",
            "evaluation.functions=32", "evaluation.samples=1024", "evaluation.mcmc=[]"]
GOES = r"generation \d+ goes: {} workers from step 0"
ATTEMPTS = 5  # of a run in which all workers take part from the first step; each has its own seed
SENT = re.compile(r'ergoflow_self_link_bytes_total\{.*direction="sent".*\} (\S+)')


class Cluster(secured.Hosts):
    """A coordinator and workers, in plain text."""

    def __init__(self, directory, namespaces, backend, binary):
        super().__init__(directory, namespaces, backend, False)
        self.binary, self.workers = binary, len(namespaces) - 1

    def run(self, host, name, *args):
        self.runs += 1
        path = self.directory / f"{name}-{self.runs}.log"
        with open(path, "w") as log, open(path.with_suffix(".out"), "w") as out:
            p = subprocess.Popen(["ip", "netns", "exec", self.namespaces[host], self.binary, *args], stdin=subprocess.DEVNULL, stdout=out, stderr=log)
        self.processes.append(p)
        return p, recovery.Log(path)

    def start(self):
        d = self.directory
        _, self.log = self.run(0, "coordinator", "coordinator", "--dir", d / "cluster", "--listen", "10.77.0.1:7070",
                               "--gossip", "10.77.0.1:7946", "--join", "10.77.0.1:7071", "--insecure")
        self.wait_for(d / "cluster" / "coordinator.json")
        for host in range(1, self.workers + 1):
            self.run(host, f"worker-{host}", "worker", "--join", "10.77.0.1:7946", "--insecure", "--listen", f"10.77.0.{host + 1}:7072",
                     "--gossip", f"10.77.0.{host + 1}:7946", "--http", "127.0.0.1:7080", "--backend", self.backend, "--threads", "1")

        while len(json.loads(self.inside("status", "--dir", d / "cluster", "--json")).get("workers") or []) < self.workers:
            time.sleep(0.2)

    def inside(self, *args):
        done = subprocess.run(["ip", "netns", "exec", self.namespaces[0], self.binary, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(f"local_steps: {args[0]} failed: {done.stderr[-2000:]}")
        return done.stdout

    def sent(self):
        """Bytes that each worker has sent as sums."""
        pages = [subprocess.run(["ip", "netns", "exec", n, sys.executable, "-c",
                                 "import urllib.request as u; print(u.urlopen('http://127.0.0.1:7080/metrics').read().decode())"],
                                check=True, stdout=subprocess.PIPE, text=True).stdout for n in self.namespaces[1:]]
        return [sum(float(m[1]) for m in SENT.finditer(page)) for page in pages]

    def train(self, steps, case, evaluate):
        sets = [f"--set={s}" for s in [*SETTINGS, f"training.steps={steps}", f"training.checkpoint_every={steps}",
                                       f"training.sync_every={case['every']}", f"seed={case['seed']}", f"training.learning_rate={case['rate']}",
                                       f"training.wire={case['wire']}"]]
        where = ["--preset", "smoke", "--dir", self.directory / "cluster", *sets]
        before, began = self.sent(), recovery.now()
        self.inside("train", "vn1d", *where, "--workers-for", f"{self.workers}:{self.workers}")
        begun = [(at, m) for at, m in self.log.lines(began) if re.search(recovery.STARTS, m)]
        if len(begun) != 1 or not re.search(GOES.format(self.workers), begun[0][1]):
            return None  # a worker was ready too late
        goes = begun[0][0]
        result = {**case, "workers": self.workers, "steps": steps, "seconds": self.log.wait(r"has ended: done", goes) - goes,
                  "bytes": max(a - b for a, b in zip(self.sent(), before))}
        if evaluate:
            row = next(r for r in json.loads(self.inside("evaluate", "vn1d", *where, "--json"))["rows"] if r["kind"] == "model")["summary"]
            result |= {k: row[k]["mean"] for k in ("w2", "sinkhorn")}
        return result


def measure(o, known):
    runs = list(known)
    done = lambda r: any(all(r[k] == x[k] for k in r if k != "seed") and r["seed"] == x["seed"] % 1000 for x in runs)
    for steps, mbit, evaluate in ((o.steps, o.fast, True), (o.link_steps, o.mbit, False)):
        for workers in o.workers:
            cases = [{"every": h, "seed": s, "rate": r, "wire": w, "mbit": mbit} for s in (o.seeds if evaluate else [1]) for r in (o.rates if evaluate else [0.001])
                     for w in o.wires for h in o.every]
            cases = [c for c in cases if not done({**c, "workers": workers, "steps": steps})]
            if not cases or not steps:
                continue
            with link.network(workers + 1, mbit) as namespaces, tempfile.TemporaryDirectory(prefix="local-") as directory:
                cluster = Cluster(pathlib.Path(directory), namespaces, o.backend, o.binary)
                try:
                    cluster.start()
                    for c in cases:
                        result = None
                        for attempt in range(ATTEMPTS):
                            result = result or cluster.train(steps, {**c, "seed": c["seed"] + 1000 * attempt}, evaluate)
                        if not result:
                            print(f"local_steps: not all workers took part in {c}", file=sys.stderr)
                            continue
                        runs.append(result)
                        print(runs[-1], file=sys.stderr, flush=True)
                        yield runs
                finally:
                    cluster.close()


def mean(values):
    values = list(values)
    if not values:
        return "–"
    return f"{statistics.fmean(values):.3f}" + (f" ({min(values):.3f}–{max(values):.3f})" if len(values) > 1 else "")


def tables(runs, o):
    quality, linked = [r for r in runs if "w2" in r], [r for r in runs if "w2" not in r]
    about = f"{sitting.processor()}, {os.cpu_count()} cores; ergoflow {sitting.commit()}; backend {o.backend}; {datetime.date.today()}; load at the end {os.getloadavg()[0]:.1f}"
    lines = [about, "", "| workers | `sync_every` | peak rate | wire | seeds | W2 | Sinkhorn | sent by a worker, MB |", "|---|---|---|---|---|---|---|---|"]
    key = lambda r: (r["workers"], r["rate"], r["wire"], r["every"])
    for k in sorted({key(r) for r in quality}):
        same = [r for r in quality if key(r) == k]
        lines.append(f"| {k[0]} | {k[3]} | {k[1]:g} | {k[2]} | {len(same)} | {mean(r['w2'] for r in same)} | {mean(r['sinkhorn'] for r in same)} | {same[0]['bytes'] / 1e6:.2f} |")
    times = ["| workers | `sync_every` | wire | updates | time, s | per update, ms | sent by a worker, MB |", "|---|---|---|---|---|---|---|"]
    for r in sorted(linked, key=key):
        times.append(f"| {r['workers']} | {r['every']} | {r['wire']} | {r['steps']} | {r['seconds']:.1f} | {1000 * r['seconds'] / r['steps']:.1f} | {r['bytes'] / 1e6:.2f} |")
    return "\n".join(lines), "\n".join(times)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    whole = lambda s: [int(x) for x in s.split(",")]
    p.add_argument("--workers", default="2,4", type=whole)
    p.add_argument("--every", default="1,5,20", type=whole, help="values of training.sync_every")
    p.add_argument("--rates", default="0.001", type=lambda s: [float(x) for x in s.split(",")], help="values of training.learning_rate")
    p.add_argument("--wires", default="f32", type=lambda s: s.split(","), help="values of training.wire")
    p.add_argument("--seeds", default="1,2", type=whole)
    p.add_argument("--steps", default=4000, type=int, help="updates of the runs that are evaluated; 0: none")
    p.add_argument("--link-steps", default=400, type=int, help="updates over the slow links; 0: none")
    p.add_argument("--fast", default=1000, type=int, help="Mbit/s of the links of the runs that are evaluated")
    p.add_argument("--mbit", default=20, type=int, help="Mbit/s of the slow links")
    p.add_argument("--backend", default="xla:cpu")
    p.add_argument("--binary", default=link.ROOT / "bin" / "ergoflow", type=pathlib.Path)
    p.add_argument("--write", type=pathlib.Path)
    p.add_argument("--add", action="store_true")
    o = p.parse_args()
    data = o.write and o.write.with_suffix(".json")
    runs = json.loads(data.read_text()) if o.add else []
    for runs in measure(o, runs):
        if data:
            data.write_text(json.dumps(runs, indent=1) + "\n")
    for text, mark in zip(tables(runs, o), ("distances", "times")):
        print(text)
        if o.write:
            sitting.write(o.write, text, mark)


if __name__ == "__main__":
    main()
