"""Compares `ergoflow simulate`, chains of equations given as formulas, with JAX and
numba in one sitting. Each round times all in turn; the table has medians of the
rounds, and the median, least and largest ratio of a round's rates.

    make bench-peers        (or: .venv/bin/python docs/benchmarks/formulas.py)

All run on one processor and are timed by processor time instead of wall time, so that
other programs on the machine matter less. ergoflow's time is the difference to a run
of a hundred steps; the times of JAX and numba exclude compilation. JAX scans over
steps of 8,192 chains with its default generator; numba compiles loops over chains and
steps, with fastmath. ergoflow and numba compute in float64; JAX in float32, its
default, and in float64.
"""

import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import tempfile
import time

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # spinning threads would count as processor time

import jax
import jax.numpy as jnp
import numba
import numpy as np

HERE = pathlib.Path(__file__).parent
BINARY = HERE.parent.parent / "bin" / "ergoflow"
DT = 0.01

# Drift and diffusion for ergoflow, and for Python with functions from m.
EQUATIONS = [
    ("x-x^3", "0.7", "x - x*x*x", "0.7"),
    ("-x", "sqrt(1+x^2)", "-x", "m.sqrt(1 + x*x)"),
    ("x > 0 ? -1 : 1", "1", "m.where(x > 0, -1.0, 1.0)", "1.0"),
    ("-x", "exp(-x*x)", "-x", "m.exp(-x*x)"),
    ("-sin(3*x)-x", "1", "-m.sin(3*x) - x", "1.0"),
    ("-tanh(x)", "sqrt(2)", "-m.tanh(x)", "2**0.5"),
    ("-x", "log(2+x*x)", "-x", "m.log(2 + x*x)"),
]


def children():
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.ru_utime + r.ru_stime


def simulate(engine, drift, diffusion, steps, chains):
    with tempfile.TemporaryDirectory() as d:
        command = [BINARY, "simulate", f"--drift={drift}", f"--diffusion={diffusion}", f"--dt={DT}", f"--steps={steps}",
                   f"--chains={chains}", "--burn-in=0", "--thin=100", f"--engine={engine}", f"--output={d}/x.npy"]
        return subprocess.run(command, env=dict(os.environ, GOMAXPROCS="1"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode


def available():
    """The engines of this machine, fastest first."""
    return [e for e in ("avx512", "avx2", "go") if simulate(e, "-x", "1", 100, 1) == 0]


def ergoflow(engine, drift, diffusion, steps=400_000, chains=64):
    def seconds(n):
        start = children()
        assert simulate(engine, drift, diffusion, n, chains) == 0
        return children() - start

    return chains * (steps - 100) / (seconds(steps) - seconds(100))


def jax_rate(drift, diffusion, dtype, steps=1000, chains=8192):
    m = jnp
    b, s = eval(f"lambda x: {drift}", {"m": m}), eval(f"lambda x: {diffusion}", {"m": m})

    def step(x, key):
        z = jax.random.normal(key, (chains,), dtype)
        return (x + b(x) * DT + s(x) * DT**0.5 * z).astype(dtype), None

    run = jax.jit(lambda key, x: jax.lax.scan(step, x, jax.random.split(key, steps))[0])
    x = jnp.zeros(chains, dtype)
    run(jax.random.key(0), x).block_until_ready()
    start = time.process_time()
    run(jax.random.key(1), x).block_until_ready()
    return chains * steps / (time.process_time() - start)


def numba_rate(drift, diffusion, steps=500, chains=8192):
    code = f"""
def run(x, steps):
    for i in range(len(x)):
        v = x[i]
        for _ in range(steps):
            v += b(v) * {DT} + s(v) * {DT**0.5} * np.random.normal()
        x[i] = v
"""
    python = {"m.where(x > 0, -1.0, 1.0)": "-1.0 if x > 0 else 1.0"}  # numba's where is for arrays
    scope = {"np": np, "m": np}
    for name, formula in (("b", drift), ("s", diffusion)):
        scope[name] = numba.njit(fastmath=True)(eval(f"lambda x: {python.get(formula, formula)}", {"m": np}))
    exec(code, scope)
    run = numba.njit(fastmath=True)(scope["run"])
    x = np.zeros(chains)
    run(x, 2)
    start = time.process_time()
    run(x, steps)
    return chains * steps / (time.process_time() - start)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=3)
    o = options.parse_args()
    jax.config.update("jax_enable_x64", True)
    engines = available()
    print("| drift, diffusion | " + " | ".join(engines) + " | JAX f32 | JAX f64 | numba | "
          f"{engines[0]} / JAX f32 | / JAX f64 | / numba |")
    print("|---" * (len(engines) + 7) + "|")
    for drift, diffusion, b, s in EQUATIONS:
        rates = {}
        for _ in range(o.rounds):
            for e in engines:
                rates.setdefault(e, []).append(ergoflow(e, drift, diffusion))
            rates.setdefault("f32", []).append(jax_rate(b, s, jnp.float32))
            rates.setdefault("f64", []).append(jax_rate(b, s, jnp.float64))
            rates.setdefault("numba", []).append(numba_rate(b, s))

        def ratio(peer):
            r = [a / p for a, p in zip(rates[engines[0]], rates[peer])]
            return f"{statistics.median(r):.1f} ({min(r):.1f}–{max(r):.1f})"

        row = [f"{statistics.median(v) / 1e6:.0f}" for v in rates.values()] + [ratio(p) for p in ("f32", "f64", "numba")]
        print(f"| `{drift}`, `{diffusion}` | " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
