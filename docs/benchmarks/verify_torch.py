"""Checks every network of the paper: in PyTorch, with the parameters that ergoflow
exported, it must compute the same velocities as ergoflow, in float32.

    make verify-torch       (or: go run ./docs/benchmarks/velocities DIR
                             and: python docs/benchmarks/verify_torch.py DIR)

The error is the largest difference over the largest velocity. Tested with torch 2.15.
--write PAGE replaces the table between the markers of that page of docs/results.
"""

import argparse
import datetime
import json
import pathlib
import sys

import torch
from safetensors import safe_open

import sitting
from deeponet_torch import DeepONet
from sensor_torch import SensorNetwork

TOLERANCE = 1e-4
OPEN, CLOSE = "<!-- begin measured -->", "<!-- end measured -->"


def load(network, tensors):
    """Sets every parameter of the network from the tensor of the same name."""
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


def table(found, commit):
    lines = [f"ergoflow {commit}; torch {torch.__version__}; {datetime.date.today()}", "",
             "| network | parameters | largest velocity | error |", "|---|---:|---:|---:|"]
    lines += [f"| {name} | {parameters:,} | {largest:.3g} | {error:.1e} |" for name, parameters, largest, error in found]
    return "\n".join(lines) + "\n"


def write(page, text):
    before, _, rest = page.read_text().partition(OPEN)
    page.write_text(f"{before}{OPEN}\n{text}{CLOSE}{rest.partition(CLOSE)[2]}")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("dir", type=pathlib.Path)
    options.add_argument("--write", type=pathlib.Path)
    o = options.parse_args()
    torch.manual_seed(0)
    paths = sorted(o.dir.glob("*.safetensors"))
    if not paths:
        sys.exit(f"verify_torch: no safetensors files in {o.dir}")
    print(f"{'network':16} {'parameters':>10} {'largest |v|':>12} {'error':>9}")
    found = []
    for path in paths:
        found.append((path.stem, *verify(path)))
        _, parameters, largest, error = found[-1]
        print(f"{path.stem:16} {parameters:10,} {largest:12.3g} {error:9.1e}")
    if o.write:
        commit = sitting.commit()
        write(o.write, table(found, commit))
    if failed := [name for name, _, largest, error in found if not error <= TOLERANCE or not largest > 0]:
        sys.exit(f"verify_torch: beyond {TOLERANCE:g}: {', '.join(failed)}")


if __name__ == "__main__":
    main()
