"""What the order of a ring gains where links differ: sums in the order in which hosts have joined,
and in the order of least time by the formula of allreduce/topology/order.go. Each host is a network
namespace, as in link.py. Needs root, ip and tc (iproute2) with htb and u32.

    make build && sudo python3 docs/benchmarks/ring_order.py

racks: hosts join in turn from two racks, and one cable of 100 Mbit/s connects the racks' switches.
pairs: hosts on one switch, of which each sends slowly to the two that joined before and after it.

--write FILE writes every time to FILE with the extension .json, and replaces the part between the
markers in FILE with a table.
"""

import argparse
import contextlib
import itertools
import json
import os
import pathlib
import subprocess
import sys

import link
import topology

HOSTS, FAST, SLOW = 8, 400, 100  # Mbit/s
BUCKET = ["burst", "128kb", "latency", "50ms"]


@contextlib.contextmanager
def network(case):
    """The hosts' namespaces; a host has the address 10.77.0.(host + 1)."""
    prefix = f"ef{os.getpid()}"
    switch, names = f"{prefix}s", [f"{prefix}r{h}" for h in range(HOSTS)]
    bridges = ["rack0", "rack1"] if case == "racks" else ["rack0"]
    try:
        for n in [switch, *names]:
            link.run("ip", "netns", "add", n)
            link.run("ip", "-n", n, "link", "set", "lo", "up")
        for b in bridges:
            link.run("ip", "-n", switch, "link", "add", b, "type", "bridge")
            link.run("ip", "-n", switch, "link", "set", b, "up")
        if case == "racks":
            link.run("ip", "-n", switch, "link", "add", "up0", "type", "veth", "peer", "name", "up1")
            for r in range(2):
                link.run("ip", "-n", switch, "link", "set", f"up{r}", "master", f"rack{r}", "up")
                link.run("tc", "-n", switch, "qdisc", "add", "dev", f"up{r}", "root", "tbf", "rate", f"{SLOW}mbit", *BUCKET)
        for h, n in enumerate(names):
            link.run("ip", "-n", n, "link", "add", "cable", "type", "veth", "peer", "name", f"port{h}", "netns", switch)
            link.run("ip", "-n", switch, "link", "set", f"port{h}", "master", bridges[h % len(bridges)], "up")
            link.run("ip", "-n", n, "addr", "add", f"10.77.0.{h + 1}/24", "dev", "cable")
            link.run("ip", "-n", n, "link", "set", "cable", "up")
            link.run("tc", "-n", switch, "qdisc", "add", "dev", f"port{h}", "root", "tbf", "rate", f"{FAST}mbit", *BUCKET)
            if case == "racks":
                link.run("tc", "-n", n, "qdisc", "add", "dev", "cable", "root", "tbf", "rate", f"{FAST}mbit", *BUCKET)
                continue
            link.run("tc", "-n", n, "qdisc", "add", "dev", "cable", "root", "handle", "1:", "htb", "default", "1")
            for number, rate in (1, FAST), (2, SLOW):
                link.run("tc", "-n", n, "class", "add", "dev", "cable", "parent", "1:", "classid", f"1:{number}", "htb", "rate", f"{rate}mbit", "burst", "128kb", "quantum", "9000")
            for other in (h + 1) % HOSTS, (h - 1) % HOSTS:
                link.run("tc", "-n", n, "filter", "add", "dev", "cable", "parent", "1:", "protocol", "ip",
                         "u32", "match", "ip", "dst", f"10.77.0.{other + 1}/32", "flowid", "1:2")
        yield names
    finally:
        for n in [switch, *names]:
            subprocess.run(["ip", "netns", "del", n], stderr=subprocess.DEVNULL)


def is_slow(case, a, b):
    return (a - b) % 2 == 1 if case == "racks" else (a - b) % HOSTS in (1, HOSTS - 1)


def least(case):
    """The order of least time; latencies are equal."""
    def time(order):
        passing = [1 / SLOW if is_slow(case, a, b) else 1 / FAST for a, b in zip(order, order[1:] + order[:1])]
        return sum(passing) + (HOSTS - 2) * max(passing)

    return min(([0, *rest] for rest in itertools.permutations(range(1, HOSTS))), key=time)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--write", type=pathlib.Path)
    o = options.parse_args()
    cases = []
    for case in "racks", "pairs":
        orders = {"joined": list(range(HOSTS)), "least": least(case)}
        with network(case) as names:
            for size in 1_600_000, 4 << 20:
                ms = {name: [] for name in orders}
                for _ in range(o.rounds):
                    for name, order in orders.items():
                        ms[name].append(topology.again(3, lambda: topology.ergoflow(names, [(h, 0) for h in order], size, "ring", 10)))
                print(case, size, ms, file=sys.stderr, flush=True)
                cases.append({"links": case, "bytes": size, "orders": orders, "ms": ms})
    lines = ["| links | bytes | as they joined | least time | times as fast |", "|---|---|---|---|---|"]
    for c in cases:
        joined, best = c["ms"]["joined"], c["ms"]["least"]
        gain = sorted(joined)[len(joined) // 2] / sorted(best)[len(best) // 2]
        lines.append(f"| {c['links']} | {c['bytes']:,} | {link.spread(joined, '.0f')} | {link.spread(best, '.0f')} | {gain:.1f} |")
    text = link.machine() + "\n\n" + "\n".join(lines) + "\n"
    print(text)
    if o.write:
        before, _, rest = o.write.read_text().partition(link.OPEN)
        o.write.with_suffix(".json").write_text(json.dumps({"machine": link.machine(), "cases": cases}, indent=1) + "\n")
        o.write.write_text(f"{before}{link.OPEN}\n{text}{link.CLOSE}{rest.partition(link.CLOSE)[2]}")


if __name__ == "__main__":
    main()
