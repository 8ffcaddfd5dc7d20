"""Golden costs of optimal assignments from SciPy and POT.

    pip install numpy scipy pot==0.9.7.post1
    python docs/benchmarks/assignment_golden.py > model/training/assignment/testdata/golden.json

Costs are squared distances in float64. The clouds are not stored: they are
exact functions of the specification written beside each value, which the Go
test evaluates again (clouds_test.go).
"""

import json
import sys

import numpy as np
import ot
import scipy
from scipy.optimize import linear_sum_assignment

KINDS = ["uniform", "lattice", "clusters", "unequal", "outlier", "heavy", "far", "same"]


def uniform(seed, index, k):
    """Number k < 4 of every index: SplitMix64's finaliser over a counter."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed << 32) + index * np.uint64(4) + np.uint64(k)
        z = z * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(11)).astype(np.float64) * 2.0**-53


def cloud(kind, n, d, seed, second):
    """Points (n, d), float32."""
    seed = 2 * seed + second
    point = np.arange(n, dtype=np.uint64)[:, None]
    index = point * np.uint64(d) + np.arange(d, dtype=np.uint64)[None, :]
    u = uniform(seed, index, 0)
    if kind == "lattice":
        u = np.floor(8 * u)
    elif kind == "clusters":
        u = 1000.0 * (point % np.uint64(4)).astype(np.float64) + u
    elif kind == "unequal":
        u = np.where(uniform(seed, point * np.uint64(d), 1) < 0.4, 1000.0, 0.0) + u
    elif kind == "outlier":
        u[n // 2] = 1e15
    elif kind == "heavy":
        u = (u - 0.5) / (uniform(seed, index, 1) + 0.001)
    elif kind == "far":
        u = u + 1e6 * second
    elif kind == "same":
        u = np.full_like(u, 3.0 if second else 0.25)
    return u.astype(np.float32)


def case(kind, n, d, seed):
    x, y = (cloud(kind, n, d, seed, second).astype(np.float64) for second in (0, 1))
    costs = ((x[:, None] - y[None]) ** 2).sum(2)
    rows, columns = linear_sum_assignment(costs)
    least = costs[rows, columns].sum()
    weights = np.full(n, 1 / n)
    plan = ot.emd(weights, weights, costs, numItermax=10_000_000)
    return {"kind": kind, "n": n, "d": d, "seed": seed, "scipy": least, "pot": n * (plan * costs).sum()}


def main():
    cases = [case(kind, n, d, 7 * n + d) for kind in KINDS for n, d in [(2, 2), (7, 5), (32, 2), (64, 2), (64, 16), (128, 2), (300, 3)]]
    cases.append(case("uniform", 512, 2, 1))
    for c in cases:
        if abs(c["scipy"] - c["pot"]) > 1e-9 * c["scipy"]:
            print(f"the peers differ: {c}", file=sys.stderr)
    versions = {"scipy": scipy.__version__, "pot": ot.__version__}
    print(json.dumps({"versions": versions, "cases": []})[:-3] + "[")
    print(",\n".join(json.dumps(c) for c in cases) + "\n]}")


if __name__ == "__main__":
    main()
