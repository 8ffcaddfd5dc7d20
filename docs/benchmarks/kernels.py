"""The kernels that kernels_ratio.py times: ergoflow's command and the peers of each,
and the goals of docs/results/kernels.md."""

from dataclasses import dataclass, field

JAX, JAX_FUSED = "JAX, jax.random", "JAX, fused by hand"


@dataclass
class Kernel:
    name: str
    title: str
    command: str  # of ergoflow bench; its rounds take at least 0.2 s
    what: str  # pattern for "what" in the rows of its output to use
    unit: str  # the rate counts these, or millions of them, per second
    peers: dict = field(default_factory=dict)  # name → (peer's command, variant)
    million: bool = True
    rounds: int = 5

    def shown(self, rate):
        return f"{rate / 1e6:,.0f}" if self.million else f"{rate:,.4g}"


@dataclass
class Goal:
    kernel: str
    engines: list  # the goal is for the first one that was measured
    peer: str | None  # None: the goal is for the rate itself
    least: float
    words: str
    wanted: float | None = None  # stretch goal


def euler(system, nodes=0, own=False):
    """C and JAX; own adds the peers that implement only the line."""
    arguments = f"--system {system} --nodes {nodes} --threads {{threads}}"
    peers = {
        "C": (f"{{c}} {system} {nodes}", "C"),
        JAX: (f"{{python}} euler_jax.py {arguments}", "jax.random"),
        JAX_FUSED: (f"{{python}} euler_jax.py {arguments}", "fused"),
    }
    if own:
        peers["torch"] = (f"{{python}} euler_torch.py {arguments}", "compiled")
        peers["Numba"] = (f"{{python}} euler_numba.py {arguments}", "xoshiro")
    return peers


def sinkhorn(data, d):
    return {"GeomLoss": ("{python} sinkhorn_geomloss.py --threads {threads}", f"{data} {d}D")}


KERNELS = [
    Kernel("line-64", "Euler–Maruyama on the line, 64 nodes", "simulate --system line --nodes 64 --functions 512 --rounds 2",
           "1D Euler–Maruyama, 64 nodes", "chain steps", euler("line", 64, own=True)),
    Kernel("line-256", "Euler–Maruyama on the line, 256 nodes", "simulate --system line --nodes 256 --functions 512 --rounds 2",
           "1D Euler–Maruyama, 256 nodes", "chain steps", euler("line", 256, own=True)),
    Kernel("plane", "Euler–Maruyama in the plane, 32×32 nodes, diffusion √2·I", "simulate --system plane --functions 512 --rounds 2",
           "2D Euler–Maruyama, 32×32 nodes, constant diffusion", "chain steps", euler("plane")),
    Kernel("plane-full", "Euler–Maruyama in the plane, 32×32 nodes, diffusion a matrix at every node",
           "simulate --system plane --functions 512 --rounds 2", "2D Euler–Maruyama, 32×32 nodes, full diffusion", "chain steps", euler("plane-full")),
    Kernel("particles", "Whole steps of 32 particles in the plane: pair forces, noise, move", "simulate --system particles --rounds 2",
           "particle steps, 32 particles", "unordered pairs", euler("particles")),
    Kernel("pair-forces", "Pair forces of 32 particles in the plane, alone", "simulate --system particles --rounds 2",
           "pair forces, 32 particles", "unordered pairs"),
    *[Kernel(f"sinkhorn-{d}", f"Debiased Sinkhorn, 4,096 against 4,096 points in {d}D, normal against two modes",
             "sinkhorn --points 4096 --rounds 2", f"sinkhorn {d}D", "values", sinkhorn("mixture", d), million=False, rounds=3) for d in (1, 2, 3)],
    *[Kernel(f"sinkhorn-{d}-heavy", f"Debiased Sinkhorn, 4,096 against 4,096 points in {d}D, heavy tails",
             "sinkhorn --points 4096 --rounds 2", f"sinkhorn {d}D, heavy tails", "values", sinkhorn("heavy", d), million=False, rounds=3) for d in (1, 2, 3)],
    Kernel("assignment", "Exact assignment, 256 problems of 64×64 in 2D", "assignment --points 64 --problems 256 --dimension 2 --rounds 2",
           "assignment in 2D", "problems",
           {p: ("{python} assignment_python.py", p) for p in ("POT", "SciPy")}, million=False),
]

BEST = ["avx512", "avx2", "go"]
GOALS = [
    Goal("line-64", BEST, JAX, 30, "1D EM, 64 nodes, ≥ 30 × JAX", wanted=45),
    Goal("line-64", BEST, "C", 2.5, "1D EM, 64 nodes, ≥ 2.5 × C"),
    Goal("line-256", BEST, JAX, 20, "1D EM, 256 nodes, ≥ 20 × JAX"),
    Goal("line-64", ["avx2"], JAX, 15, "1D EM, 64 nodes, AVX2, ≥ 15 × JAX"),
    Goal("line-256", ["avx2"], JAX, 15, "1D EM, 256 nodes, AVX2, ≥ 15 × JAX"),
    Goal("line-64", ["go"], JAX, 2.5, "1D EM, 64 nodes, plain Go, ≥ 2.5 × JAX"),
    Goal("line-256", ["go"], JAX, 2.5, "1D EM, 256 nodes, plain Go, ≥ 2.5 × JAX"),
    Goal("plane", BEST, JAX, 15, "2D EM on 32×32 grids, ≥ 15 × JAX"),
    Goal("plane-full", BEST, JAX, 15, "2D EM with full matrices, ≥ 15 × JAX"),
    Goal("pair-forces", BEST, None, 7000e6, "pair forces, n = 32, ≥ 7,000 M unordered pairs/s"),
    Goal("particles", BEST, None, 7000e6, "the same in whole steps, with noise"),
    Goal("sinkhorn-1", BEST, "GeomLoss", 150, "Sinkhorn 4,096² in 1D, ≥ 150 × GeomLoss", wanted=1000),
    Goal("sinkhorn-2", BEST, "GeomLoss", 150, "Sinkhorn 4,096² in 2D, ≥ 150 × GeomLoss"),
    Goal("sinkhorn-3", BEST, "GeomLoss", 80, "Sinkhorn 4,096² in 3D, ≥ 80 × GeomLoss"),
    Goal("sinkhorn-2-heavy", BEST, "GeomLoss", 80, "Sinkhorn 4,096² in 2D on heavy tails, ≥ 80 × GeomLoss"),
    Goal("assignment", BEST, "POT", 5, "assignment 64×64, ≥ 5 × POT per batch of 256"),
]
