"""Compares the training step of every experiment with PyTorch's in one sitting. Each
round times ergoflow, then PyTorch, so that both run under the same load. The ratio of
a round is PyTorch's median over ergoflow's; the table has the median of the rounds,
with the least and largest.

    make bench-steps        (or: .venv/bin/python docs/benchmarks/steps.py)

A step is gradient, clipping and update of a batch in memory, at the experiment's full
sizes except for the number of functions in the batch; a worker assembles batches
beside its steps. Both use all cores and keep their memory in one arena (see
steps_torch.py).

--backend xla:cuda compares on a GPU.

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

import sitting

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
OPEN, CLOSE = "<!-- begin measured -->", "<!-- end measured -->"


def deeponet(shapes, **sizes):
    return {"fields": [{"name": f"field{i}", "shape": s} for i, s in enumerate(shapes)], **sizes}


def sensor(**parts):
    return {"features": 8, "dimension": 2, **parts}


def line(nodes):
    return {"network": deeponet([[nodes], [nodes]]), "inputs": [[nodes], [nodes]],
            "functions": 256, "samples": 32, "dimension": 1}


def plane(functions=32, sensors=256, **parts):
    sets = [f"model.sensor.sensors={sensors}"] + [f"model.sensor.{k}={v}" for k, v in parts.items()]
    return {"network": sensor(**parts), "inputs": [[sensors, 20, 8]],
            "functions": functions, "samples": 64, "dimension": 2, "sets": sets}


# name: the experiment, and the arguments of steps_torch.py
CASES = {
    "vn1d": {"experiment": "vn1d", **line(64)},
    "rare1d": {"experiment": "rare1d", **line(256)},
    "cn2d": {"experiment": "cn2d", **plane()},
    "cn2d, point": {"experiment": "cn2d", **plane(representation="point")},
    "cn2d, endpoint": {"experiment": "cn2d", **plane(representation="endpoint")},
    "cn2d, mean": {"experiment": "cn2d", **plane(aggregator="mean")},
    "cn2d, deepsets": {"experiment": "cn2d", **plane(aggregator="deepsets")},
    "cn2d, film": {"experiment": "cn2d", **plane(conditioning="film")},
    "cn2d, concat": {"experiment": "cn2d", **plane(conditioning="concat")},
    "cn2d, dot": {"experiment": "cn2d", **plane(conditioning="dot")},
    "cn2d_grid": {"experiment": "cn2d_grid", "network": deeponet([[32, 32, 2]], dimension=2, kernel=3),
                  "inputs": [[32, 32, 2]], "functions": 256, "samples": 64, "dimension": 2},
    "cn2d_transfer, 512 sensors": {"experiment": "cn2d_transfer", **plane(16, 512)},
    "cn2d_transfer, 2,048 sensors": {"experiment": "cn2d_transfer", **plane(8, 2048)},
    "particles64d": {"experiment": "particles64d", "network": {"features": 4, "dimension": 64, "decoder": "particles"},
                     "inputs": [[512, 20, 4]], "functions": 8, "samples": 64, "dimension": 64},
}


def ergoflow(case, precision, steps, backend):
    settings = [f"data.functions={1 << 12}", "data.shards=8", f"training.batch_functions={case['functions']}",
                f"training.batch_samples={case['samples']}", "training.micro_batch=0",
                f"training.precision={precision}", *case.get("sets", [])]
    command = [ROOT / "bin" / "ergoflow", "bench", "step", "--experiment", case["experiment"], "--preset", "full",
               "--steps", str(steps), "--backend", backend, "--json"]
    for s in settings:
        command += ["--set", s]
    m = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return m["gradient_s"] + m["update_s"]


class Torch:
    def __init__(self, case, variant, threads, device):
        self.process = subprocess.Popen([sys.executable, HERE / "steps_torch.py"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.version = self.ask(json.dumps({**case, "variant": variant, "threads": threads, "device": device}))

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def step(self, steps):
        return statistics.median(self.ask(str(steps)))

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def measure(name, o):
    case, threads = CASES[name], len(os.sched_getaffinity(0))
    device = "cuda" if o.backend == "xla:cuda" else "cpu"
    torch = {v: Torch(case, v, threads, device) for v in o.variants.split(",") if v}
    times = {"functions": case["functions"], "samples": case["samples"], "load": os.getloadavg()[0],
             "ergoflow": {p: [] for p in o.precisions.split(",")}, "torch": {v: [] for v in torch}}
    for r in range(o.rounds):
        for p, list_ in times["ergoflow"].items():
            list_.append(ergoflow(case, p, o.steps, o.backend))
        for v, list_ in times["torch"].items():
            list_.append(torch[v].step(o.steps))
        print(f"{name}, round {r + 1}: " + ", ".join(f"{k} {1e3 * list_[-1]:.0f} ms" for side in ("ergoflow", "torch")
                                                     for k, list_ in times[side].items()), file=sys.stderr, flush=True)
    times["version"] = next((t.version for t in torch.values()), "")
    for t in torch.values():
        t.close()
    return times


def table(cases):
    lines = ["| experiment | batch | ergoflow, ms | torch.compile, ms | torch / ergoflow | ergoflow bfloat16, ms | torch.compile bfloat16, ms | torch / ergoflow |",
             "|---|---|---|---|---|---|---|---|"]

    def shown(values):
        ms = 1e3 * statistics.median(values) if values else 0
        return "" if not values else f"{ms:.0f}" if ms >= 20 else f"{ms:.1f}"

    for name in CASES:
        if name not in cases:
            continue
        c = cases[name]
        row = f"| {name} | {c['functions']} × {c['samples']} |"
        for precision, variant in (("float32", "compile-f32"), ("bfloat16", "compile-bf16")):
            ours, theirs = c["ergoflow"].get(precision, []), c["torch"].get(variant, [])
            ratios = [b / a for a, b in zip(ours, theirs)]
            ratio = f"{statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})" if ratios else ""
            row += f" {shown(ours)} | {shown(theirs)} | {ratio} |"
        lines.append(row)
    return "\n".join(lines) + "\n"


def machine(version):
    model = sitting.processor()
    commit = sitting.commit()
    return f"{model}, {len(os.sched_getaffinity(0))} cores; ergoflow {commit}; torch {version}; {datetime.date.today()}"


def write(page, cases, about):
    before, _, rest = page.read_text().partition(OPEN)
    after = rest.partition(CLOSE)[2]
    page.with_suffix(".json").write_text(json.dumps({"machine": about, "cases": cases}, indent=1, ensure_ascii=False) + "\n")
    page.write_text(f"{before}{OPEN}\n{about}\n\n{table(cases)}{CLOSE}{after}")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--steps", type=int, default=7)
    options.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES))
    options.add_argument("--variants", default="compile-f32,compile-bf16", help="PyTorch's variants: eager, compile or graphs, f32 or bf16 (default: %(default)s)")
    options.add_argument("--backend", default="auto", help="ergoflow's backend; PyTorch computes on the same device (default: %(default)s)")
    options.add_argument("--precisions", default="float32,bfloat16", help="ergoflow's precisions (default: %(default)s)")
    options.add_argument("--write", type=pathlib.Path)
    o = options.parse_args()
    cases = {}
    if o.write and o.write.with_suffix(".json").exists():
        cases = json.loads(o.write.with_suffix(".json").read_text())["cases"]
    for name in o.cases:
        cases[name] = measure(name, o)
        about = machine(cases[name]["version"])
        if o.write:
            write(o.write, cases, about)
    print(about + "\n\n" + table({name: cases[name] for name in o.cases}))


if __name__ == "__main__":
    main()
