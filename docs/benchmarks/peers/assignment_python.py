"""Batches of 256 exact assignments, 64 points against 64 in two dimensions, by POT
and SciPy. They receive squared distances precomputed, in float64, and use one thread."""

import argparse

import numpy as np
import ot
import scipy
from scipy.optimize import linear_sum_assignment

from serve import serve

options = argparse.ArgumentParser()
options.add_argument("--threads", type=int, default=1, help="without effect: neither has any")
options.parse_args()
PROBLEMS, POINTS = 256, 64

random = np.random.default_rng(0)
x, y = (random.standard_normal((PROBLEMS, POINTS, 2)) for _ in range(2))
costs = [np.ascontiguousarray(((a[:, None] - b[None]) ** 2).sum(2)) for a, b in zip(x, y)]
weights = np.full(POINTS, 1 / POINTS)


def by_pot():
    return PROBLEMS, sum(POINTS * (ot.emd(weights, weights, c) * c).sum() for c in costs)


def by_scipy():
    return PROBLEMS, sum(c[linear_sum_assignment(c)].sum() for c in costs)


serve({"POT": by_pot, "SciPy": by_scipy}, {"pot": ot.__version__, "scipy": scipy.__version__})
