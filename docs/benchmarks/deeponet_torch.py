"""The grid DeepONet of model/deeponet in PyTorch, written from its definition
with torch.nn layers: reference for the golden values in
model/deeponet/testdata, and what step_torch.py measures."""

import math

import torch
from torch import nn


class Branch(nn.Module):
    def __init__(self, grid, channels, kernel, hidden, rank):
        super().__init__()
        layers, length, inputs = [], grid, 1
        for outputs in channels:
            layers += [nn.Conv1d(inputs, outputs, kernel, stride=2, padding=kernel // 2), nn.GELU()]
            length, inputs = (length + 1) // 2, outputs
        self.convolutions = nn.Sequential(*layers)
        self.hidden = nn.Linear(length * inputs, hidden)
        self.output = nn.Linear(hidden, rank)

    def forward(self, values):  # [n, G] -> [n, q]
        h = self.convolutions(values[:, None, :])
        # Ours is channels-last: flatten as [length, channels].
        h = h.transpose(1, 2).flatten(1)
        return self.output(nn.functional.gelu(self.hidden(h)))


class Embedding(nn.Module):
    def __init__(self, width, f_min, f_max):
        super().__init__()
        f = f_min * (f_max / f_min) ** (torch.arange(width // 2, dtype=torch.float64) / max(width // 2 - 1, 1))
        self.register_buffer("angular", (2 * math.pi * f).float())

    def forward(self, z):  # [..., 1] -> [..., width]
        phase = z * self.angular
        return torch.stack([phase.sin(), phase.cos()], -1).flatten(-2)


class DeepONet(nn.Module):
    def __init__(self, grid, rank=128, channels=(32, 64, 128), kernel=5, hidden=256,
                 trunk_width=256, trunk_depth=4, time_embedding=32, state_embedding=32,
                 f_min=0.5, f_max=16.0, folded=False):
        super().__init__()
        self.drift = Branch(grid, channels, kernel, hidden, rank)
        self.diffusion = Branch(grid, channels, kernel, hidden, rank)
        self.state = Embedding(state_embedding, f_min, f_max)
        self.time = Embedding(time_embedding, f_min, f_max)
        layers, width = [], 1 + state_embedding + time_embedding
        for _ in range(trunk_depth):
            layers += [nn.Linear(width, trunk_width), nn.GELU()]
            width = trunk_width
        self.trunk = nn.Sequential(*layers)
        self.output = nn.Linear(width, rank)
        self.folded = folded

    def forward(self, drift, diffusion, x, t):  # [n,G] [n,G] [n,S] [n,S] -> [n,S]
        code = self.drift(drift) * self.diffusion(diffusion)
        x, t = x[..., None], t[..., None]
        h = self.trunk(torch.cat([x, self.state(x), self.time(t)], -1))
        if self.folded:  # the same sum, over the rank first: as ours computes it
            row = code @ self.output.weight
            return torch.einsum("nk,nsk->ns", row, h) + (code @ self.output.bias)[:, None]
        return torch.einsum("nq,nsq->ns", code, self.output(h))

    def layout(self):
        """(name, tensor as ours is shaped) in the order of our flat vector."""
        for name, branch in (("drift", self.drift), ("diffusion", self.diffusion)):
            convolutions = [m for m in branch.convolutions if isinstance(m, nn.Conv1d)]
            for i, c in enumerate(convolutions):
                yield f"{name}.conv{i}.weight", c.weight, lambda w: w.permute(2, 1, 0)
                yield f"{name}.conv{i}.bias", c.bias, lambda w: w
            for part in ("hidden", "output"):
                yield f"{name}.{part}.weight", getattr(branch, part).weight, lambda w: w.t()
                yield f"{name}.{part}.bias", getattr(branch, part).bias, lambda w: w
        for i, linear in enumerate([m for m in self.trunk if isinstance(m, nn.Linear)]):
            yield f"trunk.hidden{i}.weight", linear.weight, lambda w: w.t()
            yield f"trunk.hidden{i}.bias", linear.bias, lambda w: w
        yield "trunk.output.weight", self.output.weight, lambda w: w.t()
        yield "trunk.output.bias", self.output.bias, lambda w: w
