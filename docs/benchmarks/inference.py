"""How fast a trained model answers on the line, and what the samples are worth at equal time:
the model alone, with steps of the equation after it, by importance weights, and chains alone.

    make bench-inference

It trains the demos of vn1d and rare1d where ergoflow-runs has none (three minutes each),
times `ergoflow sample` as a whole process, `ergoflow bench sample` (128 equations × 4,096
samples), and runs docs/benchmarks/inference. All on the processors of this machine, with
nothing else running.

--write FILE replaces the part between the markers in FILE, and the figures in FILE's folder.
"""

import argparse
import datetime
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import sitting

ROOT = sitting.ROOT
MODELS = ("vn1d", "rare1d")


def ergoflow(*args):
    return subprocess.run([ROOT / "bin" / "ergoflow", *args], check=True, stdout=subprocess.PIPE, text=True).stdout


def cold(checkpoint, rounds, *flags):
    """Seconds of whole processes of `ergoflow sample`, the first with an empty cache apart."""
    times = []
    with tempfile.TemporaryDirectory() as d:
        for _ in range(rounds):
            begin = time.perf_counter()
            ergoflow("sample", "--checkpoint", checkpoint, "--drift=-x", "--diffusion=1", "-n", "4096", "-o", f"{d}/x.npy", *flags)
            times.append(time.perf_counter() - begin)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("--runs", type=pathlib.Path, default=ROOT / "ergoflow-runs", help="directory of the demos")
    parser.add_argument("--functions", type=int, default=64)
    options = parser.parse_args()
    page = [f"{datetime.date.today()}, {sitting.processor()}, commit {sitting.commit()}.", ""]
    with tempfile.TemporaryDirectory() as scratch:
        files, speeds = [], []
        for name in MODELS:
            run = options.runs / f"{name}-demo"
            if not (run / "report" / "results.json").exists():
                ergoflow("run", name, "--preset", "demo", "--workers", "1", "--dir", run)
            exported = pathlib.Path(scratch) / f"{name}.safetensors"
            ergoflow("checkpoints", "export", "latest", "--dir", run, "-o", exported)
            files.append(f"{name}={exported}")
            first, *warm = cold(exported, 16)
            network = cold(exported, 5, "--engine", "network")
            bench = json.loads(ergoflow("bench", "sample", "--checkpoint", exported, "--equations", "128", "-n", "4096", "--compare", "16", "--json"))
            speeds.append((name, bench, first, statistics.median(warm), statistics.median(network)))
        page += [
            "| | vn1d | rare1d |", "|---|---|---|",
            "| one equation in a batch of 128, table | " + " | ".join(f"{1e3 * b['seconds_per_equation']:.2f} ms" for _, b, *_ in speeds) + " |",
            "| one equation alone, table | " + " | ".join(f"{1e3 * b['seconds_one']:.2f} ms" for _, b, *_ in speeds) + " |",
            "| one equation, network | " + " | ".join(f"{1e3 * b['seconds_direct']:.0f} ms" for _, b, *_ in speeds) + " |",
            "| network over table, in a batch | " + " | ".join(f"{b['seconds_direct'] / b['seconds_per_equation']:.0f}" for _, b, *_ in speeds) + " |",
            "| largest difference of a sample, in deviations of the law | " + " | ".join(f"{b['max_error_vs_direct']:.1e}" for _, b, *_ in speeds) + " |",
            "| `ergoflow sample`, the whole process | " + " | ".join(f"{1e3 * w:.0f} ms" for *_, w, _ in speeds) + " |",
            "| the same, without a table file | " + " | ".join(f"{1e3 * f:.0f} ms" for _, _, f, *_ in speeds) + " |",
            "| the same, `--engine network` | " + " | ".join(f"{1e3 * n:.0f} ms" for *_, n in speeds) + " |", "",
        ]
        figures = options.write.parent / "inference" if options.write else pathlib.Path(scratch)
        figures.mkdir(exist_ok=True)
        page.append(subprocess.run(["go", "run", "./docs/benchmarks/inference", "-functions", str(options.functions), "-write", figures, *files],
                                   cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip())
    text = "\n".join(page)
    print(text)
    if options.write:
        sitting.write(options.write, text)


if __name__ == "__main__":
    main()
