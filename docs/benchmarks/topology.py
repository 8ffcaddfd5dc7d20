"""Sums of many ranks on hosts whose links have a rate and a latency: the algorithms of
ergoflow beside each other, and PyTorch's Gloo. Each host is a network namespace, as in
link.py; its ranks share its link. Needs root, ip and tc (iproute2), and go.

    make bench-topology       (or: sudo python3 docs/benchmarks/topology.py)

The kernel's tbf limits the rate of every cable. The latency of a cable comes from a small
program (delay/main.go) that carries its frames, because many kernels have no netem.

--write FILE writes every time to FILE with the extension .json, and replaces the part
between the markers in FILE with a table of the
measurements and one of the model of allreduce/topology for up to 1,024 ranks.
"""

import argparse
import contextlib
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import link

ROOT = link.ROOT
OPEN, CLOSE = link.OPEN, link.CLOSE

# hosts, ranks on each, Mbit/s, ms of a cable (a message passes two), bytes, topologies
CASES = [
    (2, 2, 100, 0, 16_384, ["mesh", "ring", "hosts"]),
    (2, 2, 100, 0, 1_600_000, ["mesh", "ring", "hosts"]),
    (2, 4, 100, 0, 4, ["mesh", "ring", "hosts", "gloo"]),
    (2, 4, 100, 0, 16_384, ["mesh", "ring", "hosts", "gloo"]),
    (2, 4, 100, 0, 400_000, ["mesh", "ring", "hosts", "gloo"]),
    (2, 4, 100, 0, 1_600_000, ["mesh", "ring", "hosts", "gloo"]),
    (16, 1, 100, 0, 16_384, ["ring", "doubling", "gloo"]),
    (16, 1, 100, 0, 1_600_000, ["ring", "doubling", "gloo"]),
    (16, 1, 100, 0, 7_100_000, ["ring", "doubling", "gloo"]),
    (4, 4, 100, 0, 16_384, ["ring", "doubling", "hosts", "gloo"]),
    (4, 4, 100, 0, 1_600_000, ["ring", "doubling", "hosts", "gloo"]),
    (4, 4, 100, 0, 7_100_000, ["ring", "doubling", "hosts", "gloo"]),
    (64, 1, 25, 0, 4, ["ring", "doubling"]),
    (64, 1, 25, 0, 16_384, ["ring", "doubling"]),
    (64, 1, 25, 0, 1_600_000, ["ring", "doubling"]),
    (64, 1, 25, 2, 16_384, ["ring", "doubling"]),
    (64, 1, 25, 2, 1_600_000, ["ring", "doubling"]),
    (8, 8, 25, 0, 16_384, ["ring", "doubling", "hosts"]),
    (8, 8, 25, 0, 1_600_000, ["ring", "doubling", "hosts"]),
]


