"""Prints the exact p-values of TestExactKS: sizes n and m, the statistic in units of 1/nm, SciPy's p."""

from math import gcd

from scipy.stats._stats_py import _attempt_exact_2kssamp

for n, m, largest in [(5, 5, 20), (10, 10, 60), (1, 1, 1), (7, 5, 10), (7, 5, 18), (20, 9, 144), (3, 100, 150),
                      (150, 100, 4500), (150, 100, 12000), (1000, 1000, 200_000)]:
    _, _, p = _attempt_exact_2kssamp(n, m, gcd(n, m), largest / (n * m), "two-sided")
    print(f"{{{n}, {m}, {largest}, {float(p)!r}}},")
