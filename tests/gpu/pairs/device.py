"""The GPU, through torch, which is imported when the first program needs it."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from tests.gpu.pairs.pair import Tensor

_REPLAYS = 20
_REST_S = 0.3
_TOLERANCE = (
    5e-2  # of the norm: sums of bf16 in another order differ in their last bits, and 30 layers add up
)


class Cuda:
    """The current CUDA device."""

    def facts(self) -> dict[str, str]:
        """What the numbers are from."""
        import torch

        return {
            "gpu": torch.cuda.get_device_name(),
            "torch": str(torch.__version__),
            "cuda": str(torch.version.cuda),
        }

    def seed(self) -> None:
        import torch

        torch.manual_seed(0)

    def synchronize(self) -> None:
        import torch

        torch.cuda.synchronize()

    def rest(self) -> None:
        time.sleep(_REST_S)

    def range(self, name: str) -> AbstractContextManager[None]:
        import torch

        marked: AbstractContextManager[None] = torch.cuda.nvtx.range(name)
        return marked

    def alone_us(self, launch: Callable[[], None]) -> float:
        """Replayed as a graph, so that the host's launches take no part in it."""
        import torch

        replay = captured(launch)
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        replay()
        start.record()
        for _ in range(_REPLAYS):
            replay()
        end.record()
        end.synchronize()
        return 1000 * float(start.elapsed_time(end)) / _REPLAYS

    def same(self, one: Tensor, other: Tensor) -> bool:
        from torch.linalg import vector_norm

        one, other = one.double(), other.double()
        return bool(vector_norm(one - other) <= _TOLERANCE * vector_norm(other))

    def release(self) -> None:
        import torch

        gc.collect()
        torch.cuda.empty_cache()


def captured(launch: Callable[[], None]) -> Callable[[], None]:
    """The replay of one CUDA graph of what is launched; that runs three times first, on a stream of its own, as
    libraries need to before they are captured."""
    import torch

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            launch()
    torch.cuda.current_stream().wait_stream(side)
    graph: Any = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch()
    return partial(_replay, graph, launch)


def _replay(graph: Any, _launched: Callable[[], None]) -> None:
    """Replay a graph beside what was captured, which keeps the memory that the graph reads alive."""
    graph.replay()
