"""Writes golden.json.gz: velocity, loss and gradient of small networks, every
representation, aggregator and conditioning, on both decoders, as PyTorch computes
them in float64. Made with torch 2.15:

    python golden.py | gzip -9n > golden.json.gz
"""

import json
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "docs/benchmarks"))
from sensor_torch import SensorNetwork  # noqa: E402

torch.set_default_dtype(torch.float64)

BASE = dict(
    sensors=3, steps=4, features=3,
    representation="trajectory", aggregator="perceiver", conditioning="adaln", decoder="flat",
    channels=[3, 5], kernel=3, hidden=3, width=4, latents=2, encoder_blocks=1, heads=2, feed_forward=2,
    dimension=2, particle_dim=2, decoder_width=4, decoder_blocks=1,
    time_embedding=4, f_min=0.5, f_max=4.0,
)
PARTICLES = dict(BASE, aggregator="mean", decoder="particles", dimension=6)
CASES = [  # the first two, with one block each, are tested on XLA too
    BASE,
    PARTICLES,
    dict(BASE, representation="point", encoder_blocks=2),
    dict(BASE, representation="endpoint"),
    dict(BASE, aggregator="mean"),
    dict(BASE, aggregator="deepsets"),
    dict(BASE, decoder_blocks=2, conditioning="film"),
    dict(BASE, decoder_blocks=2, conditioning="concat"),
    dict(BASE, decoder_blocks=2, conditioning="dot"),
    dict(PARTICLES, decoder_blocks=2, conditioning="film"),
    dict(PARTICLES, decoder_blocks=2, conditioning="concat"),
    dict(PARTICLES, decoder_blocks=2, conditioning="dot"),
]
FUNCTIONS, SAMPLES = 2, 3


def flat(values):
    return [float(f"{v:.9g}") for v in torch.cat([v.reshape(-1) for v in values]).tolist()]


def draw(*shape):
    return torch.randn(*shape).float().double()


def case(config):
    network = SensorNetwork(**config)
    with torch.no_grad():  # values that float32 holds, and large enough to matter
        for p in network.parameters():
            p.copy_((p + 0.5 * torch.randn(p.shape)).float().double())
        network.decoder.angular.copy_(network.decoder.angular.float().double())
    probes = draw(FUNCTIONS, config["sensors"], config["steps"], config["features"])
    x0, x1 = draw(FUNCTIONS, SAMPLES, config["dimension"]), draw(FUNCTIONS, SAMPLES, config["dimension"])
    t = torch.rand(FUNCTIONS, SAMPLES).float().double()
    velocity = network(probes, (1 - t[..., None]) * x0 + t[..., None] * x1, t)
    loss = ((velocity - (x1 - x0)) ** 2).sum()
    loss.backward()
    layout = list(network.layout())
    return {
        "config": config, "names": [name for name, _, _ in layout],
        "theta": flat([f(w.detach()) for _, w, f in layout]),
        "probes": flat([probes]), "x0": flat([x0]), "x1": flat([x1]), "t": flat([t]),
        "velocity": flat([velocity.detach()]), "loss": loss.item(),
        "gradient": flat([f(w.grad) for _, w, f in layout]),
    }


if __name__ == "__main__":
    torch.manual_seed(1)
    json.dump({"functions": FUNCTIONS, "samples": SAMPLES, "cases": [case(c) for c in CASES]}, sys.stdout, separators=(",", ":"))
