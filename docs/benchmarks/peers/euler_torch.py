"""Euler–Maruyama on the line in PyTorch: 16 steps compiled into one kernel, their
normals from one normal_(). normal_ and small kernels gain nothing from threads
within an operation, so chains are shared by as many Python threads, each with a
generator of its own.
"""

import argparse
from concurrent.futures import ThreadPoolExecutor

import torch

import problem
from serve import serve

options = argparse.ArgumentParser()
options.add_argument("--system", choices=["line"], required=True)
options.add_argument("--nodes", type=int, default=64)
options.add_argument("--threads", type=int, default=2)
o = options.parse_args()

BLOCK, BLOCKS = 16, 20
P = problem.line(o.nodes)
B, DB, S, DS = (torch.from_numpy(c.copy()) for c in P["cells"].T)


def block(x, z):
    for k in range(BLOCK):
        u = (x * P["scale"] + P["offset"]).clamp(0, P["top"])
        i = u.to(torch.int32)
        d = u - i
        x = x + (B[i] + d * DB[i]) + (S[i] + d * DS[i]) * z[k]
    return x


torch.set_num_threads(1)
torch.set_grad_enabled(False)
compiled = torch.compile(block)
chains = problem.FUNCTIONS * problem.CHAINS // o.threads
states = [torch.randn(chains) for _ in range(o.threads)]
generators = [torch.Generator().manual_seed(t) for t in range(o.threads)]
pool = ThreadPoolExecutor(o.threads, initializer=lambda: (torch.set_num_threads(1), torch.set_grad_enabled(False)))


def simulate(t):
    x, z = states[t], torch.empty(BLOCK, chains)
    for _ in range(BLOCKS):
        x = compiled(x, z.normal_(generator=generators[t]))
    states[t] = x


def work():
    list(pool.map(simulate, range(o.threads)))
    return BLOCK * BLOCKS * chains * o.threads, torch.cat(states).double().square().mean().item()


simulate(0)  # compiles
serve({"compiled": work}, {"torch": torch.__version__})
