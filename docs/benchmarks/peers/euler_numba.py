"""Euler–Maruyama on the line in Numba: chains in groups of 64 shared by prange,
xoshiro128+ and Box–Muller by the polynomials of noise.h (which names their
sources), loops over lanes that LLVM vectorizes. NumPy's generator inside Numba is
about seven times slower.
"""

import argparse

import numba
import numpy as np
from llvmlite import ir
from numba import njit, prange, types
from numba.extending import intrinsic

import problem
from serve import serve

options = argparse.ArgumentParser()
options.add_argument("--system", choices=["line"], required=True)
options.add_argument("--nodes", type=int, default=64)
options.add_argument("--threads", type=int, default=2)
o = options.parse_args()
numba.set_num_threads(o.threads)

LANES, WINDOW, STEPS = 64, 16, 320
F, I, U = np.float32, np.int32, np.uint32


@intrinsic
def bits(context, x):
    """The bits of a float32."""
    return types.int32(types.float32), lambda c, b, s, a: b.bitcast(a[0], ir.IntType(32))


@intrinsic
def from_bits(context, x):
    return types.float32(types.int32), lambda c, b, s, a: b.bitcast(a[0], ir.FloatType())


@njit(fastmath=True, inline="always")
def logarithm(u):
    i = bits(u)
    e = I(I(i - I(0x3F2AAAAB)) >> I(23))
    f = from_bits(I(i - I(e << I(23)))) - F(1)
    p = F(7.0376836292e-2)
    for c in (F(-1.1514610310e-1), F(1.1676998740e-1), F(-1.2420140846e-1), F(1.4249322787e-1),
              F(-1.6668057665e-1), F(2.0000714765e-1), F(-2.4999993993e-1), F(3.3333331174e-1)):
        p = p * f + c
    return (f - F(0.5) * f * f + p * f * f * f) + F(0.693147181) * F(e)


@njit(inline="always")
def output(s0, s1, s2, s3):
    """One number of xoshiro128+ and the next state."""
    r, t = U(s0 + s3), U(s1 << U(9))
    s2, s3 = U(s2 ^ s0), U(s3 ^ s1)
    s1, s0 = U(s1 ^ s2), U(s0 ^ s3)
    return r, s0, s1, U(s2 ^ t), U(U(s3 << U(11)) | U(s3 >> U(21)))


@njit(fastmath=True)
def normals(a0, a1, a2, a3, z):
    for k in range(0, WINDOW, 2):
        for l in range(LANES):
            r, s0, s1, s2, s3 = output(a0[l], a1[l], a2[l], a3[l])
            w, s0, s1, s2, s3 = output(s0, s1, s2, s3)
            a0[l], a1[l], a2[l], a3[l] = s0, s1, s2, s3
            radius = np.sqrt(F(-2) * logarithm((F(I(r >> U(9))) + F(0.5)) * F(2**-23)))
            a = (F(I(w >> U(8))) * F(2**-24) - F(0.5)) * F(np.pi)
            q = a * a
            cosine = F(1) + q * (F(-1 / 2) + q * (F(1 / 24) + q * (F(-1 / 720) + q * (F(1 / 40320) - q * F(1 / 3628800)))))
            sine = a * (F(1) + q * (F(-1 / 6) + q * (F(1 / 120) + q * (F(-1 / 5040) + q * (F(1 / 362880) - q * F(1 / 39916800))))))
            radius *= F(1) - F(2) * F(I(w & U(1)))
            z[k, l], z[k + 1, l] = radius * cosine, radius * sine


@njit(fastmath=True, parallel=True)
def simulate(x, states, columns, scale, offset, top):
    for group in prange(x.shape[0]):
        s0, s1, s2, s3 = states[group, 0], states[group, 1], states[group, 2], states[group, 3]
        b, db, s, ds = columns[0], columns[1], columns[2], columns[3]
        z, y = np.empty((WINDOW, LANES), F), x[group].copy()
        for _ in range(STEPS // WINDOW):
            normals(s0, s1, s2, s3, z)
            for k in range(WINDOW):
                for l in range(LANES):
                    u = min(max(y[l] * scale + offset, F(0)), top)
                    i = I(u)
                    d = u - F(i)
                    c = U(i)  # unsigned: no test for a negative index
                    y[l] += (b[c] + d * db[c]) + (s[c] + d * ds[c]) * z[k, l]
        x[group] = y


P = problem.line(o.nodes)
columns = np.ascontiguousarray(P["cells"].T)
random = np.random.default_rng(0)
chains = problem.FUNCTIONS * problem.CHAINS
x = random.standard_normal((chains // LANES, LANES)).astype(F)
states = random.integers(0, 2**32, (chains // LANES, 4, LANES), dtype=U)


def work():
    simulate(x, states, columns, F(P["scale"]), F(P["offset"]), F(P["top"]))
    return chains * STEPS, float(np.mean(x.astype(np.float64) ** 2))


serve({"xoshiro": work}, {"numba": numba.__version__})
