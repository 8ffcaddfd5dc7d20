"""Golden values of Pareto-smoothed importance weights from the real ArviZ.

    pip install arviz==0.23.4
    python docs/benchmarks/psis_golden.py > model/sampling/weights/testdata/arviz.json

The weights are not stored: the logarithm of weight i of n is
exponent·(−log((i·φ + ½/n) mod 1)) for the golden ratio φ, so weights are uᵢ^(−exponent), which
the Go test evaluates again.
"""

import json
import math
import sys

import arviz
import numpy as np

PHI = 0.6180339887498949

cases = []
for exponent in (0.0, 0.1, 0.3, 0.5, 0.7, 1.0, 1.5):
    for n in (10, 25, 100, 4096):
        u = np.array([math.fmod(i * PHI + 0.5 / n, 1.0) for i in range(n)])
        logs = -exponent * np.log(u)
        smoothed, k = arviz.psislw(logs.copy())
        smoothed = np.asarray(smoothed)
        cases.append({
            "exponent": exponent, "n": n, "k": None if math.isinf(k) else float(k),
            "largest": float(np.exp(smoothed.max())), "ess": float(1 / np.exp(2 * smoothed).sum()),
        })
json.dump({"arviz": arviz.__version__, "cases": cases}, sys.stdout, indent=1)
print()
