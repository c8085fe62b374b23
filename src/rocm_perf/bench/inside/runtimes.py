"""Events of the runtimes that a target may use: torch (ROCm and CUDA), hip-python, cuda-bindings. Nothing is imported
here that the target has not imported itself."""

from __future__ import annotations

import sys
from typing import Any

from rocm_perf.bench.inside.timers import Events, EventTimer, Timer, WallClock
from rocm_perf.bench.settings import ClockChoice
from rocm_perf.errors import ToolAbsentError

_DEFAULT_STREAM = None  # both bindings take None for a null handle


def chosen_timer(choice: ClockChoice) -> Timer:
    """The clock for what this process has imported and used so far."""
    events = _torch_events() or _cuda_events() or _hip_events()
    if events is not None:
        return WallClock(wait=events.synchronize) if choice == "wall" else EventTimer(events)
    if choice == "device":
        raise ToolAbsentError(
            "there are no device events to measure with",
            "the target has not used a GPU through torch, hip-python or cuda-bindings",
            "Choose the wall clock, or leave the choice to rocm-perf.",
        )
    return WallClock()


def used_torch() -> Any | None:
    """The target's torch, if it works on a GPU in this process."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and torch.cuda.is_initialized() else None


def _torch_events() -> Events | None:
    if (torch := used_torch()) is None:
        return None
    return Events(
        create=lambda: torch.cuda.Event(enable_timing=True),
        record=lambda event: event.record(),
        elapsed_ms=lambda start, end: float(start.elapsed_time(end)),
        synchronize=lambda: torch.cuda.current_stream().synchronize(),
        synchronize_device=torch.cuda.synchronize,
    )


def _cuda_events() -> Events | None:
    """Events of cuda-bindings (cuda.bindings.runtime, or cuda.cudart before release 12.6), on the default stream."""
    runtime = sys.modules.get("cuda.bindings.runtime") or sys.modules.get("cuda.cudart")
    return None if runtime is None else _c_events(runtime, "cuda")


def _hip_events() -> Events | None:
    """Events of hip-python, on the default stream."""
    runtime = sys.modules.get("hip.hip")
    return None if runtime is None else _c_events(runtime, "hip")


def _c_events(runtime: Any, prefix: str) -> Events:
    """Events of a binding whose functions return (error, value, ...), as those of both vendors do."""

    def function(name: str) -> Any:
        return getattr(runtime, prefix + name)

    def value(name: str, *arguments: Any) -> Any:
        answer = function(name)(*arguments)
        status, *rest = answer if isinstance(answer, tuple) else (answer,)
        if int(status):
            raise RuntimeError(f"{prefix}{name} failed: {status}")
        return rest[0] if rest else None

    return Events(
        create=lambda: value("EventCreate"),
        record=lambda event: value("EventRecord", event, _DEFAULT_STREAM),
        elapsed_ms=lambda start, end: float(value("EventElapsedTime", start, end)),
        synchronize=lambda: value("StreamSynchronize", _DEFAULT_STREAM),
        synchronize_device=lambda: value("DeviceSynchronize"),
    )
