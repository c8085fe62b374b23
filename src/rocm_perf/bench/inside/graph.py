"""A function captured once as a device graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rocm_perf.bench.inside.runtimes import used_torch
from rocm_perf.bench.inside.timers import Call, Timer
from rocm_perf.errors import NotSupportedError


def captured(call: Call, timer: Timer, now_ns: Callable[[], int]) -> tuple[Call, float]:
    """What replays the function's work, and how many milliseconds the capture took."""
    torch = used_torch()
    if torch is None:
        raise NotSupportedError(
            "a graph needs torch on a GPU", "the target has not used one", "Leave out graph."
        )
    begun = now_ns()
    graph = torch.cuda.CUDAGraph()
    try:
        _call_on_side_stream(torch, call)
        with torch.cuda.graph(graph):
            call()
        timer.synchronize()
    except Exception as error:
        raise NotSupportedError(
            "the target cannot be captured as a graph", f"{type(error).__name__}: {error}", "Leave out graph."
        ) from error
    return graph.replay, (now_ns() - begun) / 1e6


def _call_on_side_stream(torch: Any, call: Call) -> None:
    """Call it once where a capture will run, on another stream: libraries set up workspaces for each (torch, CUDA
    semantics: CUDA Graphs)."""
    current, side = torch.cuda.current_stream(), torch.cuda.Stream()
    side.wait_stream(current)
    with torch.cuda.stream(side):
        call()
    current.wait_stream(side)
