"""torchvision: training a ResNet-50 in float32 on images that are on the GPU already."""

from __future__ import annotations

import contextlib

import torch
from tests.gpu.remedies.loop import Loop, run, sized, torch_loop
from torchvision.models import resnet50

BATCH, SIDE = sized(64, 2), sized(224, 64)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def make(variant: str) -> Loop:
    torch.manual_seed(0)
    layout = torch.channels_last if "channels_last" in variant else torch.contiguous_format
    model = resnet50(num_classes=1000).to(DEVICE, memory_format=layout).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images = torch.randn(BATCH, 3, SIDE, SIDE, device=DEVICE).to(memory_format=layout)
    labels = torch.randint(0, 1000, (BATCH,), device=DEVICE)

    def step() -> None:
        optimizer.zero_grad()
        narrow = torch.autocast(DEVICE, torch.bfloat16) if "bf16" in variant else contextlib.nullcontext()
        with narrow:
            loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()

    return torch_loop(step, BATCH)


if __name__ == "__main__":
    run(make, ("base", "bf16", "channels_last", "bf16_channels_last"))
