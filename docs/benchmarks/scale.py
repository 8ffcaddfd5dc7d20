"""How a training step scales: a model of the all-reduce, compared with measurements at
world sizes 1 to 8, and its predictions for 8 to 1,024 workers. Needs root, ip and tc
(iproute2), as link.py does.

    make bench-scale       (or: sudo python3 docs/benchmarks/scale.py)

The model: W ranks sum n bytes; a rank's link carries B bytes per second in each
direction; a message costs a seconds, its latency and the work to send and receive it.

    exchange      a + (W-1) o + (W-1) n/B            all to all, whole vectors
    direct        2 (a + (W-1) o) + 2 (W-1)/W n/B    all to all, segments
    ring          2 (W-1) a + 2 (W-1)/W n/B
    tree          2 log2(W) a + 2 (W-1)/W n/B        halving and doubling (Rabenseifner)
    hierarchical  rings of G ranks, one ring of W/G for each of their G segments:
                  2 (G-1 + W/G-1) a + 2 ((G-1)/G + (W/G-1)/W) n/B, at the best G

o is the host's part of a: messages to several peers overlap in all but o. A step takes
the gradient's time over W, the sum and the update; the batch stays the same.

The measurement: `ergoflow bench allreduce` with every rank in a network namespace,
its link limited by tbf to a rate at which this machine's processors do not matter. a
comes from the smallest vector between two ranks, B from tc minus 4 % for headers;
nothing is fitted to the other sizes.

--write FILE writes times and predictions to FILE with the extension .json, replaces
the part between the markers in FILE with tables, and draws FILE with the extension .svg.
"""

import argparse
import json
import math
import pathlib
import statistics
import sys

import link

OPEN, CLOSE = link.OPEN, link.CLOSE
HEADERS = 0.04  # of a link's rate: TCP/IP and Ethernet
EXCHANGE = 16 << 10  # bytes up to which ergoflow exchanges whole vectors
CIRCLE = 1 << 20  # bytes from which ergoflow uses a ring although all are connected
MESH = 8  # ranks up to which ergoflow connects all with all


def exchange(w, n, a, o, b):
    return a + (w - 1) * o + (w - 1) * n / b


def direct(w, n, a, o, b):
    return 2 * (a + (w - 1) * o) + 2 * (w - 1) / w * n / b


def ring(w, n, a, o, b):
    return 2 * (w - 1) * a + 2 * (w - 1) / w * n / b


def tree(w, n, a, o, b):
    return 2 * math.log2(w) * a + 2 * (w - 1) / w * n / b