@contextlib.contextmanager
def network(hosts, mbit, delay, folder):
    """The names of the hosts' namespaces; a host has the address 10.77.0.(host + 1)."""
    if not delay:
        with link.network(hosts, mbit) as names:
            yield names
        return
    prefix = f"ef{os.getpid()}"
    switch, names = f"{prefix}s", [f"{prefix}r{h}" for h in range(hosts)]
    limit = ["root", "tbf", "rate", f"{mbit}mbit", "burst", "128kb", "latency", "50ms"]
    program = folder / "delay"
    if not program.exists():
        subprocess.run(["go", "build", "-o", program, "./docs/benchmarks/delay"], cwd=ROOT, check=True)
    cables = None
    try:
        for n in [switch, *names]:
            link.run("ip", "netns", "add", n)
            link.run("ip", "-n", n, "link", "set", "lo", "up")
        link.run("ip", "-n", switch, "link", "add", "bridge", "type", "bridge")
        link.run("ip", "-n", switch, "link", "set", "bridge", "up")
        cables = subprocess.Popen([program, f"{delay}ms", switch, *names], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert cables.stdout.readline() == "ready\n"
        for h, n in enumerate(names):
            link.run("ip", "-n", switch, "link", "set", f"port{h}", "master", "bridge", "mtu", "9000", "up")
            link.run("ip", "-n", n, "addr", "add", f"10.77.0.{h + 1}/24", "dev", "cable")
            link.run("ip", "-n", n, "link", "set", "cable", "mtu", "9000", "up")
            link.run("tc", "-n", n, "qdisc", "add", "dev", "cable", *limit)
            link.run("tc", "-n", switch, "qdisc", "add", "dev", f"port{h}", *limit)
        yield names
    finally:
        if cables:
            cables.stdin.close()
            cables.wait()
        for n in [switch, *names]:
            subprocess.run(["ip", "netns", "del", n], stderr=subprocess.DEVNULL)


def ergoflow(names, ranks, size, topology, sums):
    """The median of the sums, in ms. Ranks are pairs of a host and the number of the process on it."""
    peers = ",".join(f"10.77.0.{h + 1}:{7000 + r}" for h, r in ranks)
    processes = []
    try:
        for i, (h, _) in enumerate(ranks):
            processes.append(subprocess.Popen(
                ["ip", "netns", "exec", names[h], ROOT / "bin" / "ergoflow", "bench", "allreduce", "--rank", str(i), "--peers", peers,
                 "--bytes", str(size), "--rounds", str(sums), "--topology", topology, "--json"],
                stdout=subprocess.PIPE, text=True, env={**os.environ, "GOMAXPROCS": "1"}))
        answers = [p.communicate(timeout=300)[0] for p in processes]
    finally:
        for p in processes:
            p.kill()
            p.wait()
    if processes[0].returncode:
        raise RuntimeError(f"rank 0 of {len(ranks)} ended with {processes[0].returncode}")
    return json.loads(answers[0])[0]["median_ms"]


def again(times, attempt):
    """An attempt may fail: 64 processes on two cores are now and then silent to each other for two seconds."""
    for _ in range(times - 1):
        try:
            return attempt()
        except RuntimeError as e:
            print(e, file=sys.stderr, flush=True)
    return attempt()


class Gloo:
    """PyTorch's processes on the hosts, which wait while others sum."""

    def __init__(self, names, each, python, folder):
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "cable"}
        meet = folder / f"gloo-{names[0]}"
        self.ranks = [subprocess.Popen(["ip", "netns", "exec", n, python, link.ROOT / "docs" / "benchmarks" / "allreduce_gloo.py"],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
                      for n in names for _ in range(each)]
        for rank, p in enumerate(self.ranks):
            p.stdin.write(json.dumps({"rank": rank, "world": len(self.ranks), "meet": str(meet)}) + "\n")
            p.stdin.flush()
        for p in self.ranks:
            assert p.stdout.readline(), "a rank of Gloo has ended"

    def median_ms(self, size, sums):
        for p in self.ranks:
            p.stdin.write(json.dumps({"bytes": size, "rounds": sums}) + "\n")
            p.stdin.flush()
        answers = [json.loads(p.stdout.readline()) for p in self.ranks]
        return 1e3 * statistics.median(answers[0])

    def close(self):
        for p in self.ranks:
            p.stdin.close()
        for p in self.ranks:
            p.wait()


def measure(o, folder):
    cases = []
    shapes = list(dict.fromkeys(c[:4] for c in CASES))
    for shape in shapes:
        hosts, each, mbit, delay = shape
        if o.worlds and hosts * each not in o.worlds:
            continue
        mine = [c for c in CASES if c[:4] == shape]
        with network(hosts, mbit, delay, folder) as names:
            gloo = Gloo(names, each, o.gloo, folder) if o.gloo and any("gloo" in c[5] for c in mine) else None
            for *_, size, topologies in mine:
                sums = min(max(20_000_000 // size, 5), 30)
                times = {t: [] for t in topologies if t != "gloo" or gloo}
                for r in range(o.rounds):
                    for t, list_ in times.items():
                        list_.append(gloo.median_ms(size, sums) if t == "gloo" else again(3, lambda: ergoflow(names, [(h, r) for h in range(len(names)) for r in range(each)], size, t, sums)))
                    print(f"{hosts} hosts × {each}, {mbit} Mbit/s, {delay} ms, {size} bytes: " +
                          ", ".join(f"{t} {l[-1]:.2f} ms" for t, l in times.items()), file=sys.stderr, flush=True)
                cases.append({"hosts": hosts, "each": each, "mbit": mbit, "delay_ms": delay, "bytes": size, "ms": times})
            if gloo:
                gloo.close()
        yield cases


def table(cases):
    columns = ["ring", "doubling", "hosts", "mesh", "gloo"]
    titles = {"hosts": "by host", "mesh": "all to all", "gloo": "Gloo"}
    lines = ["| hosts × ranks | link, one way | bytes | least | " + " | ".join(titles.get(c, c) for c in columns) + " |",
             "|---|---|---|---|" + "---|" * len(columns)]
    for c in cases:
        least = 1e3 * 2 * (c["hosts"] - 1) / c["hosts"] * c["bytes"] * 8 / (c["mbit"] * 1e6 * 0.96)
        cells = [link.spread(c["ms"][t], ".1f") if t in c["ms"] else "" for t in columns]
        auto = columns.index(automatic(c["hosts"], c["each"], c["bytes"]))
        cells[auto] = f"**{cells[auto]}**"
        delay = f", {2 * c['delay_ms']} ms" if c["delay_ms"] else ""
        lines.append(f"| {c['hosts']} × {c['each']} | {c['mbit']} Mbit/s{delay} | {c['bytes']:,} | {least:.1f} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


# The model of allreduce/topology/doc.go, where the ranks of a host follow each other: messages in
# sequence and bytes of a host's link.
LOCAL, SKEW, MESSAGE = 0.25, 1.5, 64 << 10


def ring(hosts, each, n):
    w = hosts * each
    return 2 * (w - 1) / w * (hosts + LOCAL * (w - hosts)), 2 * (w - 1) / w * n


def doubling(hosts, _, n):
    return 2 * math.ceil(math.log2(hosts)), SKEW * 2 * (hosts - 1) / hosts * n


def cheapest(hosts, n, message):
    """The name and cost of the cheaper one over hosts with one rank each."""
    return min((("doubling", doubling(hosts, 1, n)), ("ring", ring(hosts, 1, n))), key=lambda c: c[1][0] + c[1][1] / message)


def chosen(hosts, each, n, message=MESSAGE):
    name, (h, m) = cheapest(hosts, n, message)
    if each == 1:
        return name, (h, m)
    return "by host, " + name, (h + 2 * LOCAL, m)


# Links of a cluster: seconds of a message, bytes a second.
LINKS = {"25 Gbit/s, 30 µs": (30e-6, 25e9 / 8 * 0.96), "1 Gbit/s, 200 µs": (200e-6, 1e9 / 8 * 0.96)}
SIZES = {"16 KB": 16e3, "1.6 MB": 1.6e6, "4 MiB": 4 << 20}


def automatic(hosts, each, n):
    """The topology that --topology auto takes."""
    w = hosts * each
    if each == 1:
        return cheapest(hosts, n, MESSAGE)[0]
    _, (h, m) = chosen(hosts, each, n)
    exchange = 1 + each * (w - each) * n / MESSAGE
    return "mesh" if w <= 8 and n <= 16 << 10 and exchange < h + m / MESSAGE else "hosts"


def model_table():
    shapes = [(64, 1), (256, 1), (1024, 1), (128, 8)]
    lines = ["| link, vector | " + " | ".join(f"{h} × {e}" for h, e in shapes) + " |", "|---|" + "---|" * len(shapes)]
    worst = (0, "")
    for link_name, (a, b) in LINKS.items():
        for size_name, n in SIZES.items():
            cells = []
            for h, e in shapes:
                name, (messages, sent) = chosen(h, e, n)
                t, before = a * messages + sent / b, ring(h, e, n)
                _, (best_h, best_m) = chosen(h, e, n, a * b)
                worst = max(worst, (t / (a * best_h + best_m / b), f"{size_name}, {link_name}, {h} × {e}"))
                cells.append(f"{1e3 * (a * before[0] + before[1] / b):.3g} → {1e3 * t:.3g}, {name}")
            lines.append(f"| {link_name}, {size_name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + f"\n\nAgainst the choice by a link's own α·β, 64 KiB costs at most {worst[0]:.2f} times as much ({worst[1]}).\n"


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--worlds", type=int, nargs="*", help="only these numbers of ranks")
    options.add_argument("--gloo", help="a Python that has torch; without it there is no Gloo")
    options.add_argument("--write", type=pathlib.Path)
    o = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for cases in measure(o, pathlib.Path(folder)):
            publish(cases, o)


def publish(cases, o):
    about = link.machine()
    text = (f"{about}\n\n{table(cases)}\nThe model, hosts × ranks: milliseconds of a ring → of what is chosen, and its name:\n\n{model_table()}")
    print(text)
    if o.write:
        before, _, rest = o.write.read_text().partition(OPEN)
        after = rest.partition(CLOSE)[2]
        o.write.with_suffix(".json").write_text(json.dumps({"machine": about, "cases": cases}, indent=1, ensure_ascii=False) + "\n")
        o.write.write_text(f"{before}{OPEN}\n{text}{CLOSE}{after}")


if __name__ == "__main__":
    main()
