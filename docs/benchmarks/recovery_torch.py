"""A DistributedDataParallel training on gloo for recovery.py, written like PyTorch's
tutorial on fault tolerance with torchrun: a snapshot every SNAPSHOT_EVERY steps,
loaded at the start. The network and batch are those of vn1d.

    torchrun --nnodes 1 --nproc-per-node 3 --max-restarts 1000 recovery_torch.py DIR

Every rank writes its pid to DIR/pid-RANK, rank 0 a line "time step world" to
DIR/steps after each step.
"""

import os
import pathlib
import sys
import time

import torch
import torch.distributed as dist

from deeponet_torch import DeepONet

FUNCTIONS, SAMPLES, NODES, SNAPSHOT_EVERY = 32, 32, 64, 10


def main():
    directory = pathlib.Path(sys.argv[1])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    (directory / f"pid-{rank}").write_text(str(os.getpid()))
    torch.manual_seed(0)
    network = DeepONet([{"name": f"field{i}", "shape": [NODES]} for i in range(2)])
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4)
    snapshot, step = directory / "snapshot.pt", 0
    if snapshot.exists():
        saved = torch.load(snapshot)
        network.load_state_dict(saved["network"])
        optimizer.load_state_dict(saved["optimizer"])
        step = saved["step"]
    parallel = torch.nn.parallel.DistributedDataParallel(network)
    functions = FUNCTIONS // world
    with open(directory / "steps", "a", buffering=1) as log:
        while True:
            x0, x1 = torch.randn(2, functions, SAMPLES, 1)
            t = torch.rand(functions, SAMPLES)
            x = (1 - t[..., None]) * x0 + t[..., None] * x1
            fields = [torch.randn(functions, NODES) for _ in range(2)]
            optimizer.zero_grad()
            ((parallel(fields, x, t) - (x1 - x0)) ** 2).mean().backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            step += 1
            if rank == 0:
                log.write(f"{time.time()} {step} {world}\n")
                if step % SNAPSHOT_EVERY == 0:
                    torch.save({"network": network.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, f"{snapshot}.tmp")
                    os.replace(f"{snapshot}.tmp", snapshot)


if __name__ == "__main__":
    main()
