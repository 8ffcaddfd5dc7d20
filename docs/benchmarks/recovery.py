"""How long training stops when a cluster of three workers on this machine loses or
gains a process, and how long with torchrun's elastic launcher.

    make bench-recovery     (or: .venv/bin/python docs/benchmarks/recovery.py)

A time is from the event to the next committed step: the moment at which the
coordinator learns that all ranks have summed and applied one. For a worker that joins,
the event is that it is prepared. Times come from the log lines, in milliseconds. The
benchmark restarts a killed worker or coordinator, and the next event waits until all
three workers train.

torchrun gets the same faults: three workers of the same network, DDP on gloo
(recovery_torch.py). The time ends with the first step after the fault, which may
repeat an earlier one, since torchrun continues from a snapshot. After --cap seconds
without a step the benchmark starts a new launcher. As installed (torch 2.15), torchrun
never resumes: workers of the next attempt find the addresses of the last one in the
store that they share with the launcher. So most times are with
TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1, which gives each attempt its own store, and a few
as installed.

A worker that joins or leaves, and a host lost with all its processes, need a launcher
for every worker (--nnodes 1:4, rendezvous c10d, otherwise as installed). The first
launcher hosts the rendezvous: it is killed in the event that kills ergoflow's
coordinator. With --etcd PROGRAM the same launchers meet at an etcd server that nobody kills:
PROGRAM is etcd 3.5, the last with the API of version 2, and python-etcd must be installed.
The times end with a step of the current number of workers, and include
how long training stopped before it; a join is timed from the launcher's start.

--write FILE writes every time to FILE with the extension .json and replaces the part
between the markers in FILE with the table. Parts that are not run (no rounds) keep the
times that FILE has.
"""

import argparse
import datetime
import json
import math
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import sitting

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
OPEN, CLOSE = "<!-- begin measured -->", "<!-- end measured -->"
WORKERS = 3
# vn1d's network; little data, so that the cluster starts soon; more steps than the benchmark needs.
SETTINGS = ["data.functions=1024", "data.shards=16", "data.samples=64", "data.training.chains=16", "data.training.burn_in=50",
            "data.held_out=8", "data.reference_samples=64", "data.reference.chains=16", "data.reference.burn_in=50",
            "evaluation.functions=8", "evaluation.samples=64",
            "training.batch_functions=32", "training.batch_samples=32", "training.steps=1000000", "training.checkpoint_every=500"]
LINE = re.compile(r'time=(\S+) level=\w+ msg=(?:"((?:[^"\\]|\\.)*)"|(\S+))')
PATIENCE = 300  # seconds to wait for an event that must happen
# Log lines of the coordinator (coordinator/machine) and of workers (worker).
STARTS = r"generation \d+ goes: (\d+) workers"
STEPS = r"generation \d+ makes step (\d+)"
PAUSE = r"makes step \d+, (\S+) after the last one"
HELD = r"generation \d+: \d+ of \d+ members hold step (\d+)"
ENDS = r"generation \d+ ends"
PREPARED = r"is prepared"
LEFT = r"^generation (broke|ended)$"  # of a worker


def now():
    """The time rounded down to milliseconds, as in a log line."""
    return math.floor(1000 * time.time()) / 1000


def duration(text):
    """Seconds of a duration as Go writes it, such as 1m2.5s or 143ms."""
    units = {"h": 3600, "m": 60, "s": 1, "ms": 1e-3}
    return sum(float(n) * units[unit] for n, unit in re.findall(r"([\d.]+)(h|ms|m|s)", text))


