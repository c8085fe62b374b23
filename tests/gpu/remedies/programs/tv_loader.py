"""torchvision: training a ResNet-18 on images that the main process augments, one by one."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from tests.gpu.remedies.loop import Loop, run, sized, torch_loop
from torch.utils.data import DataLoader, Dataset
from torchvision.models import resnet18
from torchvision.transforms import v2

BATCH = sized(64, 2)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Images(Dataset):
    """Images as a decoder would give them, and augmented."""

    def __init__(self) -> None:
        self.images = torch.randint(0, 256, (256, 3, 256, 256), dtype=torch.uint8)
        self.augment = v2.Compose([
            v2.RandomResizedCrop(sized(224, 64), antialias=True),
            v2.RandomHorizontalFlip(),
            v2.ColorJitter(0.2, 0.2, 0.2),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
        ])  # fmt: skip

    def __len__(self) -> int:
        return 65_536

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return self.augment(self.images[index % len(self.images)]), index % 1000


def _endless(loader: DataLoader) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    while True:
        yield from loader


def make(variant: str) -> Loop:
    torch.manual_seed(0)
    options = {
        "base": {},
        "workers": {"num_workers": 8, "persistent_workers": True},
        "workers_pinned": {"num_workers": 14, "persistent_workers": True, "pin_memory": True},
    }[variant]
    batches = _endless(DataLoader(Images(), batch_size=BATCH, shuffle=True, drop_last=True, **options))
    model = resnet18(num_classes=1000).to(DEVICE).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def step() -> None:
        images, labels = next(batches)
        images, labels = images.to(DEVICE, non_blocking=True), labels.to(DEVICE, non_blocking=True)
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return torch_loop(step, BATCH)


if __name__ == "__main__":
    run(make, ("base", "workers", "workers_pinned"))
