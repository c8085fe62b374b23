"""NCCL: two processes train replicas on one GPU; the gradients are summed parameter by parameter after backward.

NCCL refuses two ranks of one host on one GPU. Each says that it is on a host of its own, so they talk over sockets, as
two nodes would.
"""

from __future__ import annotations

import os

import torch
import torch.distributed as dist
from tests.gpu.remedies.loop import Loop, driven, run, sized, torch_synchronize
from torch.nn.parallel import DistributedDataParallel

LAYERS, WIDTH, BATCH = sized(24, 2), sized(512, 16), sized(2048, 8)
ON_GPU = torch.cuda.is_available()
DEVICE = "cuda:0" if ON_GPU else "cpu"


class Block(torch.nn.Module):
    """A residual feed-forward layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.LayerNorm(WIDTH), torch.nn.Linear(WIDTH, 2 * WIDTH), torch.nn.GELU(),
            torch.nn.Linear(2 * WIDTH, WIDTH),
        )  # fmt: skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.layers(x)


def make(variant: str) -> Loop:
    rank = int(os.environ["RANK"])
    os.environ |= {"NCCL_HOSTID": f"replica-{rank}", "NCCL_SOCKET_IFNAME": "lo", "NCCL_IB_DISABLE": "1"}
    dist.init_process_group("nccl" if ON_GPU else "gloo")
    torch.manual_seed(0)
    model: torch.nn.Module = torch.nn.Sequential(*(Block() for _ in range(LAYERS))).to(DEVICE)
    parameters = list(model.parameters())
    if variant == "ddp":
        model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(parameters, lr=0.01)
    x, y = (torch.randn(BATCH, WIDTH, device=DEVICE) for _ in range(2))

    def reduce() -> None:
        if variant == "base":
            for parameter in parameters:
                dist.all_reduce(parameter.grad)
                parameter.grad /= dist.get_world_size()
        elif variant.startswith("one_bucket"):
            dtype = torch.bfloat16 if variant.endswith("bf16") else torch.float32
            gradients = [parameter.grad for parameter in parameters]
            flat = torch.cat([gradient.flatten() for gradient in gradients]).to(dtype)
            dist.all_reduce(flat)
            flat = flat.float() / dist.get_world_size()
            parts = flat.split([gradient.numel() for gradient in gradients])
            for gradient, part in zip(gradients, parts, strict=True):
                gradient.copy_(part.view_as(gradient))

    def step() -> None:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        reduce()
        optimizer.step()

    def agree(steps: int) -> int:
        said = torch.tensor([steps], device=DEVICE)
        dist.broadcast(said, 0)
        return int(said.item())

    synchronize = torch_synchronize()
    return Loop(drive=driven(step), items=2 * BATCH, synchronize=synchronize, rank=rank, agree=agree)


if __name__ == "__main__":
    run(make, ("base", "one_bucket", "one_bucket_bf16", "ddp"))
    if dist.is_initialized():
        dist.destroy_process_group()
