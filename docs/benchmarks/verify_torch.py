"""Every network of the paper in PyTorch, loaded with the parameters that ergoflow
exported, must give the velocities that ergoflow computed, in float32.

    make verify-torch       (or: go run ./docs/benchmarks/velocities DIR
                             and: python docs/benchmarks/verify_torch.py DIR)

The error is the largest difference over the largest velocity. Made with torch 2.15.
"""

import json
import pathlib
import sys

import torch
from safetensors import safe_open

from deeponet_torch import DeepONet
from sensor_torch import SensorNetwork

TOLERANCE = 1e-4


def load(network, tensors):
    """Sets every parameter of the network, each from the tensor of its name."""
    with torch.no_grad():
        for name, parameter, arrange in network.layout():
            arrange(parameter).copy_(tensors.pop(name))
    if tensors:
        raise ValueError(f"parameters that the network lacks: {sorted(tensors)}")


def verify(path):
    with safe_open(path, "pt") as file:
        metadata = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}
    x, t, expected = (tensors.pop(name) for name in ("x", "t", "velocity"))
    config = json.loads(metadata["config"])
    if metadata["kind"] == "deeponet":
        inputs = [tensors.pop("input." + field["name"]) for field in config["fields"]]
        network = DeepONet(**config)
    else:
        inputs = tensors.pop("input.probes")
        network = SensorNetwork(**config)
    load(network, tensors)
    with torch.no_grad():
        velocity = network(inputs, x, t)
    error = ((velocity - expected).abs().max() / expected.abs().max()).item()
    return sum(p.numel() for p in network.parameters()), expected.abs().max().item(), error


def main():
    torch.manual_seed(0)
    paths = sorted(pathlib.Path(sys.argv[1]).glob("*.safetensors"))
    if not paths:
        sys.exit(f"verify_torch: no safetensors files in {sys.argv[1]}")
    print(f"{'network':16} {'parameters':>10} {'largest |v|':>12} {'error':>9}")
    failed = []
    for path in paths:
        parameters, largest, error = verify(path)
        print(f"{path.stem:16} {parameters:10,} {largest:12.3g} {error:9.1e}")
        if not error <= TOLERANCE or not largest > 0:
            failed.append(path.stem)
    if failed:
        sys.exit(f"verify_torch: beyond {TOLERANCE:g}: {', '.join(failed)}")


if __name__ == "__main__":
    main()
