"""The equations that all peers simulate, prepared for stepping: one state step
is x += b(x)Δt + S(x)√Δt ξ with Δt = 0.01, all factors already in the tables.
Tables are float32 and made only here; euler.c reads them from a file.
"""

import numpy as np

DT = 0.01
FUNCTIONS, CHAINS = 64, 128  # of the line and the plane
PARTICLES, COPIES = 32, 256  # copies: chains of all 32 particles
SIDE = 32  # nodes along each axis of the plane


def line(nodes):
    """data/simulation/simulate/benchmark.go: b = −x + sin 3x, σ = 1 + 0.3 cos x on [−5, 5].

    With u = x·scale + offset clamped to [0, top], cell ⌊u⌋ holds
    (b, b′, σ, σ′): shape [nodes, 4]. The last has no slope.
    """
    x = np.linspace(-5, 5, nodes)
    b, s = DT * (-x + np.sin(3 * x)), DT**0.5 * (1 + 0.3 * np.cos(x))
    cells = np.stack([b, np.append(np.diff(b), 0), s, np.append(np.diff(s), 0)], 1)
    scale = (nodes - 1) / 10
    return {"scale": scale, "offset": 5 * scale, "top": nodes - 1, "noise": 0.0, "cells": cells.astype(np.float32)}


def plane(full):
    """data/simulation/simulate/benchmark.go: b = (−x + sin 2y, −y + sin 2x) on [−5, 5]², 32×32 nodes, bilinear; S = √2·I, or
    full, (1 + 0.3 cos x, 0.3 sin y; 0.3 sin x, 1 + 0.3 cos y).

    u = x·scale + offset is clamped to [0, top] with top just below the last node.
    Values at nodes: shape [y, x, 2] or, with S row by row and two zeros, [y, x, 8].
    """
    x, y = np.meshgrid(*2 * [np.linspace(-5, 5, SIDE)])
    terms = [DT * (-x + np.sin(2 * y)), DT * (-y + np.sin(2 * x))]
    if full:
        s = [1 + 0.3 * np.cos(x), 0.3 * np.sin(y), 0.3 * np.sin(x), 1 + 0.3 * np.cos(y)]
        terms += [DT**0.5 * v for v in s] + 2 * [np.zeros_like(x)]
    scale = (SIDE - 1) / 10
    return {"scale": scale, "offset": 5 * scale, "top": SIDE - 1 - 1e-5, "noise": (2 * DT) ** 0.5,
            "cells": np.stack(terms, -1).astype(np.float32)}


def particles():
    """Trap −x, pair force f(r²)(xᵢ−xⱼ) with f = 2 exp(−r²) up to r² = 16, noise √(1/2).

    With u = r²·scale clamped to [0, top], cell ⌊u⌋ holds (f, f′): shape [65, 2],
    the last zero.
    """
    f = DT * 2 * np.exp(-np.linspace(0, 16, 65))
    f[-1] = 0
    return {"scale": 4.0, "offset": -DT, "top": 64, "noise": (0.5 * DT) ** 0.5,
            "cells": np.stack([f, np.append(np.diff(f), 0)], 1).astype(np.float32)}


def named(system, nodes):
    """The problem with this name on the command line."""
    if system == "line":
        return line(nodes)
    if system == "particles":
        return particles()
    return plane(system == "plane-full")


def amount(system):
    """One step of all chains in the unit of the rate: steps of chains, or unordered
    pairs."""
    if system == "particles":
        return COPIES * PARTICLES * (PARTICLES - 1) // 2
    return FUNCTIONS * CHAINS