def hierarchical(w, n, a, o, b):
    return min(2 * (g - 1 + w // g - 1) * a + 2 * ((g - 1) / g + (w // g - 1) / w) * n / b
               for g in range(2, w // 2 + 1) if w % g == 0)


def taken(w, n, topology):
    """The algorithm that ergoflow chooses."""
    if w == 1:
        return lambda *_: 0
    if topology == "ring" or w > MESH or topology == "auto" and w > 2 and n >= CIRCLE:
        return ring
    return exchange if n <= EXCHANGE else direct


def measure(o):
    rate = o.mbit * 1e6 / 8 * (1 - HEADERS)
    cases = []
    for world in [2] + [w for w in o.worlds if w not in (1, 2)]:
        with link.network(world, o.mbit) as namespaces:
            for topology in ("auto", "ring"):
                o.topology = topology
                for size in o.bytes:
                    times = [link.median_ms(namespaces, size, "f32", o) / 1e3 for _ in range(o.rounds)]
                    cases.append({"world": world, "bytes": size, "topology": topology, "s": times})
                    print(f"{world} × {size}, {topology}: {1e3 * statistics.median(times):.2f} ms", file=sys.stderr, flush=True)
    least = min(o.bytes)
    pair = next(c for c in cases if (c["world"], c["bytes"], c["topology"]) == (2, least, "ring"))
    a = statistics.median(pair["s"]) / 2 - least / rate / 2  # a ring of two has two stages
    for c in cases:
        c["predicted"] = taken(c["world"], c["bytes"], c["topology"])(c["world"], c["bytes"], a, a, rate)
    return {"machine": link.machine(), "mbit": o.mbit, "message_s": a, "cases": cases}


def measured_table(m):
    lines = [f"{m['machine']}. Links of {m['mbit']} Mbit/s; a message costs {1e6 * m['message_s']:.0f} µs.", "",
             "| processes × bytes | connected | measured, ms | model, ms | model / measured |", "|---|---|---|---|---|"]
    for c in m["cases"]:
        t = statistics.median(c["s"])
        lines.append(f"| {c['world']} × {c['bytes']:,} | {'all' if c['topology'] == 'auto' else 'ring'} | {1e3 * t:.2f} "
                     f"({1e3 * min(c['s']):.2f}–{1e3 * max(c['s']):.2f}) | {1e3 * c['predicted']:.2f} | {c['predicted'] / t:.2f} |")
    return "\n".join(lines) + "\n"


# Links of a cluster: bytes a second, seconds of a message over the wire and on the host.
LINKS = {"25 Gbit/s, 30 µs": (25e9 / 8 * (1 - HEADERS), 30e-6, 5e-6), "1 Gbit/s, 200 µs": (1e9 / 8 * (1 - HEADERS), 200e-6, 5e-6)}
SIZES = {"16 KB": 16e3, "7.1 MB": 7.1e6, "64 MB": 64e6}
WORLDS = [8, 16, 32, 64, 128, 256, 512, 1024]
ALGORITHMS = {"direct": direct, "ring": ring, "hierarchical": hierarchical, "tree": tree}
COLOURS = {"direct": "#999999", "ring": "#0072b2", "hierarchical": "#d55e00", "tree": "#009e73"}


def predicted_table():
    lines = ["| link, vector | " + " | ".join(f"{w}" for w in WORLDS) + " |", "|---|" + "---|" * len(WORLDS)]
    for link_name, (b, a, o) in LINKS.items():
        for size_name, n in SIZES.items():
            cells = []
            for w in WORLDS:
                times = {k: f(w, n, a, o, b) for k, f in ALGORITHMS.items()}
                best = min(times, key=times.get)
                cells.append(f"{1e3 * times['ring']:.3g}, {best} {1e3 * times[best]:.3g}")
            lines.append(f"| {link_name}, {size_name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def step_table(gradient, update):
    """Speed-up of a step over one worker, ring and best, by world."""
    lines = ["| link, vector | " + " | ".join(f"{w}" for w in WORLDS) + " |", "|---|" + "---|" * len(WORLDS)]
    for link_name, (b, a, o) in LINKS.items():
        for size_name, n in list(SIZES.items())[1:]:
            cells = []
            for w in WORLDS:
                speed = [(gradient + update) / (gradient / w + f + update)
                         for f in (ring(w, n, a, o, b), min(g(w, n, a, o, b) for g in ALGORITHMS.values()))]
                cells.append(f"{speed[0]:.3g}, {speed[1]:.3g}")
            lines.append(f"| {link_name}, {size_name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def figure():
    width, height, left, top = 330, 250, 60, 40
    body = []
    for row, (link_name, (b, a, o)) in enumerate(LINKS.items()):
        for column, (size_name, n) in enumerate(SIZES.items()):
            x0, y0 = left + column * width, top + row * height
            times = {k: [f(w, n, a, o, b) for w in WORLDS] for k, f in ALGORITHMS.items()}
            low = math.floor(math.log10(min(min(t) for t in times.values())))
            high = math.ceil(math.log10(max(max(t) for t in times.values())))

            def at(i, t):
                return x0 + i * (width - 90) / (len(WORLDS) - 1), y0 + (height - 80) * (high - math.log10(t)) / (high - low)

            body.append(f'<text x="{x0}" y="{y0 - 12}" font-weight="bold">{size_name}, {link_name}</text>')
            for e in range(low, high + 1):
                y = at(0, 10.0 ** e)[1]
                label = f"{10 ** (e + 3):g} ms" if e < 0 else f"{10 ** e:g} s"
                body.append(f'<line x1="{x0}" x2="{x0 + width - 90}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
                            f'<text x="{x0 - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
            for i in range(0, len(WORLDS), 2 if len(WORLDS) > 6 else 1):
                body.append(f'<text x="{at(i, 10.0 ** low)[0]:.1f}" y="{y0 + height - 62}" text-anchor="middle">{WORLDS[i]}</text>')
            for k, t in times.items():
                points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(i, v) for i, v in enumerate(t)))
                body.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[k]}" stroke-width="2.5"/>')
    bottom = top + len(LINKS) * height
    for i, k in enumerate(ALGORITHMS):
        x = left + i * 140
        body.append(f'<line x1="{x}" x2="{x + 30}" y1="{bottom}" y2="{bottom}" stroke="{COLOURS[k]}" stroke-width="2.5"/>'
                    f'<text x="{x + 36}" y="{bottom + 4}">{k}</text>')
    body.append(f'<text x="{left + 620}" y="{bottom + 4}">workers →</text>')
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + 3 * width}" height="{bottom + 20}" font-family="sans-serif" font-size="12">',
                      '<rect width="100%" height="100%" fill="white"/>', *body, "</svg>", ""])


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--sums", type=int, default=9, help="sums timed in each round (default: %(default)s)")
    options.add_argument("--worlds", type=int, nargs="*", default=list(range(1, 9)))
    options.add_argument("--bytes", type=int, nargs="*", default=[4, 16_384, 1_600_000, 7_100_000])
    options.add_argument("--mbit", type=int, default=200)
    options.add_argument("--gradient", type=float, default=0.075, help="seconds of the gradient on one worker, for the speed-up (default: %(default)s)")
    options.add_argument("--update", type=float, default=0.004)
    options.add_argument("--write", type=pathlib.Path)
    o = options.parse_args()
    m = measure(o)
    parts = [measured_table(m), "Milliseconds of a ring, then the fastest algorithm and its milliseconds, by number of workers:\n\n" + predicted_table(),
             f"Speed-up over one worker of a step of {1e3 * o.gradient:.0f} ms gradient and {1e3 * o.update:.0f} ms update, "
             "with a ring and with the best algorithm, by number of workers:\n\n" + step_table(o.gradient, o.update)]
    text = "\n".join(parts)
    print(text)
    if o.write:
        before, _, rest = o.write.read_text().partition(OPEN)
        o.write.with_suffix(".json").write_text(json.dumps(m, indent=1) + "\n")
        o.write.with_suffix(".svg").write_text(figure())
        o.write.write_text(f"{before}{OPEN}\n{text}{CLOSE}{rest.partition(CLOSE)[2]}")


if __name__ == "__main__":
    main()
