"""The gradient of a batch of the sensor networks in PyTorch on the CPU, for
comparison with

    go test ./model/sensor -run '^$' -bench Gradient

at the same sizes: plane, 64 functions × 64 samples with 128 sensors; particles,
8 × 64 with 512 sensors. Prints one JSON line per network and variant.

    python docs/benchmarks/sensor_step_torch.py [--steps 10] [--networks plane] [--variants compile-f32]

glibc is set as ergoflow sets it for itself (fewer page faults; PyTorch gains
from that too). Made with torch 2.15.
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

from sensor_torch import SensorNetwork  # noqa: E402

# fields of the network; functions, samples, sensors, steps
NETWORKS = {
    "plane": (dict(features=8, dimension=2), 64, 64, 128, 20),
    "particles": (dict(features=4, dimension=64, decoder="particles"), 8, 64, 512, 20),
}


def gradient_function(name, variant):
    torch.manual_seed(0)
    fields, functions, samples, sensors, steps = NETWORKS[name]
    network = SensorNetwork(**fields)
    with torch.no_grad():  # a velocity of zero would have no gradient below
        network.decoder.output.weight.normal_(0, 0.2)
    probes = torch.randn(functions, sensors, steps, fields["features"])
    x, u = torch.randn(2, functions, samples, fields["dimension"])
    t = torch.rand(functions, samples)

    def loss(probes, x, u, t):
        with torch.autocast("cpu", torch.bfloat16, enabled="bf16" in variant):
            velocity = network(probes, x, t)
        return ((velocity.float() - u) ** 2).sum()

    if "compile" in variant:
        loss = torch.compile(loss)

    def gradient():
        network.zero_grad()
        loss(probes, x, u, t).backward()

    return gradient


def measure(name, variant, steps):
    gradient = gradient_function(name, variant)
    for _ in range(3):
        gradient()
    times, processor = [], []
    for _ in range(steps):
        start, used = time.perf_counter(), time.process_time()
        gradient()
        times.append(time.perf_counter() - start)
        processor.append(time.process_time() - used)
    return {
        "network": name, "variant": variant, "threads": torch.get_num_threads(), "steps": steps,
        "median_s": statistics.median(times), "min_s": min(times), "cpu_s": statistics.median(processor),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--threads", type=int, default=0, help="0: PyTorch's choice")
    parser.add_argument("--networks", default="plane,particles")
    parser.add_argument("--variants", default="eager-f32,compile-f32,eager-bf16,compile-bf16")
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    for name in arguments.networks.split(","):
        for variant in arguments.variants.split(","):
            print(json.dumps(measure(name, variant, arguments.steps)), flush=True)
