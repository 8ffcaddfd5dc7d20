"""What TLS costs the all-reduce over TCP: on loopback, and over links of a given rate.

    make bench-tls        (or: sudo .venv/bin/python docs/benchmarks/tls.py --gloo)

On a machine with other work, `chrt -r 1 make bench-tls` keeps that work away from the ranks.

Each round times plain text and then TLS. A time is the median of a round's sums at rank 0.
Processor time is that of all ranks for one sum, by the system's accounts: that of a run
less that of a run with next to no sums. Gloo is PyTorch's, with one thread a rank; it takes
whichever way it has on one machine. The links need root, ip and tc; see link.py.

--write FILE writes every time to FILE with the extension .json and replaces the part
between the markers in FILE with the tables.
"""

import argparse
import datetime
import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

import allreduce
import link
import sitting

ERGOFLOW = link.ROOT / "bin" / "ergoflow"
MODES = ["tcp", "tls"]
WARM = 1.1  # sums that are made for each that is timed


def spent():
    """Seconds of processor time of all children that have ended."""
    u = resource.getrusage(resource.RUSAGE_CHILDREN)
    return u.ru_utime + u.ru_stime


def loopback(mode, world, size, sums):
    """Median of a sum in ms, and processor time of the whole run in ms."""
    before = spent()
    answer = subprocess.run([ERGOFLOW, "bench", "allreduce", f"--{mode}", "--world", str(world), "--bytes", str(size),
                             "--rounds", str(sums), "--json"], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(answer.stdout)[0]["median_ms"], 1e3 * (spent() - before)


def on_loopback(o):
    cases = []
    for world, folder in ((w, pathlib.Path(tempfile.mkdtemp())) for w in o.worlds):
        gloo = allreduce.Gloo(world, folder) if o.gloo else None  # its processes wait meanwhile
        for size in o.bytes:
            sums = max(10, 500_000_000 // size // world)
            case = {"world": world, "bytes": size, "sums": sums, "ms": {m: [] for m in MODES}, "cpu_ms": {m: [] for m in MODES}, "gloo_ms": []}
            cases.append(case)
            for _ in range(o.rounds):
                if gloo:
                    case["gloo_ms"].append(gloo.median_ms(size))
                for m in MODES:
                    _, start = loopback(m, world, 4, 1)
                    ms, cpu = loopback(m, world, size, sums)
                    case["ms"][m].append(ms)
                    case["cpu_ms"][m].append((cpu - start) / (WARM * sums))
                print(f"{world} × {size}: " + ", ".join(f"{m} {case['ms'][m][-1]:.2f} ms, processor {case['cpu_ms'][m][-1]:.2f} ms" for m in MODES),
                      file=sys.stderr, flush=True)
        if gloo:
            gloo.close()
        shutil.rmtree(folder)
    return cases


def over_link(namespaces, size, sums, certificates):
    peers = ",".join(f"10.77.0.{r + 1}:7000" for r in range(len(namespaces)))
    processes = []
    try:
        for r, namespace in enumerate(namespaces):
            secure = ["--credentials", certificates[r]] if certificates else []
            processes.append(subprocess.Popen(
                ["ip", "netns", "exec", namespace, ERGOFLOW, "bench", "allreduce", "--rank", str(r), "--peers", peers,
                 "--bytes", str(size), "--rounds", str(sums), "--json", *secure],
                stdout=subprocess.PIPE, text=True, env={**os.environ, "GOMAXPROCS": "1"}))
        answers = [p.communicate(timeout=300)[0] for p in processes]
    finally:
        for p in processes:
            p.kill()
            p.wait()
    return json.loads(answers[0])[0]["median_ms"]


def certs(*words):
    subprocess.run([ERGOFLOW, "certs", *words], check=True, stdout=subprocess.DEVNULL)


def on_links(o):
    cases = []
    for world in o.worlds:
        with tempfile.TemporaryDirectory() as place, link.network(world, o.mbit) as namespaces:
            ca = f"{place}/ca"
            certificates = [f"{place}/{r}" for r in range(world)]
            certs("init", "--cluster", "bench", "--ca", ca)
            for r in range(world):
                certs("issue", f"worker/rank-{r}", "-o", certificates[r], "--ca", ca)
            case = {"world": world, "bytes": o.link_bytes, "mbit": o.mbit, "ms": {m: [] for m in MODES}}
            cases.append(case)
            for _ in range(o.rounds):
                for m in MODES:
                    case["ms"][m].append(over_link(namespaces, o.link_bytes, 15, certificates if m == "tls" else None))
                print(f"{world} × {o.link_bytes} at {o.mbit} Mbit/s: {case['ms']}", file=sys.stderr, flush=True)
    return cases


def ratio(times):
    return link.spread([b / a for a, b in zip(times["tcp"], times["tls"])], ".2f")


def beside(case):
    """The time of Gloo, and its ratio to that over TLS."""
    if not case["gloo_ms"]:
        return "–", "–"
    return f"{statistics.median(case['gloo_ms']):.3g}", link.spread([g / t for g, t in zip(case["gloo_ms"], case["ms"]["tls"])], ".2f")


def tables(loop, links):
    lines = ["| processes × bytes, on loopback | TCP, ms | TLS, ms | TLS / TCP | processor, TCP, ms | processor, TLS, ms | TLS / TCP | Gloo without TLS, ms | Gloo / TLS |", "|---|---|---|---|---|---|---|---|---|"]
    for c in loop:
        lines.append(f"| {c['world']} × {c['bytes']:,} | " + " | ".join([
            *(f"{statistics.median(c['ms'][m]):.3g}" for m in MODES), ratio(c["ms"]),
            *(f"{statistics.median(c['cpu_ms'][m]):.3g}" for m in MODES), ratio(c["cpu_ms"]), *beside(c)]) + " |")
    if links:
        lines += ["", "| processes × bytes, over links | rate | TCP, ms | TLS, ms | TLS / TCP |", "|---|---|---|---|---|"]
    for c in links:
        lines.append(f"| {c['world']} × {c['bytes']:,} | {c['mbit']} Mbit/s | " + " | ".join(link.spread(c["ms"][m], ".1f") for m in MODES) + f" | {ratio(c['ms'])} |")
    return "\n".join(lines) + "\n"


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--worlds", type=int, nargs="*", default=[2, 4])
    options.add_argument("--bytes", type=int, nargs="*", default=[1_600_000, 7_100_000, 64_000_000])
    options.add_argument("--mbit", type=int, default=1000, help="rate of the links; 0: none (default: %(default)s)")
    options.add_argument("--link-bytes", type=int, default=7_100_000)
    options.add_argument("--gloo", action="store_true", help="also time PyTorch's Gloo, in plain text; needs torch")
    options.add_argument("--write", type=pathlib.Path)
    o = options.parse_args()
    load = [os.getloadavg()[0]]
    loop = on_loopback(o)
    load.append(os.getloadavg()[0])
    links = on_links(o) if o.mbit else []
    load.append(os.getloadavg()[0])
    about = (f"{sitting.processor()}, {len(os.sched_getaffinity(0))} cores; ergoflow {sitting.commit()}; {datetime.date.today()}; "
             f"load {min(load):.1f}–{max(load):.1f}, of which the ranks are at most the number of processes")
    text = tables(loop, links)
    print(about + "\n\n" + text)
    if o.write:
        before, _, rest = o.write.read_text().partition(link.OPEN)
        after = rest.partition(link.CLOSE)[2]
        o.write.with_suffix(".json").write_text(json.dumps({"machine": about, "loopback": loop, "links": links}, indent=1, ensure_ascii=False) + "\n")
        o.write.write_text(f"{before}{link.OPEN}\n{about}\n\n{text}{link.CLOSE}{after}")


if __name__ == "__main__":
    main()
