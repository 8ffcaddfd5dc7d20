"""ergoflow's kernels beside their peers, in one sitting.

    make bench-kernels        (or: .venv/bin/python docs/benchmarks/kernels_ratio.py [--kernels line-64,…])

Every round times ergoflow, then each peer, so that all run under the same load. A
peer works for at least 0.4 s, ergoflow for two rounds of at least 0.2 s for each
engine. The ratio of a round is ergoflow's rate over the peer's; the tables have the
median of the rounds, with the least and largest. Peers start once and compile before
the first round.

--write FILE replaces the part between the markers in FILE with the tables, and writes
every measured rate to FILE with the extension .json.
"""

import argparse
import datetime
import itertools
import json
import os
import pathlib
import re
import shlex
import statistics
import subprocess
import sys
import tempfile

import numpy as np

import sitting
from kernels import GOALS, KERNELS

HERE = pathlib.Path(__file__).resolve().parent
PEERS, ROOT = HERE / "peers", HERE.parent.parent
sys.path.insert(0, str(PEERS))
import problem  # noqa: E402

CFLAGS = "-O3 -march=native -mprefer-vector-width=512 -ffast-math -fopenmp"
MODEL = "model\t"  # the tab excludes the line "model name"
OPEN, CLOSE = "<!-- begin measured -->", "<!-- end measured -->"


def say(words):
    print(words, file=sys.stderr, flush=True)


