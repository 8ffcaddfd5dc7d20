"""Euler–Maruyama in JAX: jit, lax.scan over steps, chains shared by as many
virtual devices as there are threads (faster than one device that uses both cores).

There are two variants, because the generator dominates: "jax.random" draws the normals of a
step by jax.random.normal from a folded key, the usual way; "fused" computes
Threefry-2x32 of (chain, step) and the inverse error function inside the step, so
that XLA makes one loop of generator and step. Others were slower: rbg keys,
windows of noise, one key split per step, Box–Muller, xoshiro128+ in the carry,
tables in rows of four.
"""

import argparse
import os

options = argparse.ArgumentParser()
options.add_argument("--system", required=True)
options.add_argument("--nodes", type=int, default=0)
options.add_argument("--threads", type=int, default=2)
options.add_argument("--steps", type=int, default=400, help="in one call")
o = options.parse_args()
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={o.threads}"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

import problem  # noqa: E402
from serve import serve  # noqa: E402

P = problem.named(o.system, o.nodes)
F = np.float32


def clamped(x):
    """The cell of x and the position in it."""
    u = jnp.clip(x * F(P["scale"]) + F(P["offset"]), 0, F(P["top"]))
    i = u.astype(jnp.int32)
    return i, u - i


def at(column, i):
    return column.at[i].get(mode="promise_in_bounds")


# A state is a tuple of coordinates; steps take it and as many normals of its shape.


def line(x, z, cells):
    i, d = clamped(x[0])
    b, db, s, ds = (at(cells[:, k], i) for k in range(4))
    return (x[0] + (b + d * db) + (s + d * ds) * z[0],)


def plane(x, z, cells):
    (i, d), (j, e) = clamped(x[0]), clamped(x[1])
    corner, flat = j * problem.SIDE + i, cells.reshape(problem.SIDE**2, -1)

    def value(k):
        v00, v10, v01, v11 = (at(flat[:, k], corner + n) for n in (0, 1, problem.SIDE, problem.SIDE + 1))
        low, high = v00 + d * (v10 - v00), v01 + d * (v11 - v01)
        return low + e * (high - low)

    if flat.shape[1] == 2:
        return tuple(x[k] + value(k) + F(P["noise"]) * z[k] for k in range(2))
    return tuple(x[k] + value(k) + value(2 + 2 * k) * z[0] + value(3 + 2 * k) * z[1] for k in range(2))


def particles(x, z, cells):
    """Coordinates of shape [32, chains]. All pairs both ways: faster than
    scattering each pair's force to both."""
    difference = [c[:, None] - c[None] for c in x]
    u = jnp.minimum((difference[0] ** 2 + difference[1] ** 2) * F(P["scale"]), F(P["top"]))
    i = u.astype(jnp.int32)
    f = at(cells[:, 0], i) + (u - i) * at(cells[:, 1], i)
    return tuple(x[k] + (f * difference[k]).sum(1) + F(P["offset"]) * x[k] + F(P["noise"]) * z[k] for k in range(2))


LANES = problem.FUNCTIONS * problem.CHAINS
STEP, SHAPE = {
    "line": (line, (1, LANES)),
    "plane": (plane, (2, LANES)),
    "plane-full": (plane, (2, LANES)),
    "particles": (particles, (2, problem.PARTICLES, problem.COPIES)),
}[o.system]


def threefry(key, a, b):
    """Threefry-2x32 with 20 rounds (Salmon et al. 2011), elementwise."""
    keys = (key[0], key[1], key[0] ^ key[1] ^ np.uint32(0x1BD11BDA))
    a, b = a + keys[0], b + keys[1]
    for group in range(5):
        for r in ((13, 15, 26, 6), (17, 29, 16, 24))[group % 2]:
            a = a + b
            b = ((b << r) | (b >> (32 - r))) ^ a
        a, b = a + keys[(group + 1) % 3], b + keys[(group + 2) % 3] + np.uint32(group + 1)
    return a, b


def normal(bits):
    u = ((bits >> 9).astype(jnp.int32).astype(jnp.float32) + F(0.5)) * F(2**-22) - 1
    return F(2**0.5) * jax.lax.erf_inv(u)


def by_library(x, key, cells):
    def body(x, n):
        z = jax.random.normal(jax.random.fold_in(key, n), (len(x),) + x[0].shape)
        return STEP(x, z, cells), None

    return jax.lax.scan(body, x, jnp.arange(o.steps))[0]


def fused(x, key, cells):
    words = jax.random.key_data(key)
    lane = jnp.arange(x[0].size, dtype=jnp.uint32).reshape(x[0].shape)

    def body(x, n):
        z = [normal(bits) for bits in threefry(words, lane, jnp.full_like(lane, n))]
        if len(x) == 1:  # two steps: Threefry gives two numbers
            return STEP(STEP(x, z[:1], cells), z[1:], cells), None
        return STEP(x, z, cells), None

    return jax.lax.scan(body, x, jnp.arange(o.steps * len(x) // 2, dtype=jnp.uint32))[0]


MESH = Mesh(np.array(jax.devices()), ("core",))
SHARED, KEYS = PartitionSpec(), PartitionSpec("core")
SPLIT = PartitionSpec(*(len(SHAPE) - 2) * [None], "core")  # of one coordinate


def variant(simulate):
    def place(array, spec):
        return jax.device_put(array, NamedSharding(MESH, spec))

    run = jax.jit(jax.shard_map(lambda x, keys, cells: simulate(x, keys[0], cells), mesh=MESH,
                                in_specs=(SPLIT, KEYS, SHARED), out_specs=SPLIT, check_vma=False))
    start = jax.random.normal(jax.random.key(1), SHAPE)
    state = {"x": tuple(place(c, SPLIT) for c in start), "calls": 0}
    cells = place(jnp.asarray(P["cells"]), SHARED)

    def work():
        keys = place(jax.random.split(jax.random.key(state["calls"]), o.threads), KEYS)
        x = state["x"] = jax.block_until_ready(run(state["x"], keys, cells))
        state["calls"] += 1
        return problem.amount(o.system) * o.steps, float(np.mean(np.asarray(x, np.float64) ** 2))

    return work


serve({"jax.random": variant(by_library), "fused": variant(fused)}, {"jax": jax.__version__})