class Log:
    """The lines of a log as (time, message)."""

    def __init__(self, path):
        self.path = path

    def lines(self, since):
        if not self.path.exists():
            return
        for line in self.path.read_text(errors="replace").splitlines():
            m = LINE.match(line)
            if m:
                at = datetime.datetime.fromisoformat(m[1]).timestamp()
                if at >= since:
                    yield at, m[2] if m[2] is not None else m[3]

    def first(self, pattern, since):
        return next((at for at, message in self.lines(since) if re.search(pattern, message)), None)

    def stood_still(self, at):
        """The pause before the first step of a generation, from the line at that time."""
        message = next(m for t, m in self.lines(at) if re.search(STEPS, m))
        return duration(re.search(PAUSE, message)[1])

    def wait(self, pattern, since):
        """The time of the first line since then that matches the pattern."""
        deadline = time.time() + PATIENCE
        while time.time() < deadline:
            at = self.first(pattern, since)
            if at is not None:
                return at
            time.sleep(0.01)
        sys.exit(f"recovery: no line with {pattern!r} in {self.path}; its end:\n" + self.path.read_text()[-3000:])


class Process:
    """A process of ergoflow with its log."""

    def __init__(self, cluster, name, *args):
        self.cluster, self.name, self.args, self.runs = cluster, name, args, 0
        self.start()

    def start(self):
        self.runs += 1
        self.log = Log(self.cluster.directory / f"{self.name}-{self.runs}.log")
        with open(self.log.path, "w") as out:
            self.popen = subprocess.Popen([ROOT / "bin" / "ergoflow", *self.args], stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        self.cluster.processes.append(self.popen)

    def send(self, signal_):
        self.popen.send_signal(signal_)

    def kill(self):
        self.send(signal.SIGKILL)
        self.popen.wait()


class Cluster:
    """A coordinator and workers on loopback, training."""

    def __init__(self, directory, backend):
        self.directory, self.backend, self.extra, self.processes = directory, backend, 0, []

    def start(self):
        directory = self.directory
        self.coordinator = Process(self, "coordinator", "coordinator", "--dir", directory / "cluster")
        self.until_file(directory / "cluster" / "coordinator.json")
        self.gossip = json.loads((directory / "cluster" / "coordinator.json").read_text())["gossip"]
        self.workers = [self.worker(f"worker-{i}") for i in range(WORKERS)]
        command = [ROOT / "bin" / "ergoflow", "train", "vn1d", "--preset", "demo", "--dir", directory / "cluster"]
        for s in SETTINGS:
            command += ["--set", s]
        with open(directory / "train.log", "w") as out:
            train = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        self.processes.append(train)
        self.whole(0)

    def until_file(self, path):
        deadline = time.time() + PATIENCE
        while not path.exists():
            if time.time() > deadline or self.coordinator.popen.poll() is not None:
                sys.exit("recovery: the coordinator does not start:\n" + self.coordinator.log.path.read_text())
            time.sleep(0.01)

    def worker(self, name):
        return Process(self, name, "worker", "--join", self.gossip, "--backend", self.backend, "--threads", "1")

    def whole(self, since, workers=WORKERS):
        """Waits until this number of workers has committed a step."""
        at = self.coordinator.log.wait(STARTS.replace(r"(\d+)", str(workers)), since)
        self.coordinator.log.wait(STEPS, at)

    def close(self):
        for p in self.processes:
            p.kill()
            p.wait()

    # Each event returns its times in seconds and leaves three workers.

    def measured(self, since, survivors=()):
        log = self.coordinator.log
        at = log.wait(STEPS, since)
        times = {"step": at - since, "still": log.stood_still(at), "noticed": log.wait(ENDS, since) - since}
        if survivors:
            times["aborted"] = max(w.log.wait(LEFT, since) for w in survivors) - since
        return times

    def kill_workers(self, n):
        victims = random.sample(self.workers, n)
        begin = now()
        for v in victims:
            v.send(signal.SIGKILL)
        times = self.measured(begin, [w for w in self.workers if w not in victims])
        for v in victims:
            v.popen.wait()
        again = now()
        for v in victims:
            v.start()
        self.whole(again)
        return times

    def kill_one(self):
        return self.kill_workers(1)

    def kill_two(self):
        return self.kill_workers(2)

    def kill_coordinator(self):
        begin = now()
        self.coordinator.kill()
        self.coordinator.start()
        times = {"step": self.coordinator.log.wait(STEPS, begin) - begin}
        self.whole(begin)
        return times

    def stop_host(self):
        victim = random.choice(self.workers)
        begin = now()
        victim.send(signal.SIGSTOP)
        times = self.measured(begin, [w for w in self.workers if w is not victim])
        again = now()
        victim.send(signal.SIGCONT)
        self.whole(again)
        return times

    def join(self):
        self.extra += 1
        begin = now()
        self.workers.append(self.worker(f"joiner-{self.extra}"))
        prepared = self.coordinator.log.wait(PREPARED, begin)
        times = self.measured(prepared)
        self.whole(prepared, WORKERS + 1)
        return times

    def leave(self):
        leaver = self.workers.pop()
        begin = now()
        leaver.send(signal.SIGTERM)
        times = self.measured(begin)
        leaver.popen.wait()
        self.whole(begin)
        return times


def step_times(directory):
    """Seconds per step of three workers in every generation of at least a hundred steps,
    from its first step to the start of the next generation. A step takes longer while a
    worker prepares, as after most events."""
    times = []
    for path in sorted(directory.glob("coordinator-*.log")):
        first, workers = None, 0
        for at, message in Log(path).lines(0):
            if m := re.match(STARTS, message):
                workers = int(m[1])
            elif m := re.match(STEPS, message):
                first = (at, int(m[1]))
            elif m := re.match(HELD, message):
                if first and workers == WORKERS and int(m[1]) >= first[1] + 100:
                    times.append((at - first[0]) / (int(m[1]) - first[1]))
                first = None
    return times


# event: its name in the table
EVENTS = {
    "kill_one": "a worker is killed",
    "kill_two": "two of three workers are killed",
    "kill_coordinator": "the coordinator is killed and restarted at once",
    "stop_host": "a worker is stopped (SIGSTOP), like one on a lost host",
    "join": "a fourth worker joins",
    "leave": "the fourth worker leaves (SIGTERM)",
}
PAIRS = {"join": "leave"}  # the second event follows the first
# the names with a torchrun launcher for each worker
HOSTS = {
    "kill_one": "a worker and its launcher are killed",
    "kill_coordinator": "the worker and launcher with the rendezvous are killed, and restarted at once",
    "join": EVENTS["join"],
    "leave": EVENTS["leave"],
}
LAUNCHERS, WITH_ETCD = "torchrun, a launcher for each worker", "torchrun, a launcher for each worker, and etcd"
PARTS = ("ergoflow", "torchrun", "torchrun as installed", LAUNCHERS, WITH_ETCD)
TORCH = {"kill_one": (1, signal.SIGKILL), "kill_two": (2, signal.SIGKILL), "stop_host": (1, signal.SIGSTOP)}


def ergoflow(o, times, steps):
    directory = pathlib.Path(tempfile.mkdtemp(prefix="recovery-"))
    cluster = Cluster(directory, o.backend)
    try:
        cluster.start()
        for r in range(o.rounds):
            for event in o.events:
                time.sleep(random.uniform(1, 1.5))
                for e in filter(None, [event, PAIRS.get(event)]):
                    times.setdefault(e, []).append(getattr(cluster, e)())
                    print(f"ergoflow, round {r + 1}: {e} {times[e][-1]}", file=sys.stderr, flush=True)
        steps.extend(step_times(directory))
    finally:
        cluster.close()
        shutil.rmtree(directory)


def stepped(directory, since, cap, workers=None):
    """The times of the first step since then, with this number of workers if given, and
    of the step before it; None after cap seconds."""
    steps, deadline = directory / "steps", time.time() + cap
    while time.time() < deadline:
        before = since
        for line in steps.read_text().splitlines(keepends=True) if steps.exists() else []:
            if not line.endswith("\n"):
                break
            at, world = float(line.split()[0]), int(line.split()[2])
            if at > since and workers in (None, world):
                return at, before
            before = at
        time.sleep(0.02)
    return None


class Launcher:
    """torchrun with three workers."""

    def __init__(self, settings):
        self.settings = settings
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="recovery-torch-"))
        self.out = open(self.directory / "log", "w")
        self.popen = subprocess.Popen([pathlib.Path(sys.executable).parent / "torchrun", "--standalone", "--nproc-per-node", str(WORKERS),
                                       "--max-restarts", "1000", HERE / "recovery_torch.py", self.directory],
                                      stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.out,
                                      env={**os.environ, "OMP_NUM_THREADS": "1", **settings})
        if stepped(self.directory, time.time(), PATIENCE) is None:
            sys.exit("recovery: torchrun does not train:\n" + (self.directory / "log").read_text()[-3000:])

    def fault(self, event, cap):
        n, signal_ = TORCH[event]
        pids = [int((self.directory / f"pid-{r}").read_text()) for r in range(WORKERS)]
        begin = time.time()
        for pid in random.sample(pids, n):
            os.kill(pid, signal_)
        # A step that was nearly complete at the fault does not count.
        found = stepped(self.directory, begin + 0.2, cap)
        return None if found is None else found[0] - begin

    def close(self):
        kill_host(self.popen)
        self.out.close()
        shutil.rmtree(self.directory)


