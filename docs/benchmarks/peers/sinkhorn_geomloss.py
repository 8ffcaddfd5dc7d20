"""The debiased Sinkhorn divergence by GeomLoss: tensorized backend, its default
schedule (p = 2, blur 0.05, scaling 0.5).

As a peer it runs in float32, the usual precision, on clouds like those of
`ergoflow bench sinkhorn`. With --values DIRECTORY it writes pairs of clouds to X.npy
and Y.npy there, and prints their divergence in float64.
"""

import argparse
import json
import pathlib

import geomloss
import numpy as np
import torch

from serve import serve

options = argparse.ArgumentParser()
options.add_argument("--threads", type=int, default=2)
options.add_argument("--points", type=int, default=4096)
options.add_argument("--dimensions", default="1,2,3")
options.add_argument("--values", type=pathlib.Path)
o = options.parse_args()
torch.set_num_threads(o.threads)
torch.set_grad_enabled(False)
LOSS = geomloss.SamplesLoss("sinkhorn", p=2, blur=0.05, scaling=0.5, backend="tensorized")
DIMENSIONS = [int(d) for d in o.dimensions.split(",")]


def normal(d, random):
    return random.standard_normal((o.points, d))


def mixture(d, random):
    """Modes at ±2 along the first axis, standard deviation 0.4."""
    x = 0.4 * normal(d, random)
    x[:, 0] += random.choice([-2, 2], o.points)
    return x


def heavy(x, random):
    """Points divided by the absolute value of a normal number, at least 0.01: Cauchy tails."""
    return x / np.maximum(0.01, np.abs(random.standard_normal((o.points, 1))))


def pair(kind, d):
    """normal: two normal laws; mixture: a standard normal cloud against two modes;
    heavy: the clouds of mixture with heavy tails."""
    random = np.random.default_rng(d)
    x = normal(d, random)
    y = 0.5 + 0.8 * normal(d, random) if kind == "normal" else mixture(d, random)
    if kind == "heavy":
        x, y = heavy(x, random), heavy(y, random)
    return x.astype(np.float32), y.astype(np.float32)


def timed(kind, d):
    x, y = (torch.from_numpy(c) for c in pair(kind, d))

    def work():
        LOSS(x, y).item()
        return 1, None

    return work


def main():
    if o.values is None:
        variants = {f"{kind} {d}D": timed(kind, d) for d in DIMENSIONS for kind in ("mixture", "heavy")}
        LOSS(torch.randn(300, 2), torch.randn(300, 2))
        serve(variants, {"geomloss": geomloss.__version__, "torch": torch.__version__}, warm=False)
        return
    for d in DIMENSIONS:
        for kind in ("normal", "mixture", "heavy"):
            x, y = pair(kind, d)
            where = o.values / f"{kind}-{d}D"
            where.mkdir()
            np.save(where / "X.npy", x)
            np.save(where / "Y.npy", y)
            value = LOSS(torch.from_numpy(x).double(), torch.from_numpy(y).double()).item()
            print(json.dumps({"data": kind, "dimension": d, "value": value}), flush=True)


main()