class Peer:
    """A peer's process after its start; peers/serve.py has the protocol."""

    def __init__(self, command, threads):
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "NUMBA_NUM_THREADS": str(threads)}
        if command[0] != sys.executable:
            environment["OMP_WAIT_POLICY"] = "passive"  # the C peer: spinning halves its rate on shared cores
        self.process = subprocess.Popen(command, cwd=PEERS, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.versions = self.answer()["versions"]

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{shlex.join(map(str, self.process.args))} ended with {self.process.wait()}")
        return json.loads(line)

    def measure(self, variant, seconds):
        self.process.stdin.write(f"{seconds} {variant}\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def compiled(system, nodes, folder):
    """The command of the C peer: its table and its program."""
    p = problem.named(system, int(nodes))
    header = np.array([p[k] for k in ("scale", "offset", "top", "noise")], np.float32)
    table, program = folder / f"{system}-{nodes}.table", folder / f"{system}-{nodes}"
    np.concatenate([header, p["cells"].ravel()]).tofile(table)
    name, full = system.removesuffix("-full"), system.endswith("-full")
    subprocess.run(["gcc", *CFLAGS.split(), f'-DSYSTEM="{name}.h"', *full * ["-DFULL"], "euler.c", "-o", program, "-lm"], cwd=PEERS, check=True)
    chains, steps = (problem.COPIES, 200) if system == "particles" else (problem.FUNCTIONS * problem.CHAINS, 640)
    return [program, table, str(chains), str(steps), str(problem.amount(system))]


def start(template, threads, folder):
    words = template.format(c="C", python=sys.executable, threads=threads).split()
    return Peer(compiled(*words[1:], folder) if words[0] == "C" else words, threads)


def ergoflow(command, threads):
    """The rows that ergoflow timed; none if this build lacks the command."""
    words = [ROOT / "bin" / "ergoflow", "bench", *command.split(), "--threads", str(threads), "--json"]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        say(f"ergoflow bench {command}: {done.stderr.strip()}")
        return []
    return json.loads(done.stdout)


def run(kernels, o, folder, versions, load):
    """Times the kernels of one command. Returns the rates of all rounds by kernel, for
    kernels that ergoflow has: {"ours": {engine: […]}, "peers": {name: […]}}."""
    measured, started, checks = {}, {}, {}
    for r in range(o.rounds or kernels[0].rounds):
        rows = ergoflow(kernels[0].command, o.threads)
        if not rows:
            break
        load.append(os.getloadavg()[0])
        for k in kernels:
            ours = {m["engine"]: m["rate"] for m in rows if re.fullmatch(k.what, m["what"])}
            if not ours:
                continue
            rates = measured.setdefault(k.name, {"ours": {}, "peers": {}})
            for engine, rate in ours.items():
                rates["ours"].setdefault(engine, []).append(rate)
            for peer, (command, variant) in k.peers.items():
                if command not in started:
                    started[command] = start(command, o.threads, folder)
                    versions.update(started[command].versions)
                answer = started[command].measure(variant, o.seconds)
                rates["peers"].setdefault(peer, []).append(answer["rate"])
                checks.setdefault(k.name, {})[peer] = answer["check"]
            say(f"{k.name} {r + 1}: " + ", ".join(f"{n} {k.shown(v[-1])}" for n, v in [*rates["ours"].items(), *rates["peers"].items()]))
    for peer in started.values():
        peer.close()
    for name, found in checks.items():
        found = {k: v for k, v in found.items() if v is not None}
        if found and max(found.values()) > 1.1 * min(found.values()):
            raise RuntimeError(f"{name}: the peers do not solve the same problem: mean squares or costs {found}")
    return measured


def ratios(rates, peer, engine):
    return [a / b for a, b in zip(rates["ours"][engine], rates["peers"][peer])]


def spread(values, shown=lambda v: f"{v:.3g}" if v < 100 else f"{v:.0f}"):
    return f"{shown(statistics.median(values))} ({shown(min(values))}–{shown(max(values))})"


def table(kernel, rates):
    """A line for each engine and peer, a column for the ratio to each peer."""
    peers = list(rates["peers"])
    per = ("M " if kernel.million else "") + kernel.unit + "/s"
    yield f"### {kernel.title}\n\n| | {per} | " + " | ".join(f"against {p}" for p in peers) + " |"
    yield "|---" * (2 + len(peers)) + "|"
    for engine, values in rates["ours"].items():
        yield f"| ergoflow {engine} | {spread(values, kernel.shown)} | " + " | ".join(spread(ratios(rates, p, engine)) for p in peers) + " |"
    for peer, values in rates["peers"].items():
        yield f"| {peer} | {spread(values, kernel.shown)} |" + " |" * len(peers)
    yield f"\n{len(next(iter(rates['ours'].values())))} rounds of `ergoflow bench {kernel.command}`\n"


def goals(measured):
    yield "| goal | measured | |\n|---|---|---|"
    for g in GOALS:
        rates = measured.get(g.kernel)
        engine = next((e for e in g.engines if rates and e in rates["ours"]), None)
        if engine is None:
            yield f"| {g.words} | – | not measured |"
            continue
        values = ratios(rates, g.peer, engine) if g.peer else [v / 1e6 for v in rates["ours"][engine]]
        least = g.least if g.peer else g.least / 1e6
        median = statistics.median(values)
        verdict = "met" if median >= least else f"**not met**, {100 * median / least:.0f} %"
        if g.wanted:
            verdict += f"; stretch goal {g.wanted:.0f}" + (", reached" if median >= g.wanted else ", not reached")
        yield f"| {g.words} | {spread(values)} {engine} | {verdict} |"


def values(folder):
    """Divergences of three kinds of data against GeomLoss in float64."""
    out = subprocess.Popen([sys.executable, "sinkhorn_geomloss.py", "--values", folder], cwd=PEERS, stdout=subprocess.PIPE, text=True)
    for line in out.stdout:
        case = json.loads(line)
        where = folder / f"{case['data']}-{case['dimension']}D"
        ours = subprocess.run([ROOT / "bin" / "ergoflow", "metrics", where / "X.npy", where / "Y.npy", "--directions", "1"],
                              check=True, stdout=subprocess.PIPE, text=True).stdout
        case["ergoflow"] = json.loads(ours)["sinkhorn"]
        case["difference"] = abs(case["ergoflow"] / case["value"] - 1)
        say(f"{case}")
        yield case
    if out.wait() != 0:
        raise RuntimeError("GeomLoss failed")


def value_table(cases):
    yield "### Values of the Sinkhorn divergence\n\nOn 4,096 against 4,096 points, GeomLoss's default schedule in float64; goal: within 1e-5.\n"
    yield "| data | dimension | GeomLoss, float64 | ergoflow | relative difference |\n|---|---|---|---|---|"
    for c in cases:
        yield f"| {c['data']} | {c['dimension']} | {c['value']:.9g} | {c['ergoflow']:.9g} | {c['difference']:.1e} |"
    yield ""


def machine(o, versions):
    def field(name):
        return next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith(name))

    gcc = subprocess.run(["gcc", "-dumpfullversion"], stdout=subprocess.PIPE, text=True).stdout.strip()
    commit = sitting.commit()
    versions = {**versions, "gcc": gcc}
    return (f"{field('model name')} (family {field('cpu family')}, model {field(MODEL)}), {os.cpu_count()} cores, {o.threads} threads; "
            f"ergoflow {commit}; {', '.join(f'{k} {v}' for k, v in sorted(versions.items()))}. "
            f"{datetime.date.today()}, {{}}.")


def write(page, text, data):
    old = page.read_text()
    if old.count(OPEN) != 1 or old.count(CLOSE) != 1:
        raise SystemExit(f"{page} lacks the markers {OPEN} and {CLOSE}")
    before, after = old.split(OPEN)[0], old.split(CLOSE)[1]
    page.with_suffix(".json").write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    page.write_text(f"{before}{OPEN}\n{text}{CLOSE}{after}")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--kernels", default=",".join(k.name for k in KERNELS))
    options.add_argument("--rounds", type=int, help="rounds of every kernel (default: 5 or 3, from kernels.py)")
    options.add_argument("--seconds", type=float, default=0.4, help="minimum duration of a peer's round, in seconds (default: %(default)s)")
    options.add_argument("--threads", type=int, default=os.cpu_count())
    options.add_argument("--no-values", action="store_true", help="skip the comparison of divergences")
    options.add_argument("--write", type=pathlib.Path)
    o = options.parse_args()
    chosen, measured, versions = o.kernels.split(","), {}, {}
    if unknown := set(chosen) - {k.name for k in KERNELS}:
        raise SystemExit(f"no kernels {unknown}; there are {', '.join(k.name for k in KERNELS)}")
    load = [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for _, group in itertools.groupby((k for k in KERNELS if k.name in chosen), lambda k: k.command):
            measured.update(run(list(group), o, folder, versions, load))
        cases = [] if o.no_values else list(values(folder))
    loads = f"load average {load[0]:.1f} before, up to {max(load):.1f} during the sitting (its own share is 2)"
    lines = [machine(o, versions).format(loads) + "\n", *goals(measured), ""]
    for kernel in KERNELS:
        if kernel.name in measured:
            lines += table(kernel, measured[kernel.name])
    if cases:
        lines += value_table(cases)
    text = "\n".join(lines) + "\n"
    print(text)
    if o.write:
        write(o.write, text, {"machine": lines[0].strip(), "kernels": measured, "values": cases})


if __name__ == "__main__":
    main()
