"""Writes golden.json: velocity, loss and gradient of a small network as PyTorch
computes them in float64. Made with torch 2.15:

    python golden.py > golden.json
"""

import json
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "docs/benchmarks"))
from deeponet_torch import DeepONet  # noqa: E402

torch.manual_seed(1)
config = dict(grid=9, rank=3, channels=[3, 4], kernel=5, hidden=5, trunk_width=6,
              trunk_depth=2, time_embedding=4, state_embedding=6, f_min=0.5, f_max=4.0)
functions, samples = 3, 5
torch.set_default_dtype(torch.float64)
network = DeepONet(**config).double()
with torch.no_grad():  # values that float32 holds, and large enough to matter
    for p in network.parameters():
        p.copy_((2 * p).float().double())
    for e in (network.state, network.time):
        e.angular.copy_(e.angular.float().double())


def draw(*shape):
    return torch.randn(*shape).float().double()


drift, diffusion = draw(functions, config["grid"]), draw(functions, config["grid"])
x0, x1 = draw(functions, samples), draw(functions, samples)
t = torch.rand(functions, samples).float().double()
velocity = network(drift, diffusion, (1 - t) * x0 + t * x1, t)
loss = ((velocity - (x1 - x0)) ** 2).sum()
loss.backward()


def flat(values):
    return [round(v, 12) for v in torch.cat([v.reshape(-1) for v in values]).tolist()]


json.dump({
    "config": config, "functions": functions, "samples": samples,
    "names": [name for name, _, _ in network.layout()],
    "theta": flat([f(w.detach()) for _, w, f in network.layout()]),
    "drift": flat([drift]), "diffusion": flat([diffusion]),
    "x0": flat([x0]), "x1": flat([x1]), "t": flat([t]),
    "velocity": flat([velocity.detach()]), "loss": loss.item(),
    "gradient": flat([f(w.grad) for _, w, f in network.layout()]),
}, sys.stdout)
