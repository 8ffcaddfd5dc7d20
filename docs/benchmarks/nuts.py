"""Compares a model of anyd that learned posteriors of Bayesian logistic regression
(docs/families/logistic_posterior.yaml) with BlackJAX's NUTS and with Laplace's
approximation: distance from the posterior against the time for each posterior.

    ergoflow run anyd --preset demo --set data.family=docs/families/logistic_posterior.yaml
    .venv/bin/pip install blackjax==1.7.1
    .venv/bin/python docs/benchmarks/nuts.py

Posteriors are new: their observations are drawn here, from the family's laws. The
reference of each is a long run of NUTS, the floor another one. Distances are those of
`ergoflow metrics`, in the reference's deviation along each axis, between equally many
samples of both.

All have one thread. NUTS is compiled once, which is not timed, and runs its chains
side by side; its time is that of the adaptation of all chains and of the draws.
ergoflow's is `seconds` of `ergoflow sample` for all posteriors in one request, which
has the closure and the probes of each equation, and not the start of the program.
"""

import argparse
import functools
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

# Before jax is imported.
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["GOMAXPROCS"] = "1"
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize

BINARY = pathlib.Path(__file__).parent.parent.parent / "bin" / "ergoflow"
DIM = 8
CHAINS = 64
SAMPLES = 1024  # compared with as many of the reference
BUDGETS = [(20, 16), (50, 16), (100, 16), (200, 16), (500, 16)]  # steps of adaptation, draws of each chain
LONG = (1000, 64)


def posterior(seed):
    """Rows of observations whose answer is 1, those whose answer is 0, and the prior's precision."""
    r = np.random.default_rng(seed)
    return r.normal(0.5, 1, (DIM, DIM)), r.normal(-0.5, 1, (DIM, DIM)), r.uniform(0.5, 2)


def log_density(x, v, w, precision):
    """Up to a constant."""
    return -precision * x @ x / 2 - jnp.logaddexp(0, -v @ x).sum() - jnp.logaddexp(0, w @ x).sum()


def formulas(v, w, precision):
    """Langevin dynamics in the posterior, as `ergoflow sample --equations` reads it."""

    def logit(row):
        return "(" + "+".join(f"({a!r})*x[{j}]" for j, a in enumerate(row.tolist())) + ")"

    def component(i):
        terms = [f"-({precision!r})*x[{i}]"]
        terms += [f"({float(row[i])!r})/(1+exp({logit(row)}))" for row in v]
        terms += [f"({float(-row[i])!r})/(1+exp(-{logit(row)}))" for row in w]
        return "+".join(terms)

    return {"drift": [component(i) for i in range(DIM)], "diffusion": "sqrt(2)"}


@functools.partial(jax.jit, static_argnums=(0, 1))
def nuts(warmup, draws, key, v, w, precision):
    """Draws [CHAINS·draws, DIM] of chains from N(0, I), each with an adaptation of its own."""

    def chain(key):
        density = functools.partial(log_density, v=v, w=w, precision=precision)
        start, adapt, sample = jax.random.split(key, 3)
        (state, tuned), _ = blackjax.window_adaptation(blackjax.nuts, density).run(
            adapt, jax.random.normal(start, (DIM,)), num_steps=warmup)
        step = blackjax.nuts(density, **tuned).step

        def move(state, key):
            state, _ = step(key, state)
            return state, state.position

        return jax.lax.scan(move, state, jax.random.split(sample, draws))[1]

    return jax.vmap(chain)(jax.random.split(key, CHAINS)).reshape(-1, DIM)


def laplace(seed, v, w, precision):
    """Samples of the normal law at the mode."""
    density = jax.jit(functools.partial(log_density, v=v, w=w, precision=precision))
    mode = scipy.optimize.minimize(lambda x: -density(x), np.zeros(DIM), jac=lambda x: -jax.grad(density)(x)).x
    hessian = np.asarray(jax.hessian(density)(mode), np.float64)
    return np.random.default_rng(seed).multivariate_normal(mode, np.linalg.inv(-(hessian + hessian.T) / 2), SAMPLES)


def model(checkpoint, posteriors, repair):
    """Samples [posteriors, SAMPLES, DIM], seconds for each posterior, and verdicts of the certificate."""
    with tempfile.TemporaryDirectory() as d:
        pathlib.Path(d, "equations.json").write_text(json.dumps([formulas(*p) for p in posteriors]))
        out = subprocess.run([BINARY, "sample", "--checkpoint", checkpoint, f"--equations={d}/equations.json", f"--samples={SAMPLES}",
                              f"--repair={repair}", "--json", f"--output={d}/x.npy"], check=True, stdout=subprocess.PIPE)
        answer = json.loads(out.stdout)
        verdicts = [e["certificate"]["verdict"] for e in answer["equations"]]
        return np.load(f"{d}/x.npy"), answer["seconds"] / len(posteriors), verdicts


def distance(x, y, scale):
    """Sliced W2 in units of scale."""
    with tempfile.TemporaryDirectory() as d:
        for name, samples in (("x", x), ("y", y)):
            np.save(f"{d}/{name}.npy", np.asarray(samples / scale, np.float32))
        out = subprocess.run([BINARY, "metrics", f"{d}/x.npy", f"{d}/y.npy"], check=True, stdout=subprocess.PIPE)
        return json.loads(out.stdout)["sliced_w2"]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--checkpoint", default="ergoflow-runs/anyd-demo")
    options.add_argument("--posteriors", type=int, default=32)
    o = options.parse_args()

    posteriors = [posterior(seed) for seed in range(o.posteriors)]
    thinned = slice(None, None, CHAINS * LONG[1] // SAMPLES)
    long = [[np.asarray(nuts(*LONG, jax.random.key(2 * i + k), *p)) for k in range(2)] for i, p in enumerate(posteriors)]
    distances, seconds = {}, {}

    def score(name, i, samples, took=None):
        reference = long[i][0]
        distances.setdefault(name, []).append(distance(samples, reference[thinned], reference.std(axis=0)))
        if took is not None:
            seconds.setdefault(name, []).append(took)

    for repair in ("none", "auto"):
        samples, took, verdicts = model(o.checkpoint, posteriors, repair)
        name = "ergoflow" if repair == "none" else f"ergoflow, --repair={repair}"
        print(name, {v: verdicts.count(v) for v in sorted(set(verdicts))})
        for i, x in enumerate(samples):
            score(name, i, x, took)
    for i, p in enumerate(posteriors):
        score("Laplace", i, laplace(i, *p))
        score("floor: a second run", i, long[i][1][thinned])
    for warmup, draws in BUDGETS:
        nuts(warmup, draws, jax.random.key(0), *posteriors[0]).block_until_ready()
        for i, p in enumerate(posteriors):
            start = time.perf_counter()
            x = nuts(warmup, draws, jax.random.key(10**6 + i), *p).block_until_ready()
            score(f"NUTS, {warmup} + {draws} steps of {CHAINS} chains", i, np.asarray(x), time.perf_counter() - start)

    print("| | seconds for each posterior | sliced W2, mean | median | largest |\n|---|---:|---:|---:|---:|")
    for name, d in distances.items():
        took = f"{statistics.median(seconds[name]):.3f}" if name in seconds else ""
        print(f"| {name} | {took} | {statistics.mean(d):.4f} | {statistics.median(d):.4f} | {max(d):.4f} |")


if __name__ == "__main__":
    main()
