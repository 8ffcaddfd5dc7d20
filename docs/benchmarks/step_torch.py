"""One vn1d training step in PyTorch on the CPU, for comparison with
`ergoflow bench step`: 256 functions × 32 samples, assembly of the batch,
gradient, clipping and AdamW under OneCycle. Prints one JSON line per variant.

    python docs/benchmarks/step_torch.py [--steps 40] [--variants eager-f32,...]

glibc is set as ergoflow sets it for itself (fewer page faults; PyTorch gains
from that too). The folded variants compute the trunk's last layer as ergoflow
does, once for each function; the plain ones as the network is written down.
Made with torch 2.15.
"""

import argparse
import json
import os
import statistics
import sys
import time

MALLOC = {"MALLOC_MMAP_MAX_": "0", "MALLOC_ARENA_MAX": "1", "MALLOC_TRIM_THRESHOLD_": "100000000000"}
if any(os.environ.get(k) != v for k, v in MALLOC.items()):
    # glibc reads them before main.
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **MALLOC})

import torch  # noqa: E402

from deeponet_torch import DeepONet  # noqa: E402

FUNCTIONS, SAMPLES, GRID, STORED = 256, 32, 64, 4096
# The counting of `ergoflow bench step`: dense layers and convolutions of the
# network as written down, two operations per multiply-add, backward twice forward.
TRUNK = 65 * 256 + 3 * 256 * 256 + 256 * 128
BRANCH = 5120 + 163840 + 327680 + 1024 * 256 + 256 * 128
FLOPS = 6 * (FUNCTIONS * SAMPLES * TRUNK + 2 * FUNCTIONS * BRANCH)


def step_function(variant):
    torch.manual_seed(0)
    fields = [{"name": name, "shape": [GRID]} for name in ("drift", "diffusion")]
    network = DeepONet(fields, folded="folded" in variant)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=1e-4, fused="compile" in variant)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-3, total_steps=100_000)
    drift, diffusion = torch.randn(512, GRID), torch.randn(512, GRID)
    stored = torch.randn(512, STORED)
    bf16 = "bf16" in variant

    def loss(drift, diffusion, x0, x1, t):
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            velocity = network([drift, diffusion], ((1 - t) * x0 + t * x1)[..., None], t)[..., 0]
        return ((velocity.float() - (x1 - x0)) ** 2).mean()

    if "compile" in variant:
        loss = torch.compile(loss)

    def step():
        functions = torch.randperm(512)[:FUNCTIONS]
        block = torch.randint(STORED, (FUNCTIONS, SAMPLES))
        x1 = stored[functions].gather(1, block).sort(1).values
        x0 = torch.randn(FUNCTIONS, SAMPLES).sort(1).values
        t = torch.rand(FUNCTIONS, SAMPLES)
        optimizer.zero_grad()
        loss(drift[functions], diffusion[functions], x0, x1, t).backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        schedule.step()

    return step


def measure(variant, steps):
    step = step_function(variant)
    for _ in range(5):
        step()
    times, processor = [], []
    for _ in range(steps):
        start, used = time.perf_counter(), time.process_time()
        step()
        times.append(time.perf_counter() - start)
        processor.append(time.process_time() - used)
    median = statistics.median(times)
    return {
        "experiment": "vn1d", "backend": f"torch {torch.__version__} {variant}",
        "batch": f"{FUNCTIONS}×{SAMPLES}", "steps": steps, "median_s": median, "min_s": min(times),
        "cpu_s": statistics.median(processor),
        "gflops": FLOPS / median / 1e9, "samples_per_s": FUNCTIONS * SAMPLES / median,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--threads", type=int, default=0, help="0: PyTorch's choice")
    parser.add_argument("--variants", default="eager-f32,compile-f32,compile-f32-folded,eager-bf16,compile-bf16")
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    for variant in arguments.variants.split(","):
        print(json.dumps(measure(variant, arguments.steps), ensure_ascii=False), flush=True)
