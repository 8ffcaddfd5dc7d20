"""What security costs a training between hosts: the step, the time from a kill to the next
step, and joining by a token. Every process has a network namespace of its own. Needs root,
ip and tc (iproute2); does not change the host's network.

    make build && sudo python3 docs/benchmarks/secured.py --write docs/results/secured.md

In each round, and for each rate of the links, two workers train vn1d's network at its demo
batch, first in plain text and then secured. A step's time is that of --seconds of training. Then one worker is killed, and
the time ends with the next step of the other, by the coordinator's log; it restarts before
the next kill. Joining is `ergoflow join` with a token, from the start of the process to its
end: a key, a handshake, a certificate, and the question where the cluster is.

--write FILE writes every time to FILE with the extension .json and replaces the part
between the markers in FILE with the table.
"""

import argparse
import datetime
import itertools
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import link
import recovery
import sitting

ROOT = recovery.ROOT
NAMES = ("plain", "secured")


class Hosts:
    """A coordinator and two workers, each in its namespace."""

    def __init__(self, directory, namespaces, backend, secured):
        self.directory, self.namespaces, self.backend, self.secured = directory, namespaces, backend, secured
        self.processes, self.runs = [], 0

    def run(self, host, name, *args):
        """Starts a process on a host, with a log of its own."""
        self.runs += 1
        path = self.directory / f"{name}-{self.runs}.log"
        with open(path, "w") as log, open(path.with_suffix(".out"), "w") as out:
            p = subprocess.Popen(["ip", "netns", "exec", self.namespaces[host], ROOT / "bin" / "ergoflow", *args],
                                 stdin=subprocess.DEVNULL, stdout=out, stderr=log)
        self.processes.append(p)
        return p, recovery.Log(path)

    def start(self):
        d = self.directory
        plain = [] if self.secured else ["--insecure"]
        _, self.log = self.run(0, "coordinator", "coordinator", "--dir", d / "cluster", "--listen", "10.77.0.1:7070",
                               "--gossip", "10.77.0.1:7946", "--join", "10.77.0.1:7071", *plain)
        self.wait_for(d / "cluster" / "coordinator.json")
        if self.secured:
            self.token = self.command("tokens", "create", "--dir", d / "cluster", "--role", "worker", "--ttl", "1h", "--uses", "9").split()[-1]
        for host in (1, 2):
            self.worker(host)
        sets = [x for s in recovery.SETTINGS for x in ("--set", s)]
        self.run(0, "train", "train", "vn1d", "--preset", "demo", "--dir", d / "cluster", *sets)
        self.whole(0)

    def wait_for(self, path):
        deadline = time.time() + recovery.PATIENCE
        while not path.exists():
            if time.time() > deadline:
                sys.exit(f"secured: no {path}")
            time.sleep(0.01)

    def command(self, *args):
        return subprocess.run(["ip", "netns", "exec", self.namespaces[0], ROOT / "bin" / "ergoflow", *args],
                              check=True, stdout=subprocess.PIPE, text=True).stdout

    def worker(self, host):
        seed = ["--join", "10.77.0.1:7946", "--insecure"]
        if self.secured:
            seed = ["--join", "10.77.0.1:7071", "--token", self.token, "--credentials", self.directory / f"credentials-{host}"]
        self.last, _ = self.run(host, f"worker-{host}", "worker", *seed, "--listen", f"10.77.0.{host + 1}:7072",
                                "--gossip", f"10.77.0.{host + 1}:7946", "--backend", self.backend, "--threads", "1")

    def whole(self, since):
        at = self.log.wait(recovery.STARTS.replace(r"(\d+)", "2"), since)
        self.log.wait(recovery.STEPS, at)

    def step(self):
        return json.loads(self.command("status", "--dir", self.directory / "cluster", "--json"))["step"]

    def step_ms(self, seconds):
        time.sleep(3)
        began, first = time.time(), self.step()
        time.sleep(seconds)
        ended, last = time.time(), self.step()
        return 1000 * (ended - began) / (last - first)

    def kill(self):
        begin = recovery.now()
        self.last.send_signal(signal.SIGKILL)
        took = self.log.wait(recovery.STEPS, begin) - begin
        self.last.wait()
        again = recovery.now()
        self.worker(2)
        self.whole(again)
        return took

    def join(self, i):
        token = self.command("tokens", "create", "--dir", self.directory / "cluster", "--role", "viewer").split()[-1]
        began = time.time()
        subprocess.run(["ip", "netns", "exec", self.namespaces[1], ROOT / "bin" / "ergoflow", "join", "10.77.0.1:7071", "--token", token,
                        "--context", self.directory / f"context-{i}"], check=True, stdout=subprocess.DEVNULL)
        return time.time() - began

    def close(self):
        for p in self.processes:
            p.kill()
            p.wait()


