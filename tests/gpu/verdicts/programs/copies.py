"""Programs that move much between host and GPU, or clear much."""

from __future__ import annotations

from tests.gpu.pairs.programs.tensors import normal, weights
from tests.gpu.verdicts.case import Step

_LAYERS, _WIDTH = 6, 4096


def offloaded() -> Step:
    """Layers whose weights lie in pinned memory of the host and are copied before each product, on its stream."""
    import torch

    kept = [weights(_WIDTH).cpu().pin_memory() for _ in range(_LAYERS)]
    source, slot = normal(2048, _WIDTH), torch.empty(_WIDTH, _WIDTH, dtype=torch.bfloat16, device="cuda")

    def step(_: int) -> None:
        values = source
        for layer in kept:
            slot.copy_(layer, non_blocking=True)
            values = values @ slot

    return step


def offloaded_ahead() -> Step:
    """The same with products long enough to hide the copies, which a second stream makes one layer ahead."""
    import torch

    kept = [weights(_WIDTH).cpu().pin_memory() for _ in range(_LAYERS)]
    source = normal(32768, _WIDTH)
    slots = [torch.empty(_WIDTH, _WIDTH, dtype=torch.bfloat16, device="cuda") for _ in range(2)]
    copying, (filled, freed) = torch.cuda.Stream(), ([torch.cuda.Event() for _ in slots] for _ in range(2))

    def fill(layer: int) -> None:
        slot = layer % 2
        with torch.cuda.stream(copying):
            copying.wait_event(freed[slot])
            slots[slot].copy_(kept[layer % _LAYERS], non_blocking=True)
            filled[slot].record(copying)

    copying.wait_stream(torch.cuda.current_stream())
    fill(0)
    product = torch.empty_like(source)

    def step(_: int) -> None:
        using = torch.cuda.current_stream()
        for layer in range(_LAYERS):
            fill(layer + 1)
            using.wait_event(filled[layer % 2])
            torch.mm(source, slots[layer % 2], out=product)
            freed[layer % 2].record(using)

    return step


def cleared() -> Step:
    """4 GiB of workspace cleared before each small product."""
    import torch

    workspace = torch.empty(2**32, dtype=torch.uint8, device="cuda")
    left, right = normal(2048, 2048), weights(2048)

    def step(_: int) -> None:
        workspace.zero_()
        left @ right

    return step


def results_fetched() -> Step:
    """A product whose result, 128 MiB, is fetched to pinned memory and waited for before the next."""
    import torch

    left, right = normal(8192, 4096), weights(4096, 8192)
    product = torch.empty(8192, 8192, dtype=torch.bfloat16, device="cuda")
    kept = torch.empty(8192, 8192, dtype=torch.bfloat16, pin_memory=True)

    def step(_: int) -> None:
        torch.mm(left, right, out=product)
        kept.copy_(product, non_blocking=True)
        torch.cuda.synchronize()

    return step


def saved_each_step() -> Step:
    """A product, and 64 MiB of weights that are copied to new pageable memory after each."""
    left, right = normal(4096, 4096), weights(4096, 8192)

    def step(_: int) -> None:
        left @ right
        right.cpu()

    return step
