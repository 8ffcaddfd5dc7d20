"""The loss of a training with each number format between workers. Functions, samples,
noise and order are the same; only rounding differs.

    make build && python3 docs/benchmarks/wire.py

runs `ergoflow run vn1d --preset demo` for 1,000 updates on two workers with f32, bf16
and int8, into ergoflow-runs/wire-…; finished runs are reused. Writes
docs/results/wire.svg, .csv.xz with every loss, and replaces the part between the
markers of wire.md with the table. Only the standard library is needed.
"""

import argparse
import csv
import datetime
import json
import lzma
import math
import pathlib
import statistics
import subprocess
import sys

from logticks import logticks

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
OPEN, CLOSE = "<!-- begin measured -->", "<!-- end measured -->"
WIRES = {"f32": "#36c", "bf16": "#c63", "int8": "#393"}
WINDOW = 50  # at most, updates in the moving mean of the figure


def train(wire, o):
    """The loss of every update, and results.json of the run."""
    folder = ROOT / "ergoflow-runs" / f"wire-{o.experiment}-{o.steps}-{wire}"
    results = folder / "report" / "results.json"
    if not results.exists():
        subprocess.run([ROOT / "bin" / "ergoflow", "run", o.experiment, "--preset", o.preset, "--workers", str(o.workers), "--dir", folder,
                        "--set", f"training.steps={o.steps}", "--set", f"training.wire={wire}", *[f"--set={s}" for s in o.set]],
                       check=True, stdout=sys.stderr)
    with open(folder / "report" / "loss.csv") as f:
        return [float(row["loss"]) for row in csv.DictReader(f)], json.loads(results.read_text())


def smooth(losses):
    window = max(1, min(WINDOW, len(losses) // 10))
    return [statistics.fmean(losses[max(0, i + 1 - window):i + 1]) for i in range(len(losses))]


def figure(curves):
    """A panel for each format, with the others in grey, on one logarithmic scale."""
    width, height, top, gap = 250, 220, 30, 25
    drawn = {w: smooth(losses) for w, losses in curves.items()}
    highest = max(max(c[len(c) // 50:]) for c in drawn.values())
    lowest = min(map(min, drawn.values()))
    level = lambda loss: math.log(loss / lowest) / (math.log(highest / lowest) or 1)
    out = ["<defs>"]
    for wire, losses in drawn.items():
        points = " ".join(f"{width * i / (len(losses) - 1 or 1):.1f},{top + height * (1 - level(min(x, highest))):.1f}"
                          for i, x in enumerate(losses))
        out.append(f'<polyline id="{wire}" points="{points}" fill="none"/>')
    out.append("</defs>")
    for k, wire in enumerate(drawn):
        left = 50 + k * (width + gap)
        out.append(f'<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="none" stroke="#999"/>')
        out.append(f'<text x="{left + width / 2}" y="{top - 8}" text-anchor="middle">{wire}</text>')
        out.append(f'<text x="{left + width / 2}" y="{top + height + 32}" text-anchor="middle">updates</text>')
        steps = len(drawn[wire])
        out.append(f'<text x="{left + width}" y="{top + height + 15}" text-anchor="end" font-size="10">{steps:,}</text>')
        for other in [w for w in drawn if w != wire] + [wire]:
            colour = WIRES[wire] if other == wire else "#ccc"
            out.append(f'<use href="#{other}" x="{left}" stroke="{colour}"/>')
    for v in logticks(lowest, highest):
        y = top + height * (1 - math.log(v / lowest) / math.log(highest / lowest))
        out.append(f'<text x="44" y="{y + 4:.1f}" text-anchor="end" font-size="11">{v:g}</text>')
        out.append(f'<line x1="47" x2="50" y1="{y:.1f}" y2="{y:.1f}" stroke="#999"/>')
    out.append(f'<text x="50" y="{top - 8}" text-anchor="end">loss</text>')
    size = 50 + len(drawn) * (width + gap), top + height + 45
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" font-family="sans-serif" font-size="12">'
            f'<rect width="100%" height="100%" fill="#fff"/>' + "\n".join(out) + "</svg>\n")


def sinkhorn(results):
    """The mean divergence of the trained model's samples, with its interval."""
    summary = next(row["summary"] for row in results["rows"] if row["kind"] == "model")["sinkhorn"]
    low, high = summary["mean_interval"]
    return f"{summary['mean']:.4f} [{low:.4f} to {high:.4f}]"


def table(curves, results):
    last = max(1, len(next(iter(curves.values()))) // 10)
    lines = [f"| wire | mean loss of the last {last} updates | against f32 | largest difference of the drawn curves | Sinkhorn mean |", "|---|---|---|---|---|"]
    exact = smooth(curves["f32"])
    for wire, losses in curves.items():
        end = statistics.fmean(losses[-last:])
        against = end / statistics.fmean(curves["f32"][-last:]) - 1
        apart = max(abs(a - b) for a, b in zip(smooth(losses), exact))
        lines.append(f"| {wire} | {end:.5f} | {against:+.3%} | {apart:.2g} | {sinkhorn(results[wire])} |")
    return "\n".join(lines) + "\n"


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--experiment", default="vn1d")
    options.add_argument("--preset", default="demo")
    options.add_argument("--steps", type=int, default=1000)
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--set", action="append", default=[], help="override one setting of ergoflow run (repeatable)")
    options.add_argument("--write", type=pathlib.Path, default=ROOT / "docs" / "results" / "wire.md")
    o = options.parse_args()
    curves, results = {}, {}
    for wire in WIRES:
        curves[wire], results[wire] = train(wire, o)
    o.write.with_suffix(".svg").write_text(figure(curves))
    with lzma.open(o.write.with_suffix(".csv.xz"), "wt", newline="") as f:
        rows = csv.writer(f)
        rows.writerow(["step", *curves])
        rows.writerows([i + 1, *losses] for i, losses in enumerate(zip(*curves.values())))
    about = (f"{o.experiment}, preset {o.preset}, {o.steps:,} updates, {o.workers} workers; "
             f"ergoflow {results['f32']['version']} on {results['f32']['backend']}; {datetime.date.today()}")
    before, _, rest = o.write.read_text().partition(OPEN)
    after = rest.partition(CLOSE)[2]
    o.write.write_text(f"{before}{OPEN}\n{about}\n\n{table(curves, results)}\n![loss with each wire]({o.write.stem}.svg)\n{CLOSE}{after}")
    print(table(curves, results))


if __name__ == "__main__":
    main()