def measure(o):
    times = {"join_s": [], "links": {rate: {name: {"step_ms": [], "kill_s": []} for name in NAMES} for rate in o.mbit}}
    for r, rate, name in itertools.product(range(o.rounds), o.mbit, NAMES):
        mine = times["links"][rate][name]
        with link.network(3, rate) as namespaces, tempfile.TemporaryDirectory(prefix="secured-") as directory:
            hosts = Hosts(pathlib.Path(directory), namespaces, o.backend, name == "secured")
            try:
                hosts.start()
                mine["step_ms"].append(hosts.step_ms(o.seconds))
                for _ in range(o.kills):
                    time.sleep(1)
                    mine["kill_s"].append(hosts.kill())
                if hosts.secured:
                    times["join_s"] += [hosts.join(i) for i in range(o.kills)]
            finally:
                hosts.close()
        print(f"round {r + 1}, {rate} Mbit/s, {name}: step {mine['step_ms'][-1]:.2f} ms, kills {mine['kill_s'][-o.kills:]}", file=sys.stderr, flush=True)
    return times


def spread(values, digits):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def table(times, o):
    lines = [f"{sitting.processor()}, {os.cpu_count()} cores; ergoflow {sitting.commit()}; backend {o.backend}; {datetime.date.today()}; load at the end {os.getloadavg()[0]:.1f}", "",
             "| link | a step in plain text, ms | secured, ms | secured / plain | from a kill to the next step in plain text, s | secured, s |", "|---|---|---|---|---|---|"]
    for rate, of in times["links"].items():
        plain, secured = (of[name] for name in NAMES)
        ratios = [s / p for p, s in zip(plain["step_ms"], secured["step_ms"])]
        lines.append(f"| {rate} Mbit/s | {spread(plain['step_ms'], 1)} | {spread(secured['step_ms'], 1)} | {spread(ratios, 3)} | {spread(plain['kill_s'], 3)} | {spread(secured['kill_s'], 3)} |")
    lines += ["", f"Joining by a token took {spread(times['join_s'], 3)} s. Medians, with the least and the largest, of {o.rounds} rounds of {o.seconds} s, "
              f"{o.rounds * o.kills} kills and {len(times['join_s'])} joins. A round's ratio is that of its two step times."]
    return lines


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rounds", default=3, type=int)
    p.add_argument("--seconds", default=30, type=int, help="of training, for the time of a step")
    p.add_argument("--kills", default=2, type=int, help="a round")
    p.add_argument("--mbit", default="1000,10000", type=lambda s: [int(x) for x in s.split(",")], help="rates of the links")
    p.add_argument("--backend", default="xla:cpu")
    p.add_argument("--write", type=pathlib.Path)
    o = p.parse_args()
    times = measure(o)
    lines = table(times, o)
    print("\n".join(lines))
    if o.write:
        o.write.with_suffix(".json").write_text(json.dumps(times) + "\n")
        head, _, rest = o.write.read_text().partition(recovery.OPEN)
        o.write.write_text(head + "\n".join([recovery.OPEN, *lines, recovery.CLOSE]) + rest.partition(recovery.CLOSE)[2])


if __name__ == "__main__":
    main()
