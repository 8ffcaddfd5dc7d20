"""Writes far.json: samples far from 0 in float64, with their distances by NumPy and SciPy.

W2 in one dimension is of the sorted samples, in the plane of SciPy's optimal assignment; KS and its p-value are
SciPy's; the Sinkhorn divergence iterates the three problems in float64 about the common mean until they converge."""

import json
import pathlib

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import logsumexp
from scipy.stats import ks_2samp


def cost(x, y):
    return 0.5 * ((x[:, None, :] - y[None, :, :]) ** 2).sum(-1)


def dual(x, y, eps):
    c = cost(x, y)
    f, g = np.zeros(len(x)), np.zeros(len(y))
    for _ in range(20_000):
        new = -eps * logsumexp((g[None, :] - c) / eps, axis=1, b=1 / len(y))
        change = abs(new - f).max()
        f = new
        g = -eps * logsumexp((f[:, None] - c) / eps, axis=0, b=1 / len(x))
        if change < 1e-13 * eps:
            break
    return f.mean() + g.mean()


def sinkhorn(x, y, blur):
    eps = blur**2
    return dual(x, y, eps) - 0.5 * dual(x, x, eps) - 0.5 * dual(y, y, eps)


def case(name, x, y, blur):
    centre = np.concatenate([x, y]).mean(0)
    a, b = x - centre, y - centre
    out = {"name": name, "dimension": x.shape[1], "x": x.ravel().tolist(), "y": y.ravel().tolist(), "blur": blur,
           "sinkhorn_converged": sinkhorn(a, b, blur)}
    if x.shape[1] == 1:
        out["w2"] = float(np.sqrt(((np.sort(x[:, 0]) - np.sort(y[:, 0])) ** 2).mean()))
        out["ks"], out["ks_p"] = map(float, ks_2samp(x[:, 0], y[:, 0], method="exact"))
    else:
        c = 2 * cost(a, b)
        out["w2"] = float(np.sqrt(c[linear_sum_assignment(c)].mean()))
    return out


r = np.random.default_rng(29)
z = r.standard_normal((4, 120, 2))
line = lambda k: z[k, :, :1]
cases = [
    case("line, far", 1e6 + 1e-3 * line(0), 1e6 + 1e-3 * (line(1) + 0.3), 3e-4),
    case("line, shifted", 1e6 + 1e-3 * line(0), 1e6 + 1e-3 * (line(0) + 0.3), 3e-4),
    case("plane, far on one axis", z[0] * [1e-3, 1e-3] + [-1e6, 0], (z[1] + 0.3) * [1e-3, 1e-3] + [-1e6, 0], 3e-4),
    case("plane, scales of each axis", z[2] * [1e-3, 2] + [1e6, 5], (z[3] + 0.3) * [1e-3, 2] + [1e6, 5], 0.5),
    case("line, near", line(2), line(3) + 0.3, 0.3),
]
(pathlib.Path(__file__).parent / "far.json").write_text("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")
