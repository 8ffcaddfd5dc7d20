"""Writes golden.json: torch.optim.AdamW under OneCycleLR with clip_grad_norm_.
Made with torch 2.15:

    python golden.py > golden.json
"""

import json
import sys

import torch

torch.set_default_dtype(torch.float64)
golden = {"schedules": [], "updates": []}
for total in (2, 7, 10, 100, 32256):
    p = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.AdamW([p], lr=1e-3, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-3, total_steps=total)
    wanted = {0, 1, 2, 3, 4, 6, 9, 29, 30, 50, 99, 9675, 9676, 9677, 20000, 32255}
    for step in range(total):
        group = optimizer.param_groups[0]
        if step in wanted:
            golden["schedules"].append({"total": total, "step": step, "rate": group["lr"], "beta1": group["betas"][0]})
        optimizer.step()
        if step + 1 < total:
            schedule.step()

torch.manual_seed(2)
total, size, count, decay = 12, 9, 4, 0.1
p = torch.nn.Parameter(torch.randn(size))
golden |= {"total": total, "weight_decay": decay, "count": count, "theta": p.tolist()}
optimizer = torch.optim.AdamW([p], lr=1e-2, weight_decay=decay)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=total)
for step in range(total):
    # Norms below and above the clip.
    summed = torch.randn(size) * (0.3 if step % 3 == 0 else 5.0)
    p.grad = summed / count
    norm = torch.nn.utils.clip_grad_norm_([p], 1.0)
    optimizer.step()
    state = optimizer.state[p]
    golden["updates"].append({
        "sum": summed.tolist(), "norm": norm.item(), "theta": p.tolist(),
        "m": state["exp_avg"].tolist(), "v": state["exp_avg_sq"].tolist(),
    })
    if step + 1 < total:
        schedule.step()
json.dump(golden, sys.stdout)
