"""One rank of an all-reduce over PyTorch's Gloo, for allreduce.py. The first line of
standard input is a JSON object with rank, world and the path of the rendezvous file.
Each further line is an object with bytes and rounds: the rank sums zeros of that size
that many times, after a warm-up, and answers the seconds of each as a JSON list.
"""

import json
import pathlib
import sys
import time

import torch
import torch.distributed as dist


def main():
    o = json.loads(sys.stdin.readline())
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.FileStore(str(pathlib.Path(o["meet"])), o["world"]),
                            rank=o["rank"], world_size=o["world"])
    check = torch.full((5000,), float(o["rank"] + 1))
    dist.all_reduce(check)
    assert (check == o["world"] * (o["world"] + 1) / 2).all()
    print(json.dumps(torch.__version__), flush=True)
    for line in sys.stdin:
        ask = json.loads(line)
        v = torch.zeros(ask["bytes"] // 4)
        for _ in range(max(3, ask["rounds"] // 10)):
            dist.all_reduce(v)
        times = []
        for _ in range(ask["rounds"]):
            start = time.perf_counter()
            dist.all_reduce(v)
            times.append(time.perf_counter() - start)
        print(json.dumps(times), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