def kill_host(launcher):
    """Kills a launcher and its workers."""
    launcher.send_signal(signal.SIGSTOP)  # so that it starts no more workers
    if launcher.poll() is None:
        for pid in children(launcher.pid):
            os.kill(pid, signal.SIGKILL)
    launcher.kill()
    launcher.wait()


class Hosts:
    """torchrun with a launcher for each worker, as on hosts of a cluster."""

    def __init__(self, etcd=None):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="recovery-torch-"))
        with socket.create_server(("127.0.0.1", 0)) as s:
            self.endpoint = f"127.0.0.1:{s.getsockname()[1]}"
        self.launchers, self.started, self.server = [], 0, None
        if etcd:
            url = f"http://{self.endpoint}"
            with open(self.directory / "etcd.log", "w") as out:
                self.server = subprocess.Popen([etcd, "--data-dir", self.directory / "etcd", "--enable-v2", "--listen-client-urls", url, "--advertise-client-urls", url,
                                                "--listen-peer-urls", "http://127.0.0.1:0"], stdout=out, stderr=out)

    def start(self):
        for rank in range(WORKERS):
            self.launchers.append(self.launch(keeps=rank == 0))
        self.whole(WORKERS, time.time())

    def launch(self, keeps=False):
        """Starts a launcher; keeps says whether it hosts the rendezvous, where that is not etcd."""
        self.started += 1
        meet = ["--rdzv-backend", "etcd-v2"] if self.server else ["--rdzv-backend", "c10d", "--rdzv-conf", f"is_host={str(keeps).lower()}"]
        with open(self.directory / f"log-{self.started}", "w") as out:
            return subprocess.Popen([pathlib.Path(sys.executable).parent / "torchrun", "--nnodes", f"1:{WORKERS + 1}", "--nproc-per-node", "1",
                                     "--max-restarts", "1000", *meet, "--rdzv-id", "recovery", "--rdzv-endpoint", self.endpoint, HERE / "recovery_torch.py", self.directory],
                                    stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                    env={**os.environ, "OMP_NUM_THREADS": "1", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"})

    def whole(self, workers, since):
        if stepped(self.directory, since, PATIENCE, workers) is None:
            sys.exit("recovery: torchrun does not train:\n" + (self.directory / f"log-{self.started}").read_text()[-3000:])

    def timed(self, workers, since, cap):
        """Seconds until a step of this number of workers, and of the pause before it; None after cap."""
        found = stepped(self.directory, since, cap, workers)
        return None if found is None else {"step": found[0] - since, "still": found[0] - found[1]}

    # Each event leaves three workers, or returns None.

    def kill_one(self, cap):
        victim = random.randrange(1, WORKERS)
        begin = time.time()
        kill_host(self.launchers[victim])
        times = self.timed(WORKERS - 1, begin, cap)
        self.launchers[victim] = self.launch()
        if times is not None:
            self.whole(WORKERS, time.time())
        return times

    def kill_coordinator(self, cap):
        begin = time.time()
        kill_host(self.launchers[0])
        self.launchers[0] = self.launch(keeps=True)
        return self.timed(WORKERS, begin, cap)

    def join(self, cap):
        begin = time.time()
        self.launchers.append(self.launch())
        return self.timed(WORKERS + 1, begin, cap)

    def leave(self, cap):
        begin = time.time()
        leaver = self.launchers.pop()
        leaver.send_signal(signal.SIGTERM)
        times = self.timed(WORKERS, begin, cap)
        if times is None:
            kill_host(leaver)
        leaver.wait()
        return times

    def close(self):
        for launcher in self.launchers:
            kill_host(launcher)
        if self.server:
            self.server.kill()
            self.server.wait()
        shutil.rmtree(self.directory)


def children(pid):
    """The pids of a process's children; each worker has its own session."""
    return [int(p) for t in pathlib.Path(f"/proc/{pid}/task").iterdir() for p in (t / "children").read_text().split()]


def torchrun(rounds, settings, o, times):
    launcher = Launcher(settings)
    try:
        for r in range(rounds):
            for event in (e for e in o.events if e in TORCH and (r < o.torch_installed_rounds or TORCH[e][1] != signal.SIGSTOP)):
                time.sleep(random.uniform(1, 1.5))
                took = launcher.fault(event, o.cap)
                times.setdefault(event, []).append(took)
                print(f"torchrun {settings}, round {r + 1}: {event} {took}", file=sys.stderr, flush=True)
                if took is None:
                    launcher.close()
                    launcher = Launcher(settings)
    finally:
        launcher.close()


def hosts(rounds, o, times, etcd=None):
    cluster = Hosts(etcd)
    try:
        cluster.start()
        for r in range(rounds):
            for event in (e for e in o.events if hasattr(Hosts, e)):
                time.sleep(random.uniform(1, 1.5))
                for e in filter(None, [event, PAIRS.get(event)]):
                    took = getattr(cluster, e)(o.cap)
                    times.setdefault(e, []).append(took)
                    print(f"torchrun, hosts, round {r + 1}: {e} {took}", file=sys.stderr, flush=True)
                    if took is None:
                        cluster.close()
                        cluster = Hosts(etcd)
                        cluster.start()
                        break  # a worker that has not joined cannot leave
    finally:
        cluster.close()


def percentile(values, p):
    """By the nearest rank: of 20 values the 99th percentile is the largest."""
    values = sorted(values)
    return values[max(0, math.ceil(p / 100 * len(values)) - 1)]


def shown(values):
    if not values:
        return "", ""
    return f"{statistics.median(values):.2f} s", f"{percentile(values, 99):.2f} s"


def theirs(values, cap):
    if not values:
        return "", ""
    capped = [math.inf if v is None else v for v in values]
    median, worst = statistics.median_low(capped), percentile(capped, 99)
    return tuple(f"> {cap:.0f} s" if math.isinf(v) else f"{v:.1f} s" for v in (median, worst))


def table(results):
    lines = ["| event | next committed step, median | 99 % | training stood still, median | 99 % | noticed, median | 99 % | ring aborted everywhere, median | 99 % |",
             "|---|---|---|---|---|---|---|---|---|"]
    for event, name in EVENTS.items():
        ours = results["ergoflow"].get(event, [])
        lines.append(f"| {name} | " + " | ".join(c for key in ("step", "still", "noticed", "aborted") for c in shown([t[key] for t in ours if key in t])) + " |")
    lines += ["", "| torchrun, one launcher | next step, median | 99 % | as installed, median | 99 % |", "|---|---|---|---|---|"]
    for event in TORCH:
        cells = [c for key in ("torchrun", "torchrun as installed") for c in theirs(results[key].get(event, []), results["cap"])]
        lines.append(f"| {EVENTS[event]} | " + " | ".join(cells) + " |")
    for part in LAUNCHERS, WITH_ETCD:
        lines += ["", f"| {part} | next step, median | 99 % | training stood still, median | 99 % |", "|---|---|---|---|---|"]
        for event, name in HOSTS.items():
            if part == WITH_ETCD:
                name = name.replace(" with the rendezvous", " of the first rank")
            times = results[part].get(event, [])
            cells = [c for key in ("step", "still") for c in theirs([t and t[key] for t in times], results["cap"])]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
    if results["steps"]:
        lines += ["", f"Between these events a step of three workers took {1000 * statistics.median(results['steps']):.0f} ms (median of {len(results['steps'])} generations; in most of them another worker was preparing)."]
    counts = []
    for key in PARTS:
        times = {EVENTS[event]: len(v) for event, v in results[key].items() if v}
        usual = max(times.values(), default=0)
        counts.append(f"{key} {usual} times each" + "".join(f", {name}: {n}" for name, n in times.items() if n != usual))
    return "\n".join(lines) + "\n\n" + "; ".join(counts) + ".\n"


def machine(backend):
    model = sitting.processor()
    commit = sitting.commit()
    torch = subprocess.run([sys.executable, "-c", "import torch; print(torch.__version__)"], stdout=subprocess.PIPE, text=True).stdout.strip()
    return (f"{model}, {len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}; "
            f"ergoflow {commit} on {backend}; torch {torch}; {datetime.date.today()}")


def read(page):
    """The page's .json, to which new times are added; empty if there is none."""
    path = page and page.with_suffix(".json")
    had = json.loads(path.read_text()) if path and path.exists() else {"machine": {}, "steps": []}
    return {**{part: {} for part in PARTS}, **had}


def text(results):
    lines = {}
    for part, line in results["machine"].items():
        lines.setdefault(line, []).append(part)
    machines = "\n".join(f"- {', '.join(parts)}: {line}" for line, parts in lines.items())
    return f"{machines}\n\n{table(results)}"


def write(page, results):
    before, _, rest = page.read_text().partition(OPEN)
    after = rest.partition(CLOSE)[2]
    page.with_suffix(".json").write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    page.write_text(f"{before}{OPEN}\n{text(results)}{CLOSE}{after}")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=20)
    options.add_argument("--torch-rounds", type=int, default=20)
    options.add_argument("--torch-installed-rounds", type=int, default=2, help="rounds as installed, and with a stopped worker; each takes --cap seconds (default: %(default)s)")
    options.add_argument("--torch-hosts-rounds", type=int, default=5, help="rounds with a launcher for each worker; each takes minutes (default: %(default)s)")
    options.add_argument("--etcd", help="program of an etcd server; without it there are no times with etcd")
    options.add_argument("--torch-etcd-rounds", type=int, default=5, help="likewise, with --etcd (default: %(default)s)")
    options.add_argument("--cap", type=float, default=60, help="seconds to wait for torchrun's next step (default: %(default)s)")
    options.add_argument("--backend", default="xla:cpu", help="backend of ergoflow's workers (default: %(default)s)")
    options.add_argument("--events", nargs="*", default=[e for e in EVENTS if e not in PAIRS.values()],
                         choices=[e for e in EVENTS if e not in PAIRS.values()])
    options.add_argument("--write", type=pathlib.Path)
    o = options.parse_args()
    results = read(o.write)
    results["cap"] = o.cap

    def part(name, rounds, run):
        if rounds:
            results["machine"][name], results[name] = machine(o.backend), {}
            run(results[name])

    if o.rounds:
        results["steps"] = []
    part("ergoflow", o.rounds, lambda times: ergoflow(o, times, results["steps"]))
    part("torchrun", o.torch_rounds, lambda times: torchrun(o.torch_rounds, {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}, o, times))
    part("torchrun as installed", o.torch_installed_rounds, lambda times: torchrun(o.torch_installed_rounds, {}, o, times))
    part(LAUNCHERS, o.torch_hosts_rounds, lambda times: hosts(o.torch_hosts_rounds, o, times))
    part(WITH_ETCD, o.etcd and o.torch_etcd_rounds, lambda times: hosts(o.torch_etcd_rounds, o, times, o.etcd))
    if o.write:
        write(o.write, results)
    print(text(results))


if __name__ == "__main__":
    main()
