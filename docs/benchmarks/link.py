"""ergoflow's all-reduce over links of a given rate. Each rank has a network namespace, a
bridge in another namespace connects them, and tc's token bucket (tbf) limits both
directions of every cable. Needs root, ip and tc (iproute2); does not change the host's
network.

    make bench-link        (or: sudo python3 docs/benchmarks/link.py)

Each round times every wire once. The fraction of the link is
2(W-1)/W · bytes on the wire / median / rate: the bytes that a rank must send, and
also receive, over those that its link carries. Headers of TCP and Ethernet take 4 %.

--write FILE writes every time to FILE with the extension .json and replaces the part
between the markers in FILE with the table.
"""

import argparse
import contextlib
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys

import sitting

ROOT = pathlib.Path(__file__).parent.parent.parent
OPEN, CLOSE = "<!-- begin measured -->", "<!-- end measured -->"
SHARE = {"f32": 1, "bf16": 1 / 2, "int8": 257 / 256 / 4}  # of float32's bytes


def run(*words):
    subprocess.run(words, check=True)


@contextlib.contextmanager
def network(world, mbit):
    """The names of the ranks' namespaces; a rank has the address 10.77.0.(rank + 1)."""
    prefix = f"ef{os.getpid()}"
    switch, ranks = f"{prefix}s", [f"{prefix}r{r}" for r in range(world)]
    limit = ["root", "tbf", "rate", f"{mbit}mbit", "burst", "128kb", "latency", "50ms"]
    try:
        for namespace in [switch, *ranks]:
            run("ip", "netns", "add", namespace)
            run("ip", "-n", namespace, "link", "set", "lo", "up")
        run("ip", "-n", switch, "link", "add", "bridge", "type", "bridge")
        run("ip", "-n", switch, "link", "set", "bridge", "up")
        for r, namespace in enumerate(ranks):
            run("ip", "-n", namespace, "link", "add", "cable", "type", "veth", "peer", "name", f"port{r}", "netns", switch)
            run("ip", "-n", switch, "link", "set", f"port{r}", "master", "bridge", "up")
            run("ip", "-n", namespace, "addr", "add", f"10.77.0.{r + 1}/24", "dev", "cable")
            run("ip", "-n", namespace, "link", "set", "cable", "up")
            run("tc", "-n", namespace, "qdisc", "add", "dev", "cable", *limit)
            run("tc", "-n", switch, "qdisc", "add", "dev", f"port{r}", *limit)
        yield ranks
    finally:
        for namespace in [switch, *ranks]:
            subprocess.run(["ip", "netns", "del", namespace], stderr=subprocess.DEVNULL)


def median_ms(namespaces, size, wire, o):
    peers = ",".join(f"10.77.0.{r + 1}:7000" for r in range(len(namespaces)))
    processes = []
    try:
        for r, namespace in enumerate(namespaces):
            processes.append(subprocess.Popen(
                ["ip", "netns", "exec", namespace, ROOT / "bin" / "ergoflow", "bench", "allreduce", "--rank", str(r), "--peers", peers,
                 "--bytes", str(size), "--wire", wire, "--rounds", str(o.sums), "--topology", o.topology, "--json"],
                stdout=subprocess.PIPE, text=True, env={**os.environ, "GOMAXPROCS": "1"}))
        answers = [p.communicate(timeout=300)[0] for p in processes]
    finally:
        for p in processes:
            p.kill()
            p.wait()
    return json.loads(answers[0])[0]["median_ms"]


def measure(o):
    cases = {}
    for world in o.worlds:
        with network(world, o.mbit) as namespaces:
            times = {w: [] for w in o.wires.split(",")}
            for r in range(o.rounds):
                for w, list_ in times.items():
                    list_.append(median_ms(namespaces, o.bytes, w, o))
                print(f"{world} × {o.bytes}, round {r + 1}: " + ", ".join(f"{w} {t[-1]:.1f} ms" for w, t in times.items()),
                      file=sys.stderr, flush=True)
        cases[f"{world} × {o.bytes}"] = {"world": world, "bytes": o.bytes, "mbit": o.mbit, "ms": times}
    return cases


def spread(values, form):
    return f"{statistics.median(values):{form}} ({min(values):{form}}–{max(values):{form}})"


def table(cases):
    lines = ["| processes × bytes | link | wire | ms | fraction of the link | times as fast as f32 |", "|---|---|---|---|---|---|"]
    for c in cases.values():
        for wire, times in c["ms"].items():
            bits = 8 * 2 * (c["world"] - 1) / c["world"] * c["bytes"] * SHARE[wire]
            fractions = [bits / (1e3 * t) / c["mbit"] for t in times]
            faster = spread([a / b for a, b in zip(c["ms"]["f32"], times)], ".2f") if wire != "f32" and "f32" in c["ms"] else ""
            lines.append(f"| {c['world']} × {c['bytes']:,} | {c['mbit']} Mbit/s | {wire} | {spread(times, '.1f')} | "
                         f"{spread(fractions, '.1%')} | {faster} |")
    return "\n".join(lines) + "\n"


def machine():
    model = sitting.processor()
    commit = sitting.commit()
    return f"{model}, {len(os.sched_getaffinity(0))} cores; ergoflow {commit}; {datetime.date.today()}"


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--sums", type=int, default=15, help="sums timed in each round (default: %(default)s)")
    options.add_argument("--worlds", type=int, nargs="*", default=[2, 4])
    options.add_argument("--bytes", type=int, default=7100000)
    options.add_argument("--mbit", type=int, default=1000)
    options.add_argument("--wires", default="f32,bf16,int8")
    options.add_argument("--topology", default="auto")
    options.add_argument("--write", type=pathlib.Path)
    o = options.parse_args()
    cases, about = measure(o), machine()
    print(about + "\n\n" + table(cases))
    if o.write:
        before, _, rest = o.write.read_text().partition(OPEN)
        after = rest.partition(CLOSE)[2]
        o.write.with_suffix(".json").write_text(json.dumps({"machine": about, "cases": cases}, indent=1, ensure_ascii=False) + "\n")
        o.write.write_text(f"{before}{OPEN}\n{about}\n\n{table(cases)}{CLOSE}{after}")


if __name__ == "__main__":
    main()
