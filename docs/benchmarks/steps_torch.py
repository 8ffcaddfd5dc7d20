"""Training steps in PyTorch on the CPU, for steps.py: gradient of a batch in memory,
clipping, AdamW under OneCycle. Compiles the step that the first line of standard input
describes, a JSON object with network, inputs, functions, samples, dimension, variant
and threads. Each further line is a number of steps; the answer is their seconds as a
JSON list.

glibc has the settings that ergoflow gives itself (fewer page faults, which also makes
PyTorch faster). Networks are computed as defined.
"""

import json
import os
import sys
import time

MALLOC = {"MALLOC_MMAP_MAX_": "0", "MALLOC_ARENA_MAX": "1", "MALLOC_TRIM_THRESHOLD_": "100000000000"}
if any(os.environ.get(k) != v for k, v in MALLOC.items()):
    # glibc reads them before main.
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **MALLOC})

import torch  # noqa: E402

from deeponet_torch import DeepONet  # noqa: E402
from sensor_torch import SensorNetwork  # noqa: E402


def step_function(case):
    torch.manual_seed(0)
    torch.set_num_threads(case["threads"])
    sensors = "fields" not in case["network"]
    network = (SensorNetwork if sensors else DeepONet)(**case["network"])
    compiled, bf16 = "compile" in case["variant"], "bf16" in case["variant"]
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=1e-4, fused=compiled)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-3, total_steps=1_000_000)
    inputs = [torch.randn(case["functions"], *shape) for shape in case["inputs"]]
    x0, x1 = torch.randn(2, case["functions"], case["samples"], case["dimension"])
    t = torch.rand(case["functions"], case["samples"])

    def loss(inputs, x0, x1, t):
        x = (1 - t[..., None]) * x0 + t[..., None] * x1
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            velocity = network(inputs[0] if sensors else inputs, x, t)
        return ((velocity.float() - (x1 - x0)) ** 2).mean()

    if compiled:
        loss = torch.compile(loss)

    def step():
        optimizer.zero_grad()
        loss(inputs, x0, x1, t).backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        schedule.step()

    return step


def main():
    step = step_function(json.loads(sys.stdin.readline()))
    for _ in range(3):
        step()
    print(json.dumps(torch.__version__), flush=True)
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            start = time.perf_counter()
            step()
            times.append(time.perf_counter() - start)
        print(json.dumps(times), flush=True)


if __name__ == "__main__":
    main()
