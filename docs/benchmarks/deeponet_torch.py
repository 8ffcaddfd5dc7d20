"""The grid DeepONet of model/network/deeponet in PyTorch, written from its definition
with torch.nn layers: the reference for the golden values in
model/network/deeponet/testdata, and the network that steps_torch.py times."""

import math

import torch
from torch import nn


class Branch(nn.Module):
    """Factors [n, q·d] of a field: [n, G] on the line, [n, H, W, c] in the plane.
    numbers counts the scalars that every branch receives."""

    def __init__(self, shape, channels, kernel, hidden, factors, numbers):
        super().__init__()
        nodes, inputs = (list(shape), 1) if len(shape) == 1 else (list(shape[:2]), shape[2])
        convolution = nn.Conv1d if len(nodes) == 1 else nn.Conv2d
        layers = []
        for outputs in channels:
            layers += [convolution(inputs, outputs, kernel, stride=2, padding=kernel // 2), nn.GELU()]
            nodes, inputs = [(n + 1) // 2 for n in nodes], outputs
        self.convolutions = nn.Sequential(*layers)
        self.hidden = nn.Linear(math.prod(nodes) * inputs + numbers, hidden)
        self.output = nn.Linear(hidden, factors)

    def forward(self, values, numbers):
        h = values[..., None] if values.dim() == 2 else values
        # Ours is channels-last: flatten as [nodes, channels].
        h = self.convolutions(h.movedim(-1, 1)).movedim(1, -1).flatten(1)
        return self.output(nn.functional.gelu(self.hidden(torch.cat([h, *numbers], -1))))


class Embedding(nn.Module):
    def __init__(self, width, f_min, f_max):
        super().__init__()
        f = f_min * (f_max / f_min) ** (torch.arange(width // 2, dtype=torch.float64) / max(width // 2 - 1, 1))
        self.register_buffer("angular", (2 * math.pi * f).float())

    def forward(self, z):  # [..., 1] -> [..., width]
        phase = z * self.angular
        return torch.stack([phase.sin(), phase.cos()], -1).flatten(-2)


class DeepONet(nn.Module):
    def __init__(self, fields, dimension=1, rank=128, channels=(32, 64, 128), kernel=5, hidden=256,
                 trunk_width=256, trunk_depth=4, time_embedding=32, state_embedding=32,
                 f_min=0.5, f_max=16.0, folded=False):
        """fields: [{"name": …, "shape": …}, …], as in the configuration."""
        super().__init__()
        self.rank, self.dimension, self.folded = rank, dimension, folded
        factors = rank * dimension
        self.single = [list(f["shape"]) == [1] for f in fields]  # a number, not a grid
        self.branches = nn.ModuleDict(
            {f["name"]: Branch(f["shape"], channels, kernel, hidden, factors, sum(self.single) * (1 + time_embedding))
             for f, single in zip(fields, self.single) if not single})
        self.state = Embedding(state_embedding, f_min, f_max)
        self.time = Embedding(time_embedding, f_min, f_max)
        layers, width = [], dimension * (1 + state_embedding) + time_embedding
        for _ in range(trunk_depth):
            layers += [nn.Linear(width, trunk_width), nn.GELU()]
            width = trunk_width
        self.trunk = nn.Sequential(*layers)
        self.output = nn.Linear(width, factors)

    def forward(self, inputs, x, t):  # one per field, [n,S,d], [n,S] -> [n,S,d]
        numbers = [e for v, single in zip(inputs, self.single) if single for e in (v, self.time(v))]
        grids = [v for v, single in zip(inputs, self.single) if not single]
        code = math.prod(branch(v, numbers) for branch, v in zip(self.branches.values(), grids))
        code = code.unflatten(-1, (self.rank, self.dimension))
        embedded = self.state(x[..., None]).flatten(-2)
        h = self.trunk(torch.cat([x, embedded, self.time(t[..., None])], -1))
        if self.folded:  # the same sum, over the rank first: as ours computes it
            weight = self.output.weight.unflatten(0, (self.rank, self.dimension))
            bias = self.output.bias.unflatten(0, (self.rank, self.dimension))
            rows = torch.einsum("nqd,qdk->ndk", code, weight)
            return torch.einsum("ndk,nsk->nsd", rows, h) + torch.einsum("nqd,qd->nd", code, bias)[:, None]
        u = self.output(h).unflatten(-1, (self.rank, self.dimension))
        return torch.einsum("nqd,nsqd->nsd", code, u)

    def layout(self):
        """(name, tensor, conversion to ergoflow's shape) in the order of its flat vector."""
        for name, branch in self.branches.items():
            convolutions = [m for m in branch.convolutions if not isinstance(m, nn.GELU)]
            for i, c in enumerate(convolutions):
                yield f"{name}.conv{i}.weight", c.weight, lambda w: w.movedim((1, 0), (-2, -1))
                yield f"{name}.conv{i}.bias", c.bias, lambda w: w
            for part in ("hidden", "output"):
                yield f"{name}.{part}.weight", getattr(branch, part).weight, lambda w: w.t()
                yield f"{name}.{part}.bias", getattr(branch, part).bias, lambda w: w
        for i, linear in enumerate([m for m in self.trunk if isinstance(m, nn.Linear)]):
            yield f"trunk.hidden{i}.weight", linear.weight, lambda w: w.t()
            yield f"trunk.hidden{i}.bias", linear.bias, lambda w: w
        yield "trunk.output.weight", self.output.weight, lambda w: w.t()
        yield "trunk.output.bias", self.output.bias, lambda w: w
