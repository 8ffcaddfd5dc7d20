"""The sensor networks of model/network/sensor in PyTorch, written from their definition
with torch.nn layers, every part and every combination: the reference for the golden
values in model/network/sensor/testdata and for verify_torch.py, and the networks that
steps_torch.py times. Modules have the names of ergoflow's parameters."""

import math

import torch
from torch import nn
from torch.nn import functional as F


class Perceptron(nn.Module):
    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        self.hidden = nn.Linear(inputs, hidden)
        self.output = nn.Linear(hidden, outputs)

    def forward(self, x):
        return self.output(F.gelu(self.hidden(x)))


class Trajectory(nn.Module):
    def __init__(self, features, channels, kernel):
        super().__init__()
        self.depth = len(channels)
        for i, width in enumerate(channels):
            self.add_module(f"conv{i}", nn.Conv1d(features, width, kernel, padding=kernel // 2))
            self.add_module(f"norm{i}", nn.LayerNorm(width))
            features = width

    def forward(self, probes):  # [n, m, steps, features] -> [n, m, width]
        h = probes.flatten(0, 1)
        for i in range(self.depth):
            h = getattr(self, f"conv{i}")(h.transpose(1, 2)).transpose(1, 2)
            h = F.gelu(getattr(self, f"norm{i}")(h))
        return h.mean(1).unflatten(0, probes.shape[:2])


class Point(Perceptron):
    def forward(self, probes):
        return super().forward(probes[:, :, 0])


class Endpoint(Perceptron):
    def forward(self, probes):
        first, last = probes[:, :, 0], probes[:, :, -1]
        return super().forward(torch.cat([first, last, last - first], -1))


class Attention(nn.Module):
    def __init__(self, inputs, width, heads):
        super().__init__()
        self.query = nn.Linear(inputs, width)
        self.key = nn.Linear(inputs, width)
        self.value = nn.Linear(inputs, width)
        self.output = nn.Linear(width, width)
        self.heads = heads

    def read(self, queries, keys):  # what output maps: [..., q, width]
        q, k, v = self.query(queries), self.key(keys), self.value(keys)
        # Four axes: with more, PyTorch takes a slow path.
        q, k, v = (a.reshape(-1, a.shape[-2], self.heads, a.shape[-1] // self.heads).transpose(1, 2) for a in (q, k, v))
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(*queries.shape[:-1], -1)

    def forward(self, queries, keys):
        return self.output(self.read(queries, keys))


class EncoderBlock(nn.Module):
    def __init__(self, width, heads, feed_forward):
        super().__init__()
        self.cross = Attention(width, width, heads)
        self.norm0 = nn.LayerNorm(width)
        self.self = Attention(width, width, heads)
        self.norm1 = nn.LayerNorm(width)
        self.hidden = nn.Linear(width, feed_forward * width)
        self.output = nn.Linear(feed_forward * width, width)
        self.norm2 = nn.LayerNorm(width)

    def forward(self, z, e):
        z = self.norm0(z + self.cross(z, e))
        z = self.norm1(z + self.self(z, z))
        return self.norm2(z + self.output(F.gelu(self.hidden(z))))


class Perceiver(nn.Module):
    def __init__(self, embedding, width, latents, blocks, heads, feed_forward):
        super().__init__()
        self.embed = nn.Linear(embedding, width, bias=False)
        self.latents = nn.Parameter(0.02 * torch.randn(latents, width))
        self.blocks = blocks
        for i in range(blocks):
            self.add_module(f"block{i}", EncoderBlock(width, heads, feed_forward))
        self.output = nn.Linear(latents * width, width)

    def forward(self, e):
        e = self.embed(e)
        z = self.latents.expand(len(e), -1, -1)
        for i in range(self.blocks):
            z = getattr(self, f"block{i}")(z, e)
        return self.output(z.flatten(1))


class Encoder(nn.Module):
    """probes [n, m, steps, features] -> z [n, width]"""

    def __init__(self, representation, aggregator, features, channels, kernel, hidden,
                 width, latents, encoder_blocks, heads, feed_forward):
        super().__init__()
        e = channels[-1]
        self.sensor = {
            "trajectory": lambda: Trajectory(features, channels, kernel),
            "point": lambda: Point(features, hidden, e),
            "endpoint": lambda: Endpoint(3 * features, hidden, e),
        }[representation]()
        self.aggregator = aggregator
        if aggregator == "perceiver":
            self.perceiver = Perceiver(e, width, latents, encoder_blocks, heads, feed_forward)
        if aggregator == "deepsets":
            self.element = Perceptron(e, hidden, e)
        if aggregator != "perceiver":
            self.pool = Perceptron(e, hidden, width)

    def forward(self, probes):
        e = self.sensor(probes)
        if self.aggregator == "perceiver":
            return self.perceiver(e)
        if self.aggregator == "deepsets":
            return self.pool(self.element(e).sum(1))
        return self.pool(e.mean(1))


class Block(nn.Module):
    """One block of either decoder; h is [n, S, particles, D], with one particle in
    a flat decoder, and c [n, S, 1, width]."""

    def __init__(self, conditioning, particles, context, width, heads, feed_forward):
        super().__init__()
        self.conditioning, self.particles, self.width = conditioning, particles, width
        count = {"adaln": 5, "film": 4, "dot": 1 + feed_forward if particles else 1, "concat": 0}[conditioning]
        if count:
            self.modulation = nn.Linear(context, count * width)
        plain = conditioning in ("concat", "dot")
        self.norm0 = nn.LayerNorm(width, elementwise_affine=plain)
        self.norm1 = nn.LayerNorm(width, elementwise_affine=plain)
        inputs = width + (context if conditioning == "concat" else 0)
        inner = feed_forward * width if particles else width
        if particles:
            self.attention = Attention(inputs, width, heads)
        self.hidden = nn.Linear(inputs, inner)
        self.output = nn.Linear(inner, width)

    def forward(self, h, c):
        modulation = self.modulation(c) if hasattr(self, "modulation") else None
        gate, g = 1, None
        norms = [self.norm0, self.norm1]
        if self.conditioning in ("adaln", "film"):
            parts = modulation.split(self.width, -1)
            norms = [lambda x, i=i: (1 + parts[2 * i]) * (self.norm0, self.norm1)[i](x) + parts[2 * i + 1] for i in (0, 1)]
        if self.conditioning == "adaln":
            gate = parts[4]

        def append(x):
            return torch.cat([x, c.expand(*x.shape[:-1], -1)], -1) if self.conditioning == "concat" else x

        def weigh(x, offset=0):
            return x * modulation[..., offset:offset + x.shape[-1]] if self.conditioning == "dot" else x

        if not self.particles:
            u = F.mish(norms[0](h))
            u = F.mish(norms[1](self.hidden(append(u))))
            return h + gate * self.output(weigh(u))
        x = append(norms[0](h))
        h = h + gate * self.attention.output(weigh(self.attention.read(x, x)))
        u = F.mish(self.hidden(append(norms[1](h))))
        return h + gate * self.output(weigh(u, self.width))


class Decoder(nn.Module):
    def __init__(self, conditioning, decoder, code, heads, feed_forward, dimension, particle_dim,
                 decoder_width, decoder_blocks, time_embedding, f_min, f_max):
        super().__init__()
        particles = decoder == "particles"
        self.token = particle_dim if particles else dimension
        f = f_min * (f_max / f_min) ** (torch.arange(time_embedding // 2, dtype=torch.float64) / max(time_embedding // 2 - 1, 1))
        self.register_buffer("angular", (2 * math.pi * f).float(), persistent=False)
        self.context = nn.Linear(code + time_embedding, code)
        self.input = nn.Linear(self.token + time_embedding, decoder_width)
        self.blocks = decoder_blocks
        for i in range(decoder_blocks):
            self.add_module(f"block{i}", Block(conditioning, particles, code, decoder_width, heads, feed_forward))
        self.norm = nn.LayerNorm(decoder_width)
        self.output = nn.Linear(decoder_width, self.token)
        nn.init.zeros_(self.output.weight)
        nn.init.zeros_(self.output.bias)

    def forward(self, z, x, t):  # [n, width] [n, S, d] [n, S] -> [n, S, d]
        phase = t[..., None] * self.angular
        tau = torch.stack([phase.sin(), phase.cos()], -1).flatten(-2)
        c = self.context(torch.cat([z[:, None].expand(-1, t.shape[1], -1), tau], -1))[:, :, None]
        tokens = x.unflatten(-1, (-1, self.token))
        h = self.input(torch.cat([tokens, tau[:, :, None].expand(-1, -1, tokens.shape[2], -1)], -1))
        for i in range(self.blocks):
            h = getattr(self, f"block{i}")(h, c)
        return self.output(self.norm(h)).flatten(-2)


class SensorNetwork(nn.Module):
    """Takes the fields of ergoflow's configuration; the data have sensors and steps."""

    def __init__(self, representation="trajectory", aggregator="perceiver", conditioning="adaln", decoder="flat",
                 features=8, channels=(64, 128), kernel=3, hidden=128, width=128, latents=4, encoder_blocks=2,
                 heads=4, feed_forward=4, dimension=2, particle_dim=2, decoder_width=128, decoder_blocks=4,
                 time_embedding=32, f_min=0.5, f_max=16.0, sensors=None, steps=None):
        super().__init__()
        self.encoder = Encoder(representation, aggregator, features, channels, kernel, hidden,
                               width, latents, encoder_blocks, heads, feed_forward)
        self.decoder = Decoder(conditioning, decoder, width, heads, feed_forward, dimension, particle_dim,
                               decoder_width, decoder_blocks, time_embedding, f_min, f_max)

    def forward(self, probes, x, t):
        return self.decoder(self.encoder(probes), x, t)

    def layout(self):
        """(name, parameter, conversion to ergoflow's shape) in the order of its flat vector."""
        modules = dict(self.named_modules())
        for name, parameter in self.named_parameters():
            owner = modules[name.rpartition(".")[0]]
            arrange = (lambda w: w) if parameter.dim() < 2 or not isinstance(owner, (nn.Linear, nn.Conv1d)) \
                else lambda w: w.permute(*reversed(range(w.dim())))
            yield name.removeprefix("encoder."), parameter, arrange
