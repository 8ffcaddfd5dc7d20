"""Compares ergoflow's all-reduce with PyTorch's Gloo in one sitting. Each rank is a
process on this machine.

    make bench-allreduce        (or: .venv/bin/python docs/benchmarks/allreduce.py)

Every round times ergoflow with each wire, then Gloo (float32, its only format), for one
vector size after another, so that both run under the same load. Gloo's processes wait
meanwhile. A time is the median of rank 0 in that round; the ratio of a round is Gloo's
time over ergoflow's. The table has the median of the rounds, with the least and
largest. A rank of either computes with one thread.

--write FILE adds every time to FILE with the extension .json, and replaces the part
between the markers in FILE with the table.
"""

import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import sitting

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
OPEN, CLOSE = "<!-- begin measured -->", "<!-- end measured -->"

# Goals for the ratio to Gloo by (world size, bytes): float32, bfloat16.
GOALS = {
    (2, 16384): (5, None), (2, 1600000): (1.5, None), (2, 7100000): (1.5, None), (2, 64000000): (1.5, None),
    (4, 16384): (5, None), (4, 1600000): (2, None), (4, 7100000): (1, None), (4, 64000000): (0.75, 1),
}


def sums(size):
    """The number of sums that a round times, for vectors of a size."""
    return min(max(100_000_000 // size, 5), 300)


def ergoflow(world, size, wire, o):
    command = [ROOT / "bin" / "ergoflow", "bench", "allreduce", "--world", str(world), "--bytes", str(size), "--wire", wire,
               "--topology", o.topology, "--rounds", str(sums(size)), "--json"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)[0]["median_ms"]


class Gloo:
    def __init__(self, world, folder):
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        self.ranks = [subprocess.Popen([sys.executable, HERE / "allreduce_gloo.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       text=True, env=environment) for _ in range(world)]
        for rank, p in enumerate(self.ranks):
            p.stdin.write(json.dumps({"rank": rank, "world": world, "meet": str(folder / f"gloo-{world}")}) + "\n")
            p.stdin.flush()
        self.version = self.answers()[0]

    def answers(self):
        return [json.loads(p.stdout.readline()) for p in self.ranks]

    def median_ms(self, size):
        for p in self.ranks:
            p.stdin.write(json.dumps({"bytes": size, "rounds": sums(size)}) + "\n")
            p.stdin.flush()
        return 1e3 * statistics.median(self.answers()[0])

    def close(self):
        for p in self.ranks:
            p.stdin.close()
        for p in self.ranks:
            p.wait()


def name(world, size):
    return f"{world} × {size}"


def measure(world, sizes, o, folder):
    gloo, wires = Gloo(world, folder), o.wires.split(",")
    cases = {name(world, n): {"world": world, "bytes": n, "ergoflow": {w: [] for w in wires}, "gloo": [], "load": [],
                              "version": gloo.version} for n in sizes}
    for r in range(o.rounds):
        for n in sizes:
            case = cases[name(world, n)]
            case["load"].append(os.getloadavg()[0])
            for w in wires:
                case["ergoflow"][w].append(ergoflow(world, n, w, o))
            case["gloo"].append(gloo.median_ms(n))
            print(f"{name(world, n)}, round {r + 1}: " + ", ".join(f"{w} {case['ergoflow'][w][-1]:.3f} ms" for w in wires) +
                  f", Gloo {case['gloo'][-1]:.3f} ms", file=sys.stderr, flush=True)
    gloo.close()
    return cases


def ratio(case, wire):
    ours = case["ergoflow"].get(wire, [])
    if not ours:
        return ""
    ratios = [b / a for a, b in zip(ours, case["gloo"])]
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})"


def table(cases):
    lines = ["| processes × bytes | Gloo, ms | f32, ms | bf16, ms | Gloo / f32 | goal | Gloo / bf16 | goal |", "|---|---|---|---|---|---|---|---|"]

    def shown(values):
        return f"{statistics.median(values):.3g}" if values else ""

    for c in sorted(cases.values(), key=lambda c: (c["world"], c["bytes"])):
        goals = GOALS.get((c["world"], c["bytes"]), (None, None))
        lines.append(f"| {c['world']} × {c['bytes']:,} | {shown(c['gloo'])} | {shown(c['ergoflow'].get('f32'))} | "
                     f"{shown(c['ergoflow'].get('bf16'))} | {ratio(c, 'f32')} | {goals[0] or ''} | {ratio(c, 'bf16')} | {goals[1] or ''} |")
    return "\n".join(lines) + "\n"


def machine(cases, commit):
    model = sitting.processor()
    version = next((c["version"] for c in cases.values()), "")
    loads = [l for c in cases.values() for l in c["load"]]
    return (f"{model}, {len(os.sched_getaffinity(0))} cores; ergoflow {commit}; torch {version}; {datetime.date.today()}; "
            f"load at the start of a round {min(loads):.1f}–{max(loads):.1f}")


def write(page, cases, about):
    before, _, rest = page.read_text().partition(OPEN)
    after = rest.partition(CLOSE)[2]
    page.with_suffix(".json").write_text(json.dumps({"machine": about, "cases": cases}, indent=1, ensure_ascii=False) + "\n")
    page.write_text(f"{before}{OPEN}\n{about}\n\n{table(cases)}{CLOSE}{after}")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--worlds", type=int, nargs="*", default=[2, 4])
    options.add_argument("--bytes", type=int, nargs="*", default=[16384, 1600000, 7100000, 64000000])
    options.add_argument("--wires", default="f32,bf16", help="ergoflow's formats, of f32, bf16, int8 (default: %(default)s)")
    options.add_argument("--topology", default="auto", help="ergoflow's topology: auto, mesh or ring (default: %(default)s)")
    options.add_argument("--write", type=pathlib.Path)
    o = options.parse_args()
    commit = sitting.commit()
    cases, fresh = {}, {}
    if o.write and o.write.with_suffix(".json").exists():
        cases = json.loads(o.write.with_suffix(".json").read_text())["cases"]
    with tempfile.TemporaryDirectory() as folder:
        for world in o.worlds:
            fresh |= measure(world, o.bytes, o, pathlib.Path(folder))
            cases |= fresh
            if o.write:
                write(o.write, cases, machine(fresh, commit))
    print(machine(fresh, commit) + "\n\n" + table(fresh))


if __name__ == "__main__":
    main()
