"""Golden values of R-hat, effective sample sizes and MCSE from the real ArviZ.

    pip install arviz==0.23.4
    python docs/benchmarks/diagnostics_golden.py > data/simulation/diagnostics/testdata/arviz.json

The chains are not stored: they are exact functions of their names (sums, products and
divisions of 53-bit uniforms), which the Go test evaluates again.
"""

import json
import math
import sys

import arviz
import numpy as np
from arviz.stats import diagnostics

MASK = 0xFFFFFFFFFFFFFFFF


def uniform(seed, index, k):
    """Number k < 16 of an index: SplitMix64's finaliser over a counter."""
    z = ((seed << 32) + index * 16 + k) & MASK
    z = (z * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    z = z ^ (z >> 31)
    return (z >> 11) * 2.0**-53


def bell(seed, index):
    """Sum of twelve uniforms minus six: variance one, nearly normal, exact."""
    total = 0.0
    for k in range(12):
        total = total + uniform(seed, index, k)
    return total - 6.0


def chains(kind, number, draws):
    x = np.zeros((number, draws))
    for c in range(number):
        for t in range(draws):
            z = bell(1, c * draws + t)
            if kind == "iid":
                x[c, t] = z
            elif kind == "ar1":
                x[c, t] = (0.9 * x[c, t - 1] if t else 0.0) + z
            elif kind == "alternating":
                x[c, t] = (-0.7 * x[c, t - 1] if t else 0.0) + z
            elif kind == "modes":
                x[c, t] = z + (3.0 if c % 2 else -3.0)
            elif kind == "scales":
                x[c, t] = z * (3.0 if c % 2 else 1.0)
            elif kind == "trend":
                x[c, t] = z + 3.0 * t / draws
            elif kind == "constant":
                x[c, t] = 2.0
            elif kind == "stuck":
                x[c, t] = float(c)
            elif kind == "cauchy":
                x[c, t] = z / bell(2, c * draws + t)
            elif kind == "ties":
                x[c, t] = math.floor(z)
    return x


CASES = [
    ("iid", 4, 250), ("iid", 1, 400), ("iid", 64, 12), ("iid", 3, 101), ("iid", 2, 4),
    ("ar1", 4, 500), ("ar1", 16, 37), ("alternating", 4, 300),
    ("modes", 8, 101), ("scales", 6, 200), ("trend", 4, 200),
    ("constant", 4, 50), ("stuck", 4, 50), ("cauchy", 4, 300), ("ties", 4, 250),
]


def number(v):
    return float(v) if math.isfinite(v) else None


out = []
with np.errstate(all="ignore"):
    for kind, n, draws in CASES:
        x = chains(kind, n, draws)
        out.append({
            "kind": kind, "chains": n, "draws": draws,
            "rhat": number(diagnostics._rhat_rank(x)),
            "ess_bulk": number(diagnostics._ess_bulk(x)),
            "ess_tail": number(diagnostics._ess_tail(x)),
            "mcse_mean": number(diagnostics._mcse_mean(x)),
        })
json.dump({"arviz": arviz.__version__, "cases": out}, sys.stdout, indent=1)
print()
