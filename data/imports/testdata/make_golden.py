"""Writes equations and samples in the forms that `ergoflow shards import` reads, with numpy
2.4 and safetensors 0.8 alone. docs/formats.md describes them.

    python make_golden.py [DIRECTORY]

Ornstein-Uhlenbeck equations dX = -k (X - m) dt + s dW have the law N(m, s^2 / 2k).
"""

import json
import pathlib
import sys

import numpy as np
from safetensors.numpy import save_file

here = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
rng = np.random.default_rng(1)
functions, samples = 5, 64
rate = rng.uniform(0.5, 2, functions)
mean = rng.uniform(-1, 1, functions)
noise = rng.uniform(0.5, 1.5, functions)
x = mean[:, None] + noise[:, None] / np.sqrt(2 * rate)[:, None] * rng.standard_normal((functions, samples))

for name in "fields", "formulas", "arrays", "plane":
    (here / name).mkdir(parents=True, exist_ok=True)

# Fields of vn1d: drift and diffusion at its 64 nodes.
grid = {"lo": -5, "hi": 5, "nodes": 64}
nodes = np.linspace(grid["lo"], grid["hi"], grid["nodes"])
drift = -rate[:, None] * (nodes - mean[:, None])
diffusion = np.repeat(noise[:, None], len(nodes), axis=1)
save_file(
    {
        "drift": drift.astype(np.float32),  # [functions, nodes]
        "diffusion": diffusion.astype(np.float32),
        "samples": x[:, :, None].astype(np.float32),  # [functions, samples, dimension]
    },
    here / "fields" / "ou.safetensors",
    metadata={"family": "vn1d", "grid": json.dumps(grid)},
)

# The same equations as formulas, in the metadata.
equations = [
    {"drift": f"-{k!r}*(x - ({m!r}))", "diffusion": repr(s)}
    for k, m, s in zip(rate.tolist(), mean.tolist(), noise.tolist())
]
save_file(
    {"samples": x.astype(np.float64)},  # on the line the last axis may be left out
    here / "formulas" / "ou.safetensors",
    metadata={"equations": json.dumps(equations)},
)

# Arrays of numpy: the samples, and formulas in JSON beside them; or fields.
np.save(here / "arrays" / "formulas.npy", x[:3, :, None].astype(np.float32))
(here / "arrays" / "formulas.json").write_text(json.dumps({"equations": equations[:3]}, indent=1) + "\n")
np.save(here / "arrays" / "fields.npy", x[3:].astype(np.float16))
np.save(here / "arrays" / "fields.drift.npy", drift[3:].astype(">f8"))
np.save(here / "arrays" / "fields.diffusion.npy", diffusion[3:])
(here / "arrays" / "fields.yaml").write_text("family: vn1d\ngrid: {lo: -5, hi: 5, nodes: 64}\n")

# The plane: cn2d has the diffusion sqrt(2) I everywhere, so that it is no field.
y = rng.standard_normal((2, samples, 2)) / np.sqrt(rate[:2])[:, None, None]
np.save(here / "plane" / "wells.npy", y.astype(np.float32))
wells = [{"drift": [f"-{k!r}*x", f"-{k!r}*y"], "diffusion": "sqrt(2)"} for k in rate[:2].tolist()]
(here / "plane" / "wells.json").write_text(json.dumps({"equations": wells}, indent=1) + "\n")
