"""Train a torchvision model on random images, so that its steps can be recorded without a data set.

Runs in the Python that has torch and torchvision, not in rocm-perf's own.
"""

from __future__ import annotations

import argparse
import time

import torch
import torchvision


def main() -> None:
    """Train, and print how many images per second went through."""
    args = _arguments()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = torchvision.models.get_model(args.model, weights=None, num_classes=1000).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    criterion = torch.nn.CrossEntropyLoss()
    images = torch.randn(args.batch_size, 3, args.image_size, args.image_size, device=device)
    labels = torch.randint(0, 1000, (args.batch_size,), device=device)
    started = time.perf_counter()
    for step in range(args.warmup + args.steps):
        if step == args.warmup:
            _wait(device)
            started = time.perf_counter()
        with torch.autocast(device.type, dtype=torch.bfloat16):
            loss = criterion(model(images), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    _wait(device)
    elapsed_s = time.perf_counter() - started
    print(f"{args.model} on {device.type}: {args.steps * args.batch_size / elapsed_s:.1f} images/s")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="resnet50", help="a name of torchvision.models (default resnet50)")
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warmup", type=int, default=3, help="steps before the clock starts (default 3)")
    return parser.parse_args()


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
