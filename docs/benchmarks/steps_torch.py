"""Training steps in PyTorch, for steps.py: gradient of a batch in memory, clipping,
AdamW under OneCycle. Compiles the step that the first line of standard input describes,
a JSON object with network, inputs, functions, samples, dimension, variant, threads and
device (cpu or cuda). Each further line is a number of steps; the answer is their seconds
as a JSON list. On a GPU float32 products use TF32, as ergoflow's do, and the variant
graphs-f32 replays a CUDA graph.

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
    device, sensors = case["device"], "fields" not in case["network"]
    torch.set_default_device(device)
    torch.set_float32_matmul_precision("high" if device == "cuda" else "highest")
    torch.backends.cudnn.allow_tf32 = True
    network = (SensorNetwork if sensors else DeepONet)(**case["network"]).to(device)
    graphs, bf16 = "graphs" in case["variant"], "bf16" in case["variant"]
    compiled = graphs or "compile" in case["variant"]
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=1e-4, fused=compiled)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-3, total_steps=1_000_000)
    inputs = [torch.randn(case["functions"], *shape) for shape in case["inputs"]]
    x0, x1 = torch.randn(2, case["functions"], case["samples"], case["dimension"])
    t = torch.rand(case["functions"], case["samples"])

    def loss(inputs, x0, x1, t):
        x = (1 - t[..., None]) * x0 + t[..., None] * x1
        with torch.autocast(device, torch.bfloat16, enabled=bf16):
            velocity = network(inputs[0] if sensors else inputs, x, t)
        return ((velocity.float() - (x1 - x0)) ** 2).mean()

    if compiled:
        loss = torch.compile(loss, mode="reduce-overhead" if graphs else None)

    def step():
        optimizer.zero_grad()
        loss(inputs, x0, x1, t).backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        schedule.step()

    return step


def main():
    case = json.loads(sys.stdin.readline())
    step = step_function(case)
    wait = torch.cuda.synchronize if case["device"] == "cuda" else lambda: None
    for _ in range(3):
        step()
    print(json.dumps(torch.__version__), flush=True)
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            start = time.perf_counter()
            step()
            wait()
            times.append(time.perf_counter() - start)
        print(json.dumps(times), flush=True)


if __name__ == "__main__":
    main()
