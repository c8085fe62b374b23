"""Copies between the host and the GPU in every step."""

from __future__ import annotations

from itertools import count

from tests.gpu.pairs.pair import Program, Tensor
from tests.gpu.pairs.programs.tensors import weights

_WIDTH = 8192


def pageable_batches(after: bool) -> Program:
    """A batch of 16 MiB from pageable memory, then 16 products, a step; then from pinned memory, on another stream."""
    return _overlapped(1024, layers=16) if after else _in_turn(_batches(1024, pinned=False), layers=16)


def pinned_batches(after: bool) -> Program:
    """A batch of 64 MiB from pinned memory, then two products, a step; then on another stream."""
    return _overlapped(4096, layers=2) if after else _in_turn(_batches(4096, pinned=True), layers=2)


def _batches(rows: int, pinned: bool) -> list[Tensor]:
    import torch

    batches = [torch.randn(rows, _WIDTH, dtype=torch.bfloat16) for _ in range(2)]
    return [batch.pin_memory() for batch in batches] if pinned else batches


class _Layers:
    """A chain of products with one matrix."""

    def __init__(self, rows: int, layers: int) -> None:
        import torch

        self._factor = weights(_WIDTH)
        self._layers = layers
        self._hidden = [torch.empty(rows, _WIDTH, device="cuda", dtype=torch.bfloat16) for _ in range(2)]

    def run(self, batch: Tensor) -> None:
        import torch

        x = batch
        for number in range(self._layers):
            x = torch.mm(x, self._factor, out=self._hidden[number % 2])

    def output(self) -> Tensor:
        return self._hidden[(self._layers - 1) % 2]


def _in_turn(batches: list[Tensor], layers: int) -> Program:
    """Each batch is copied, then used."""
    import torch

    model, turns = _Layers(len(batches[0]), layers), count()
    buffer = torch.empty_like(batches[0], device="cuda")

    def step(_: int) -> None:
        batch = batches[next(turns) % 2]
        buffer.copy_(batch, non_blocking=batch.is_pinned())
        model.run(buffer)

    return Program(step, result=model.output)


def _overlapped(rows: int, layers: int) -> Program:
    """Two buffers: while one is used, the other is filled on a stream of its own."""
    import torch

    batches = _batches(rows, pinned=True)
    model, turns = _Layers(rows, layers), count()
    buffers = [torch.empty_like(batch, device="cuda") for batch in batches]
    copying = torch.cuda.Stream()
    filled, freed = ([torch.cuda.Event() for _ in buffers] for _ in range(2))

    def fill(slot: int) -> None:
        with torch.cuda.stream(copying):
            copying.wait_event(freed[slot])
            buffers[slot].copy_(batches[slot], non_blocking=True)
            filled[slot].record(copying)

    def step(_: int) -> None:
        slot, using = next(turns) % 2, torch.cuda.current_stream()
        using.wait_event(filled[slot])
        model.run(buffers[slot])
        freed[slot].record(using)
        fill(slot)

    copying.wait_stream(torch.cuda.current_stream())
    for slot in range(2):
        fill(slot)
    return Program(step, result=model.output)


def read_back(after: bool) -> Program:
    """The sines of 2^28 numbers, twice, a step, and 4 MiB of them read back to pageable memory; then to pinned memory,
    on another stream, and waited for a step later."""
    import torch

    angles = torch.rand(2**28, device="cuda")
    sines = [torch.empty_like(angles) for _ in range(2 if after else 1)]
    host = [torch.empty(2**20, pin_memory=after) for _ in sines]
    copying = torch.cuda.Stream()
    read = [torch.cuda.Event() for _ in sines]

    def compute(result: Tensor) -> None:
        for _ in range(2):
            torch.sin(angles, out=result)

    def in_turn(_: int) -> None:
        compute(sines[0])
        host[0].copy_(sines[0][: 2**20])

    def overlapped(number: int) -> None:
        slot, using = number % 2, torch.cuda.current_stream()
        using.wait_event(read[slot])
        compute(sines[slot])
        copying.wait_stream(using)
        with torch.cuda.stream(copying):
            host[slot].copy_(sines[slot][: 2**20], non_blocking=True)
            read[slot].record(copying)
        read[1 - slot].synchronize()

    return Program(overlapped if after else in_turn, result=lambda: host[0])
