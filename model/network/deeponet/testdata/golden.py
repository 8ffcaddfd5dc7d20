"""Writes line.json, plane.json and numbers.json: velocity, loss and gradient of small networks
as PyTorch computes them in float64. Made with torch 2.15:

    python golden.py
"""

import json
import pathlib
import sys

import torch

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here.parents[2] / "docs/benchmarks"))
from deeponet_torch import DeepONet  # noqa: E402

torch.set_default_dtype(torch.float64)
functions, samples = 3, 5
sizes = dict(rank=3, channels=[3, 4], hidden=5, trunk_width=6, trunk_depth=2,
             time_embedding=4, state_embedding=6, f_min=0.5, f_max=4.0)
# Odd and even numbers of nodes, so that padding is tested too.
cases = {
    "line": dict(dimension=1, kernel=5, fields=[
        dict(name="drift", shape=[9]), dict(name="diffusion", shape=[9])], **sizes),
    "plane": dict(dimension=2, kernel=3, fields=[
        dict(name="drift", shape=[6, 5, 2]), dict(name="diffusion", shape=[6, 5, 1])], **sizes),
    "numbers": dict(dimension=1, kernel=3, fields=[
        dict(name="log_time", shape=[1]), dict(name="drift", shape=[8]), dict(name="rate", shape=[1]),
        dict(name="diffusion", shape=[8])], **sizes),
}


def draw(*shape):
    return torch.randn(*shape).float().double()


def flat(values):
    return [round(v, 12) for v in torch.cat([v.reshape(-1) for v in values]).tolist()]


for case, config in cases.items():
    torch.manual_seed(1)
    network = DeepONet(**config).double()
    with torch.no_grad():  # values that float32 holds, and large enough to matter
        for p in network.parameters():
            p.copy_((2 * p).float().double())
        for e in (network.state, network.time):
            e.angular.copy_(e.angular.float().double())
    inputs = [draw(functions, *f["shape"]) for f in config["fields"]]
    states = (functions, samples, config["dimension"])
    x0, x1 = draw(*states), draw(*states)
    t = torch.rand(functions, samples).float().double()
    velocity = network(inputs, x0 + t[..., None] * (x1 - x0), t)
    loss = ((velocity - (x1 - x0)) ** 2).sum()
    loss.backward()
    (here / f"{case}.json").write_text(json.dumps({
        "config": config, "functions": functions, "samples": samples,
        "names": [name for name, _, _ in network.layout()],
        "theta": flat([f(w.detach()) for _, w, f in network.layout()]),
        "inputs": [flat([i]) for i in inputs],
        "x0": flat([x0]), "x1": flat([x1]), "t": flat([t]),
        "velocity": flat([velocity.detach()]), "loss": loss.item(),
        "gradient": flat([f(w.grad) for _, w, f in network.layout()]),
    }))
