"""Golden values of the debiased Sinkhorn divergence from the real GeomLoss.

    pip install geomloss==0.3.1 torch
    python docs/benchmarks/geomloss_golden.py > model/evaluation/metrics/testdata/geomloss.json

Everything runs in float64 on the tensorized backend: SamplesLoss("sinkhorn",
p=2, blur, scaling, debias=True). The clouds are not stored: they are exact
functions of the specification written beside each value (sums, products and
one division of 53-bit uniforms, then rounded to float32), which the Go test
evaluates again.
"""

import json
import sys

import geomloss
import numpy as np
import torch

MASK = np.uint64(0xFFFFFFFFFFFFFFFF)
BLOCK = 16  # uniforms reserved per coordinate


def uniform(seed, index, k):
    """Number k < BLOCK of every index: SplitMix64's finaliser over a counter."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed << 32) + index * np.uint64(BLOCK) + np.uint64(k)
        z = z * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(11)).astype(np.float64) * 2.0**-53


def bell(seed, index):
    """Sum of twelve uniforms minus six: variance one, nearly normal, exact."""
    total = np.zeros(len(index))
    for k in range(12):
        total = total + uniform(seed, index, k)
    return total - 6.0


def cloud(spec):
    """Points (n, d) of a specification; location counts a quarter beyond axis 0."""
    n, d, p = spec["n"], spec["d"], spec["parameters"]
    point = np.arange(n, dtype=np.uint64) * np.uint64(d)
    x = np.empty((n, d))
    for axis in range(d):
        weight = 1.0 if axis == 0 else 0.25
        index = point + np.uint64(axis)
        if spec["kind"] == "normal":  # mean, sd
            x[:, axis] = p[0] * weight + p[1] * bell(spec["seed"], index)
        elif spec["kind"] == "modes":  # mass on the left, left, right, sd
            centre = np.where(uniform(spec["seed"], point, 12) < p[0], p[1], p[2])
            x[:, axis] = centre * weight + p[3] * bell(spec["seed"], index)
        elif spec["kind"] == "uniform":  # low, high
            x[:, axis] = p[0] * weight + (p[1] - p[0]) * uniform(spec["seed"], index, 0)
        elif spec["kind"] == "ratio":  # scale; heavy tails
            u = uniform(spec["seed"], index, 12)
            x[:, axis] = p[0] * bell(spec["seed"], index) / (u + 0.001)
        else:
            raise ValueError(spec["kind"])
    return x.astype(np.float32)


def spec(kind, n, d, seed, *parameters):
    return {"kind": kind, "n": n, "d": d, "seed": seed, "parameters": list(parameters)}


PAIRS = {
    "1D normal, 100": (spec("normal", 100, 1, 1, 0.0, 1.0), spec("normal", 100, 1, 2, 0.5, 0.8)),
    "1D unequal sizes": (spec("normal", 1000, 1, 3, 0.0, 1.0), spec("normal", 700, 1, 4, -0.3, 1.3)),
    "1D modes .5 against .6": (spec("modes", 4096, 1, 5, 0.5, -2.0, 2.0, 0.3), spec("modes", 4096, 1, 6, 0.6, -2.0, 2.0, 0.3)),
    "1D far modes .2 against .7": (spec("modes", 2048, 1, 7, 0.2, -6.0, 6.0, 0.2), spec("modes", 2048, 1, 8, 0.7, -6.0, 6.0, 0.2)),
    "1D uniform against normal": (spec("uniform", 4096, 1, 9, -2.0, 2.0), spec("normal", 4096, 1, 10, 0.0, 1.0)),
    "1D same law": (spec("normal", 4096, 1, 11, 0.0, 1.0), spec("normal", 4096, 1, 12, 0.0, 1.0)),
    "1D heavy tails": (spec("ratio", 1024, 1, 13, 0.5), spec("ratio", 1024, 1, 14, 0.4)),
    "1D shifted by 1000": (spec("normal", 300, 1, 15, 0.0, 1.0), spec("normal", 300, 1, 16, 1000.0, 1.0)),
    "1D one point against five": (spec("normal", 1, 1, 17, 0.0, 1.0), spec("normal", 5, 1, 18, 1.0, 1.0)),
    "1D closer than blur": (spec("normal", 200, 1, 19, 0.0, 0.003), spec("normal", 200, 1, 20, 0.01, 0.004)),
    "2D normal, 500": (spec("normal", 500, 2, 21, 0.0, 1.0), spec("normal", 500, 2, 22, 0.4, 0.9)),
    "2D modes .3 against .6": (spec("modes", 4096, 2, 23, 0.3, -2.0, 2.0, 0.4), spec("modes", 4096, 2, 24, 0.6, -2.0, 2.0, 0.4)),
    "2D same law": (spec("normal", 4096, 2, 25, 0.0, 1.0), spec("normal", 4096, 2, 26, 0.0, 1.0)),
    "2D uniform, unequal sizes": (spec("uniform", 1500, 2, 27, -2.0, 2.0), spec("normal", 2000, 2, 28, 0.2, 1.0)),
    "2D heavy tails": (spec("ratio", 800, 2, 29, 0.3), spec("ratio", 900, 2, 30, 0.3)),
    "3D normal": (spec("normal", 400, 3, 31, 0.0, 1.0), spec("normal", 300, 3, 32, 0.4, 0.9)),
    "64D normal": (spec("normal", 256, 64, 33, 0.0, 1.0), spec("normal", 200, 64, 34, 1.0, 1.1)),
    "2D heavier tails": (spec("ratio", 1500, 2, 35, 0.1), spec("ratio", 1200, 2, 36, 0.2)),
    "3D heavy tails": (spec("ratio", 700, 3, 37, 0.3), spec("normal", 600, 3, 38, 0.0, 1.0)),
    "8D normal": (spec("normal", 500, 8, 39, 0.0, 1.0), spec("modes", 400, 8, 40, 0.4, -1.0, 1.0, 0.5)),
    "2D atoms": (spec("modes", 500, 2, 41, 0.5, -2.0, 2.0, 0.0), spec("modes", 400, 2, 42, 0.6, -2.0, 2.0, 0.0)),
    "2D shifted by a million": (spec("normal", 300, 2, 43, 0.0, 1.0), spec("normal", 200, 2, 44, 1e6, 1.0)),
    "3D closer than blur": (spec("normal", 300, 3, 45, 0.0, 0.003), spec("normal", 300, 3, 46, 0.01, 0.004)),
}


def main():
    torch.set_grad_enabled(False)
    cases = []
    for name, (a, b) in PAIRS.items():
        x, y = (torch.from_numpy(cloud(s)).double() for s in (a, b))
        for blur, scaling in ((0.05, 0.5), (0.05, 0.9), (0.2, 0.7)):
            if blur == 0.2 and a["n"] > 1000 or scaling == 0.9 and name == "2D same law":
                continue  # seconds in a test without vector instructions
            loss = geomloss.SamplesLoss("sinkhorn", p=2, blur=blur, scaling=scaling, backend="tensorized")
            cases.append({"name": name, "x": a, "y": b, "blur": blur, "scaling": scaling, "value": loss(x, y).item()})
            print(name, blur, scaling, cases[-1]["value"], file=sys.stderr)
    json.dump({"geomloss": geomloss.__version__, "cases": cases}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
